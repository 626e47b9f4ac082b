"""The HTML report: a pure function of its data."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from math import exp
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from cudanalyst.resources.export.tables import pretty
from cudanalyst.resources.export.writing import write_files
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.downloads import number_files
from cudanalyst.resources.report.palette import css
from cudanalyst.resources.report.pictures import picture_files
from cudanalyst.resources.report.sections import context, population, these
from cudanalyst.resources.report.text import (
    condition_title,
    effect_title,
    evidence,
    level_title,
    one_line,
    share,
    signed,
    signed3,
    span,
)

HTML_NAME = "report.html"
JSON_NAME = "report.json"


def render_html(data: ReportData, *, carried: bool = True) -> str:
    """One self-contained page: no script, no network, everything from outside escaped.

    Args:
        data: all that it shows.
        carried: Whether the page carries its numbers as files; they can be several times its own size.
    """
    return _page(data, number_files(data) if carried else {})


def _page(data: ReportData, files: Mapping[str, bytes]) -> str:
    style = Markup(css() + _resource("style.css"))  # noqa: S704 - package data, no outside text
    return _environment().get_template("page.html.j2").render(style=style, **context(data, files))


def report_files(data: ReportData, *, plots: tuple[str, ...] = ()) -> dict[str, bytes]:
    """The page, its data and its numbers as files; plots too where formats (`svg`, `png`) are asked for.

    `report.json` holds everything but the trials, which stand in `trials.csv`.
    """
    whole = data.model_copy(update={"rows": ()}).model_dump(mode="json")
    beside = number_files(data)
    return {
        HTML_NAME: _page(data, beside).encode("utf-8", "replace"),
        JSON_NAME: pretty(whole),
        **beside,
        **picture_files(data, plots),
    }


def write_report(data: ReportData, folder: Path, *, plots: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """Writes a report over one that was there; gives the paths of the page and of its data.

    Raises:
        StoreError: the folder cannot be written.
    """
    write_files(folder, report_files(data, plots=plots), force=True)
    return folder / HTML_NAME, folder / JSON_NAME


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_clean,
        loader=FunctionLoader(lambda name: _resource(f"templates/{name}")),
    )  # fmt: skip
    environment.filters.update(
        signed=signed, share=share, span=span, evidence=evidence, level_title=level_title, one_line=one_line, these=these,
        population=population, condition_title=condition_title, effect_title=effect_title, exp=exp, signed3=signed3,
    )  # fmt: skip
    return environment


def _clean(shown: Any) -> Any:
    """Text of others without control characters, which HTML does not allow; markup of this package as it is."""
    return one_line(shown) if isinstance(shown, str) and not isinstance(shown, Markup) else shown


def _resource(name: str) -> str:
    return resources.files("cudanalyst.resources.report").joinpath(name).read_text(encoding="utf-8")
