"""From records of compute-sanitizer to findings: pure, and never raising. What it does not know by name it passes on in the tool's words."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.report import show_file
from cudanalyst.tools.toolchain.sanitizer import call_records, memory_records, thread_records
from cudanalyst.tools.toolchain.sanitizer.context import Context, located
from cudanalyst.tools.toolchain.sanitizer.records import Element
from cudanalyst.tools.toolchain.sanitizer.thread_records import MAX_COUNT

MAX_FINDINGS: Final = 1000
_OVERFLOW: Final = "Error buffer overflow"
"""Such a record is about the others; the text tells how many were dropped."""
_ASSERTION: Final = re.compile(
    r"^(?P<file>[^\n:]{1,300}):(?P<line>\d{1,9}): (?P<kernel>[^\n]{1,300}?): block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] "
    r"Assertion `(?P<text>[^\n]{0,300}?)` failed",
    re.MULTILINE,
)
Reader = Callable[[Element, Check, Context], Finding | None]
_READERS: Final[tuple[tuple[str, Reader], ...]] = (
    ("precise", memory_records.wrong_access),
    ("imprecise", memory_records.wrong_access),
    ("stackoverflow", memory_records.exception),
    ("syscall", memory_records.heap),
    ("leak", memory_records.leak),
    ("unused", memory_records.unused),
    ("initcheckapi", memory_records.never_written_copy),
    ("initcheck", memory_records.never_written),
    ("analysis", thread_records.race),
    ("hazard", thread_records.hazard),
    ("synccheck", thread_records.barrier),
    ("synclog", thread_records.barrier),
    ("api", call_records.failed_call),
)
"""By the start of a record's kind."""


def is_internal(record: Element) -> bool:
    """Whether a record is about the tool itself."""
    return (
        record.word("kind").lower().startswith("internal")
        or "internal sanitizer" in record.word("what", "text").lower()
    )


def findings_of(records: Sequence[Element], check: Check, context: Context, stderr: str = "") -> tuple[Finding, ...]:
    """Findings with the threads that met them counted, in the order of their first meeting.

    Args:
        records: What the tool recorded.
        check: Which tool it was.
        context: What is known apart from them.
        stderr: What the target printed: a failed assertion tells its place only there.
    """
    found = []
    stopped = any(record.child("who") is not None for record in records)
    for number, record in enumerate(records):
        kind = record.word("kind").lower()
        if is_internal(record) or record.word("level").lower() == "info" or _OVERFLOW in record.word("what", "text"):
            continue
        if stopped and kind.startswith("leak"):
            continue  # with the first error the tool ends the context, so that no later free of the program succeeds
        if kind.startswith("api") and (
            call_records.is_executors_own(record, context)
            or call_records.handed_on(record, records[max(0, number - _LOOK_BACK) : number])
        ):
            continue
        read = next((reader for start, reader in _READERS if kind.startswith(start)), _unrecognized)
        finding = read(record, check, context)
        if finding is not None:
            found.append(_placed(finding, stderr, context) if finding.kind == "assertion_failed" else finding)
    return aggregate(found)


_LOOK_BACK: Final = 200
"""Records before a failing call that may explain it."""


def aggregate(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each kind and place, its count added up."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        other = finding.other
        side = None if other is None else (other.access, other.file, other.line)
        unplaced = None if finding.line else finding.message
        key = (finding.kind, finding.kernel, finding.file, finding.line, side, unplaced)
        seen = merged.get(key)
        if seen is not None:
            merged[key] = seen.model_copy(update={"count": min(seen.count + finding.count, MAX_COUNT)})
        elif len(merged) < MAX_FINDINGS:
            merged[key] = finding
    return tuple(merged.values())


def failed_assertion(stderr: str) -> bool:
    """Whether a device assertion's message was printed: it stopped its kernel, whatever a check made of that."""
    return _ASSERTION.search(stderr) is not None


def _placed(finding: Finding, stderr: str, context: Context) -> Finding:
    """A failed assertion with its place and text, where the target printed them."""
    match = _ASSERTION.search(stderr)
    if match is None:
        return finding
    kernel = one_line(match["kernel"])
    return finding.model_copy(
        update={
            "file": show_file(match["file"], context.names),
            "line": int(match["line"]),
            "kernel": context.kernels.get(kernel, kernel),
            "message": one_line(f"Assertion `{match['text']}` failed"),
        }
    )


def _unrecognized(record: Element, check: Check, context: Context) -> Finding:
    what = record.child("what") or Element("what")
    parts = [what.word(tag) for tag in ("text", "type", "exception", "error", "message")]
    said = ": ".join(dict.fromkeys(part for part in parts if part)) or record.word("kind") or "a record without a text"
    return located(record, check, context, kind="unrecognized", message=said)
