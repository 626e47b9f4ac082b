"""Reads the report that a run leaves (engine/REPORT.md). Every byte of it is untrusted; what cannot be read is said, never raised. Pure."""

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cudanalyst.tools.debug import Check, Finding, Side
from cudanalyst.tools.text import clean
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.seal import NOT_THE_ENGINES, open_line

MAX_REPORT_BYTES: Final = 64 << 20
MAX_RECORDS: Final = 100_000
MAX_LINE: Final = 4 << 20
MAX_FINDINGS: Final = 1000
_MAX_TEXT: Final = 4000
_MAX_DEPTH: Final = 8
_MAX_COUNT: Final = 1 << 62

_KEY: Final = re.compile(r"\w{1,60}", re.ASCII)

Record = Mapping[str, Any]

COVERAGE: Final[dict[Check, str]] = {
    "memcheck": "every device access of every thread to global, shared, local and constant memory: bounds, alignment, freed memory, wrong frees, "
    "stream-ordered memory out of its stream's order; calls of the host API that fail. Not: one array into its neighbour in the same allocation, "
    "shared block or stack frame",
    "racecheck": "shared and global memory, between threads of a launch and between streams, by happens-before over barriers, fences and atomics with their "
    "scopes, events and waits; each word's last write and two reads, on the paths that this order of warps took",
    "initcheck": "reads of global, shared and local memory that nothing wrote before, byte by byte, and copies of it to the host; managed and pinned memory count as written",
    "synccheck": "barriers of block, warp and cluster, mbarriers and asynchronous copies: threads that cannot arrive, wrong masks and counts, divergent barriers, missing waits",
}
"""What each check can see; no finding means nothing beyond it."""


def read_report(data: bytes, names: PathNames, key: bytes | None = None) -> tuple[tuple[Record, ...], str | None]:
    """Records with file names as a reader knows them, and what was wrong with the report, if anything.

    With a key, reading ends at the first line whose seal is not the engine's; what was wrong then ends in `NOT_THE_ENGINES`.
    """
    records: list[Record] = []
    problem = None
    lines = data[:MAX_REPORT_BYTES].split(b"\n")
    if len(data) > MAX_REPORT_BYTES:
        problem = f"the report is longer than {MAX_REPORT_BYTES} bytes"
        lines.pop()
    elif lines and lines[-1]:
        problem = "the report ends within a line"
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if len(records) >= MAX_RECORDS:
            return tuple(records), f"the report has more than {MAX_RECORDS} records"
        text = line if key is None else open_line(key, number - 1, line)
        if text is None:
            return tuple(records), f"line {number} of the report {NOT_THE_ENGINES}"
        record = _parse(text)
        if record is None:
            return tuple(records), f"line {number} of the report is malformed"
        records.append(_shown(record, names, 0))
    return tuple(records), problem


def _parse(line: bytes) -> dict[str, Any] | None:
    if len(line) > MAX_LINE:
        return None
    try:
        record = json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("type"), str) else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _shown(value: Any, names: PathNames, depth: int) -> Any:
    """The same value with printable text, and with each place moved to the submitted source where it was inlined from there."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, str):
        return clean(value, _MAX_TEXT)
    if isinstance(value, list):
        return [_shown(item, names, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {
        key: _shown(item, names, depth + 1) for key, item in value.items() if key != "file" and _KEY.fullmatch(key)
    }
    if "file" in value:
        shown["file"] = show_file(value["file"], names)
        chain = shown.get("inlined_at")
        frames = [frame for frame in chain if isinstance(frame, dict)] if isinstance(chain, list) else []
        if shown["file"] != names.own_file:
            own = next((frame for frame in frames if frame.get("file") == names.own_file), None)
            if own is not None:
                shown["file"], shown["line"] = own["file"], own.get("line")
    return shown


def show_file(path: object, names: PathNames) -> str | None:
    """`candidate.cu` for the submitted source wherever it was compiled; None for a file unknown here."""
    if not isinstance(path, str) or not path:
        return None
    if posixpath.basename(path) == names.own_file:
        return names.own_file
    return names.name(clean(path, _MAX_TEXT))


def findings(records: Sequence[Record], check: Check) -> tuple[Finding, ...]:
    """Findings of one check with their final counts, in order. Malformed fields count as not given."""
    all_findings = [record for record in records if record["type"] == "finding"]
    counts = {}
    for record in records:
        if record["type"] == "finding_count":
            counts[_number(record.get("index"))] = _number(record.get("count"))
    result: list[Finding] = []
    for index, record in enumerate(all_findings):
        if record.get("check") != check or len(result) >= MAX_FINDINGS:
            continue
        other = record.get("other")
        result.append(
            Finding(
                check=check,
                kind=_text(record.get("kind")) or "unknown",
                message=_text(record.get("message")) or "no message",
                kernel=_text(record.get("kernel")),
                file=_text(record.get("file")),
                line=_number(record.get("line")),
                thread=_triple(record.get("thread")),
                block=_triple(record.get("block")),
                address=_text(record.get("address")),
                other=_side(other) if isinstance(other, Mapping) else None,
                count=max(1, counts.get(index) or _number(record.get("count")) or 1),
            )
        )
    return tuple(result)


def _side(other: Mapping[str, Any]) -> Side:
    return Side(
        access=_text(other.get("access")),
        file=_text(other.get("file")),
        line=_number(other.get("line")),
        thread=_triple(other.get("thread")),
        block=_triple(other.get("block")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT else None


def _triple(value: object) -> tuple[int, int, int] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    numbers = [_number(part) for part in value]
    x, y, z = numbers
    return None if x is None or y is None or z is None else (x, y, z)


def has(records: Sequence[Record], *types: str) -> bool:
    """Whether a record of one of the types is there."""
    return any(record["type"] in types for record in records)


def unsupported(records: Sequence[Record]) -> str | None:
    """What the engine could not run, where it met such."""
    for record in records:
        if record["type"] == "unsupported":
            place = f" at {record.get('file')}:{record.get('line')}" if record.get("file") else ""
            message = f": {record['message']}" if _text(record.get("message")) else ""
            return f"the CPU engine does not support {record.get('what') or 'the instruction'} {record.get('name')}{place}{message}"
    return None
