"""How a run ended: read from the process, its report and its files."""

from collections.abc import Mapping
from typing import Final, Literal

from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import CandidateRequest, Execution, ExecutionRequest
from cudanalyst.tools.toolchain.report import MAX_REPORT_BYTES, has, read_report, unsupported
from cudanalyst.tools.toolchain.request import download_file
from cudanalyst.tools.toolchain.seal import NOT_THE_ENGINES, vouched_downloads
from cudanalyst.tools.toolchain.workspace import Workspace

RUN_OUTPUT_LIMIT: Final = 64 << 20
"""Bytes of output after which a run is stopped."""
REPORT: Final = "report.jsonl"
WRONG_RUNTIME_EXIT: Final = 5
"""The runner's status where another CUDA runtime was loaded than the one it is for; nothing of the candidate was loaded then."""


def unavailable(reason: str) -> Execution:
    """Nothing was run, and why."""
    return Execution(
        how="unavailable", exit_status=None, signal=None, stdout="", stderr="", stdout_bytes=0, stderr_bytes=0,
        report=(), downloads=(), duration_s=0.0, sandbox="none", reason=reason,
    )  # fmt: skip


def read_execution(
    process: ProcessResult,
    work: Workspace,
    request: ExecutionRequest,
    names: PathNames,
    sandbox: Sandbox,
    key: bytes | None = None,
) -> Execution:
    """What a run left, read back defensively. Everything but `how` is the candidate's word, the less so with a key."""
    if process.exit_status == WRONG_RUNTIME_EXIT and isinstance(request, CandidateRequest) and not work.read(REPORT, 1):
        return unavailable(f"the runner could not begin: {process.stderr.text[-400:].strip()}; run `cudanalyst doctor`")
    report, problem = read_report(work.read(REPORT, MAX_REPORT_BYTES + 1) or b"", names, key)
    forged = problem is not None and problem.endswith(NOT_THE_ENGINES)
    downloads: list[Mapping[str, bytes]] = []
    returned = process.exit_status is not None
    if isinstance(request, CandidateRequest):
        for index, call in enumerate(request.calls):
            sizes = {name: call.buffers[name][0] + 2 * request.guard_bytes for name in call.download}
            contents = {name: work.read(download_file(name, index), size + 1) for name, size in sizes.items()}
            downloads.append(
                {name: data for name, data in contents.items() if data is not None and len(data) == sizes[name]}
            )
        if key is not None and not forged:
            vouched, changed = vouched_downloads(report, downloads)
            downloads = list(vouched)
            if changed is not None:
                problem, forged = f"result `{changed[1]}` of call {changed[0] + 1} {NOT_THE_ENGINES}", True
        calls = [record for record in report if record["type"] == "call"]
        # The runner stops in good order after a call that broke the device; what the call left says which.
        answered = len(calls) == len(request.calls) or (bool(calls) and calls[-1].get("status") != "ok")
        returned = process.exit_status == 0 and has(report, "end") and answered
    how: Literal["returned", "exited", "signalled", "timed_out", "output_limit"]
    if process.timed_out:
        how, reason = "timed_out", f"stopped after {request.timeout_s:g} s"
    elif process.output_limited:
        how, reason = "output_limit", f"stopped after {RUN_OUTPUT_LIMIT >> 20} MB of output"
    elif process.signal is not None:
        how, reason = "signalled", f"ended by {process.signal}"
    elif returned:
        how, reason = "returned", None
    else:
        how, reason = "exited", f"ended early with exit status {process.exit_status}"
    return Execution(
        how=how,
        exit_status=process.exit_status,
        signal=process.signal,
        stdout=process.stdout.text,
        stderr=process.stderr.text,
        stdout_bytes=process.stdout.total,
        stderr_bytes=process.stderr.total,
        report=report,
        downloads=tuple(downloads),
        duration_s=process.duration_s,
        sandbox=sandbox,
        reason=reason,
        extra={"report_forged" if forged else "report_problem": problem} if problem else {},
    )


def check_failure(execution: Execution) -> str | None:
    """Why a check did not do its work, or None. A process that died without saying why proves nothing about the code."""
    report = execution.report
    if execution.how == "unavailable":
        return execution.reason
    if (what := unsupported(report)) is not None:
        return what
    if not has(report, "engine"):
        return f"the check did not start: {execution.reason or 'the program uses no CUDA runtime'}"
    for trouble in ("report_forged", "report_problem"):
        if trouble in execution.extra:
            return execution.extra[trouble]
    if has(report, "end", "error", "watchdog"):
        return None
    return f"the process {execution.reason or 'ended'} before the check was complete"
