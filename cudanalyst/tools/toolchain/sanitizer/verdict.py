"""Whether compute-sanitizer did its work, and what it found. Pure.

A tool that failed is never clean: whatever is not known to be a complete run without errors is said to have failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.text import count_of, one_line
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.log import Log, read_log
from cudanalyst.tools.toolchain.sanitizer.places import AddressBook, Allocation
from cudanalyst.tools.toolchain.sanitizer.reading import failed_assertion, findings_of, is_internal
from cudanalyst.tools.toolchain.sanitizer.records import Records, read_records, texts
from cudanalyst.tools.toolchain.sanitizer.text_records import records_in

STOPPED: Final = "the run was stopped while it wrote many errors down: counts and places are not complete"
_REMEDIES: Final = (
    ("injection library", "the installation is incomplete: reinstall compute-sanitizer"),
    ("Device not supported", "this GPU is not supported by this version: install one that fits the GPU"),
    (
        "before first instrumented",
        "the target ended before its first CUDA call: no GPU is visible, or it crashed at its start; see run",
    ),
    ("No attachable process", "the target did not start in time: try again on a machine with less load"),
    ("not supported", "install the compute-sanitizer of the CUDA toolkit in use"),
)


@dataclass(frozen=True)
class Verdict:
    """What one run of the tool says."""

    findings: tuple[Finding, ...]
    broken: str | None
    """Why the tool did not do its work, or not all of it; None where it did."""
    stopped: str | None
    """Why the target did not get to its end, as the tool saw it; None where it did, or a finding explains it."""
    note: str | None
    """What a reader of the findings must know: that not all were kept, or that the target itself failed."""


def interpret(
    check: Check,
    xml: bytes | None,
    log: bytes | None,
    context: Context,
    *,
    allocations: Sequence[Allocation] = (),
    stderr: str = "",
) -> Verdict:
    """Reads what a run left.

    Args:
        check: Which tool it was.
        xml: The file of records; None where there is none.
        log: The tool's own text; None where there is none.
        context: Names of files and kernels.
        allocations: Device memory with names.
        stderr: What the target printed there.
    """
    facts = read_log(log or b"")
    read = Records((), "it left no file of records") if xml is None else read_records(xml)
    context = replace(context, book=AddressBook(allocations, facts.nearest))
    found = findings_of(read.records, check, context, stderr)
    stopped = None
    if not found and facts.crashed:
        stopped = "the process under the check crashed, so not all of it was checked; see run"
    elif not found and failed_assertion(stderr):
        stopped = "a failed assertion stopped a kernel, so not all of it was checked; see memcheck"
    return Verdict(found, _failure(facts, read), stopped, _note(facts, read))


def of_stopped(check: Check, log: bytes | None, context: Context, *, allocations: Sequence[Allocation] = ()) -> Verdict:
    """What a run told before it was stopped: no file of records is left then, only text."""
    context = replace(context, book=AddressBook(allocations, read_log(log or b"").nearest))
    found = findings_of(records_in(log or b""), check, context)
    return Verdict(found, None, None, STOPPED if found else None)


def _failure(log: Log, read: Records) -> str | None:
    if log.tool_errors:
        said = "; ".join(log.tool_errors)
        remedy = next((remedy for text, remedy in _REMEDIES if text in said), None)
        return f"compute-sanitizer failed: {one_line(said)}" + (f" ({remedy})" if remedy else "")
    internal = [record for record in read.records if is_internal(record)]
    if internal:
        said = "; ".join(texts(internal)) or "an internal error"
        return f"compute-sanitizer failed: {one_line(said)}"
    if not log.started:
        return "compute-sanitizer did not start: it wrote nothing"
    if read.problem is not None:
        return f"compute-sanitizer's result cannot be used: {read.problem}"
    if log.errors is None:
        return "compute-sanitizer ended before its summary: it crashed or was stopped"
    if log.errors > log.not_printed and not read.records:
        return f"compute-sanitizer counts {count_of(log.errors, 'error')}, but its records tell of none"
    if log.skipped and not read.records:
        return f"compute-sanitizer had no room for {count_of(log.skipped, 'error')}"
    return None


def _note(log: Log, read: Records) -> str | None:
    notes = []
    unkept = log.not_printed + log.skipped
    if unkept:
        were = "was" if unkept == 1 else "were"
        notes.append(
            f"{count_of(unkept, 'more error')} {were} met beyond the limit of what is kept: counts and places are not complete"
        )
    elif log.errors is not None and log.errors > len(read.records):
        notes.append(f"the records tell of {len(read.records)} of {count_of(log.errors, 'error')}")
    if log.target_failed and not log.crashed:
        notes.append("the program itself ended with an error, so not all of it may have run")
    return "; ".join(notes) or None
