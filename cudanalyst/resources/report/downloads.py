"""The numbers of a report as files: within the page, and beside it."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from cudanalyst.resources.export.numbers import number_table
from cudanalyst.resources.export.tables import to_csv, to_json
from cudanalyst.resources.export.trials import trial_table
from cudanalyst.resources.report.data import ReportData
from cudanalyst.values import Frozen

MOST_EMBEDDED: Final = 4_000_000
"""Bytes of one file within a page; a larger one stands beside it only."""
_TYPES: Final = {"csv": "text/csv", "json": "application/json"}


class Download(Frozen):
    """One file behind a link."""

    name: str
    words: str
    address: str | None
    """A data address; None where it is too large to be carried in the page."""
    size: int


def number_files(data: ReportData) -> dict[str, bytes]:
    """Every number of a report: `numbers.csv` and `.json`, and the trials where there are any."""
    numbers = number_table(data.analysis)
    files = {"numbers.csv": to_csv(numbers), "numbers.json": to_json(numbers)}
    if data.rows:
        files["trials.csv"] = to_csv(trial_table(data.rows))
    return files


def downloads(files: Mapping[str, bytes]) -> tuple[Download, ...]:
    """What can be had from the page itself, of `number_files`."""
    words = {
        "numbers.csv": "every number, CSV",
        "numbers.json": "every number, JSON",
        "trials.csv": "one row per trial, CSV",
    }
    return tuple(_download(name, words[name], content) for name, content in files.items())


def _download(name: str, words: str, content: bytes) -> Download:
    kind = _TYPES[name.rpartition(".")[2]]
    address = (
        f"data:{kind};charset=utf-8;base64,{b64encode(content).decode()}" if len(content) <= MOST_EMBEDDED else None
    )
    return Download(name=name, words=words, address=address, size=len(content))
