"""How one process of a candidate ended, and which of its calls it answered.

Everything in an `Execution` but `how` is the candidate's word: it can only do harm to its author.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cudanalyst.tools.cases import GUARD_BYTES, PlannedProcess
from cudanalyst.tools.checks import hang_finding, int_or_none, text_or_none, unsupported_text
from cudanalyst.tools.text import at, one_line
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.verdicts import CaseStatus, Mismatch

BAD_REQUEST_EXIT: Final = 3
NO_SOLVE_EXIT: Final = 4
ERROR_NAME: Final = re.compile(r"cudaError[A-Za-z]{1,60}")


@dataclass(frozen=True)
class Verdict:
    """What one call showed."""

    status: CaseStatus
    message: str | None = None
    cuda_error: str | None = None
    mismatch: Mismatch | None = None
    error_ratio: float | None = None


def not_possible(execution: Execution) -> str | None:
    """Why the run says nothing of the candidate: the toolchain could not do it."""
    if execution.how == "unavailable":
        return execution.reason or "the toolchain could not run it; run `cudanalyst doctor`"
    unsupported = next((record for record in execution.report if record.get("type") == "unsupported"), None)
    return None if unsupported is None else unsupported_text(unsupported)


def answered_calls(planned: PlannedProcess, execution: Execution) -> int:
    """Calls from the first on that returned 0 and left all their buffers, whole."""
    records = [record for record in execution.report if record.get("type") == "call"]
    wanted = len(planned.calls)
    count = 0
    for position, (record, download) in enumerate(zip(records[:wanted], execution.downloads, strict=False)):
        if record.get("index") != position or record.get("status") != "ok":
            break
        sizes = {name: len(data) + 2 * GUARD_BYTES for name, data in planned.calls[position].uploads.items()}
        if any(len(download.get(name, b"")) != size for name, size in sizes.items()):
            break
        count += 1
    return count


def ending(planned: PlannedProcess, execution: Execution, answered: int) -> Verdict | None:
    """How the process failed, or None for an orderly end with every call answered."""
    report = execution.report
    if (forged := execution.extra.get("report_forged")) is not None:
        return Verdict("contract_violation", f"{one_line(str(forged))}: the evaluation's files were tampered with")
    hang = next((record for record in report if record.get("type") == "watchdog"), None)
    if hang is not None:
        finding = hang_finding("synccheck", hang)
        return Verdict("timed_out", f"{finding.kind}{at(finding.file, finding.line)}: {finding.message}")
    fault = next((record for record in report if record.get("type") == "error"), None)
    error = error_name(fault.get("name")) if fault is not None else None
    where = "" if fault is None else at(text_or_none(fault.get("file")), int_or_none(fault.get("line")))
    said = _stderr_tail(planned, execution)
    if execution.how == "timed_out":
        return Verdict("timed_out", f"did not end within {planned.request.timeout_s:g} s{where}", error)
    if execution.how == "output_limit":
        return Verdict("contract_violation", "was stopped for printing without end; a candidate need print nothing")
    if execution.how == "signalled":
        return Verdict("crashed", f"host code was ended by {execution.signal or 'a signal'}{said}", error)
    refused = next((r for r in report if r.get("type") == "call" and r.get("status") != "ok"), None)
    if refused is not None:
        return _refused(refused, error, where)
    if fault is not None:
        return Verdict("crashed", f"a kernel was stopped by {error}{where}", error)
    answers = sum(record.get("type") == "call" for record in report)
    if execution.how == "exited" and answers <= len(planned.calls):
        return _exited(execution, answered, len(planned.calls), error, said)
    return _disorder(planned, execution, answered)


def _exited(execution: Execution, answered: int, wanted: int, error: str | None, said: str) -> Verdict:
    status = execution.exit_status
    if status == NO_SOLVE_EXIT and not answered:
        return Verdict("contract_violation", f'the library does not load or exports no `extern "C" int solve`{said}')
    if answered == wanted:
        return Verdict("crashed", f"the process left with exit status {status} after the last call{said}", error)
    if status == BAD_REQUEST_EXIT:
        said = said or "; 3 is also how the runner refuses a request"
    return Verdict("crashed", f"the process left with exit status {status} before `solve` returned{said}", error)


def _refused(record: Mapping[str, Any], error: str | None, where: str) -> Verdict:
    text = one_line(str(record.get("message") or ""))
    status = record.get("status")
    if status == "contract":
        return Verdict("contract_violation", text or "`solve` did what its contract forbids")
    if status == "cuda_error":
        name = error or error_name(record.get("cuda_error_name"))
        return Verdict("crashed", f"left {name}{where}" + (f": {text}" if text else ""), name)
    if status == "solve_error":
        if record.get("value") == 0:
            return Verdict("crashed", text or "`solve` failed", error)
        function = "init" if text.startswith("init ") else "solve"
        return Verdict("crashed", f"`{function}` returned {one_line(str(record.get('value')))}, not 0", error)
    return Verdict("contract_violation", "the report holds a record that the runner does not write")


def _disorder(planned: PlannedProcess, execution: Execution, answered: int) -> Verdict | None:
    calls = sum(record.get("type") == "call" for record in execution.report)
    ends = [position for position, record in enumerate(execution.report) if record.get("type") == "end"]
    wanted = len(planned.calls)
    if calls != wanted or len(ends) != 1 or ends[0] != len(execution.report) - 1:
        return Verdict(
            "contract_violation",
            f"the report does not add up: {calls} answers to {wanted} calls and {len(ends)} ends; "
            "it was written to by something else than the runner",
        )
    if answered < wanted:
        return Verdict("contract_violation", "the report claims calls whose outputs are missing or of another size")
    return None


def _stderr_tail(planned: PlannedProcess, execution: Execution) -> str:
    tail = one_line(execution.stderr[-400:])
    return f" (stderr: {tail})" if tail and planned.group == "test" else ""


def error_name(value: object) -> str:
    """The name of a CUDA error; anything else that a report may hold in its place is not passed on."""
    return value if isinstance(value, str) and ERROR_NAME.fullmatch(value) else "an unnamed CUDA error"
