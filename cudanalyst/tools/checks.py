"""From what the sanitizing runs left to verdicts and de-duplicated findings: pure functions of `debug`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.text import at, count_of, one_line
from cudanalyst.tools.toolchain.protocol import Execution, Sanitization
from cudanalyst.values import Frozen

Verdict = Literal["clean", "findings", "tool_failed"]

SEVERITY: Final = (
    "deadlock",
    "endless_loop",
    "invalid_global_write",
    "invalid_shared_write",
    "invalid_local_write",
    "invalid_global_atomic",
    "invalid_shared_atomic",
    "invalid_",
    "misaligned_",
    "use_after_free",
    "out_of_bounds",
    "double_free",
    "assertion_failed",
    "device_fault",
    "host_access",
    "barrier_",
    "divergent_",
    "sync",
    "missing_async_wait",
    "shared_race",
    "global_race",
    "race",
    "uninitialized_",
    "leak",
)
"""Prefixes of finding kinds, most severe first: what stops a run, then what corrupts, then what depends on luck."""

REMEDY: Final = {
    "deadlock": "let every thread of the block reach the barrier",
    "endless_loop": "check the loop's exit condition",
    "invalid_warp_mask": "name in the mask exactly the lanes that take part (take the mask with __ballot_sync before the branch)",
    "invalid_launch": "change the launch, and check cudaGetLastError after it",
    "invalid_copy": "check pointers, bytes and direction of the copy",
    "invalid_free": "free each pointer once, with the function that fits its allocation",
    "use_after_free": "free the memory after its last use, and synchronise before freeing it",
    "double_free": "free each pointer once",
    "api_error": "check what every CUDA call returns",
    "host_access": "copy the data to the host first",
    "assertion_failed": "look at why the condition does not hold there",
    "missing_async_wait": "wait for the copies (cp.async.wait_group, pipeline.consumer_wait), then synchronise the block",
    "invalid_": "guard the index against the size",
    "misaligned_": "align the address to the access's width",
    "shared_race": "put __syncthreads() between the two accesses (within one warp, __syncwarp())",
    "global_race": "order the accesses with an atomic or a separate launch",
    "uninitialized_": "write the value before it is read",
    "barrier_": "move the barrier out of the divergent branch",
    "divergent_": "move the barrier out of the divergent branch",
}
_MET_BY_EVERY_CHECK: Final = frozenset({"deadlock", "endless_loop", "missing_async_wait"})
MAX_RECORDS: Final = 10_000


class CheckReport(Frozen):
    """One check's verdict; a tool that failed is not a clean result."""

    check: Check
    verdict: Verdict
    coverage: str
    """Which spaces and hazards this check can see."""
    reason: str | None = None
    duration_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One check over all its runs."""

    report: CheckReport
    findings: tuple[Finding, ...]
    sandbox: Sandbox | None = None
    hung_on_host: bool = False


def skipped(check: Check, reason: str) -> Outcome:
    """A check that was not run."""
    report = CheckReport(check=check, verdict="tool_failed", coverage="nothing: the check did not run", reason=reason)
    return Outcome(report=report, findings=())


def report_of(check: Check, runs: Sequence[Sanitization]) -> Outcome:
    """One check's verdict over its runs: findings stand whatever else failed."""
    findings = merge([finding for run in runs for finding in (*run.findings, *_from_records(check, run.execution))])
    failure = next((reason for run in runs if (reason := failure_of(run, found=bool(findings)))), None)
    verdict: Verdict = "findings" if findings else "tool_failed" if failure else "clean"
    report = CheckReport(
        check=check,
        verdict=verdict,
        coverage=runs[0].coverage,
        reason=failure,
        duration_s=round(sum(run.execution.duration_s for run in runs), 6),
    )
    hung = any(run.execution.how == "timed_out" for run in runs) and not findings
    return Outcome(report=report, findings=findings, sandbox=runs[0].execution.sandbox, hung_on_host=hung)


def hangs(execution: Execution) -> bool:
    """Whether host code or a kernel did not end by itself."""
    return execution.how == "timed_out" or any(record.get("type") == "watchdog" for record in execution.report)


def failure_of(run: Sanitization, *, found: bool) -> str | None:
    """Why a run says nothing about the candidate, or not all; None where it does."""
    execution = run.execution
    if execution.how == "unavailable":
        return one_line(execution.reason or "this check cannot run here; run `cudanalyst doctor`", 600)
    unsupported = next((record for record in execution.report if record.get("type") == "unsupported"), None)
    if unsupported is not None:
        return unsupported_text(unsupported)
    if found:
        return None  # A defect that was found explains whatever end the process came to.
    fault = next((record for record in execution.report if record.get("type") == "error"), None)
    if fault is not None:
        place = at(text_or_none(fault.get("file")), int_or_none(fault.get("line")))
        name = one_line(str(fault.get("name") or "device fault"))
        return f"the kernel was stopped by {name}{place}, so the rest was not checked; see memcheck and run"
    tail = one_line(execution.stderr[-400:])
    said = f" (stderr: {tail})" if tail else ""
    if execution.how == "signalled":
        return f"host code crashed: {execution.signal or 'signal'}{said}"
    if execution.how == "timed_out":
        return "host code did not end within the time limit, and no kernel was found to hang"
    if execution.how == "output_limit":
        return "the process was stopped for printing without end"
    if execution.how == "exited":
        return f"host code left early with exit status {execution.exit_status}{said}, so not all of it was checked"
    refused = next((r for r in execution.report if r.get("type") == "call" and r.get("status") != "ok"), None)
    if refused is not None:
        why = one_line(str(refused.get("message") or refused.get("cuda_error_name") or "it returned an error"))
        return f"`solve` failed, so not all of it was checked: {why}; see run"
    return one_line(run.failed, 600) if run.failed else None


def unsupported_text(record: Mapping[str, Any]) -> str:
    """What the engine could not do, and where."""
    what = one_line(str(record.get("name") or record.get("what") or "something"))
    place = at(text_or_none(record.get("file")), int_or_none(record.get("line")))
    advice = one_line(str(record.get("message") or ""))
    return f"not supported by the engine: {what}{place}" + (f"; {advice}" if advice else "")


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """De-duplicates by what and where, adds the counts, and puts the most severe first.

    What several checks meet alike is one finding, told by the first.
    """
    merged: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        hang = finding.kind in _MET_BY_EVERY_CHECK
        other = finding.other
        key = (
            None if hang else finding.check,
            finding.kind,
            finding.kernel,
            finding.file,
            finding.line,
            None if other is None or hang else (other.access, other.file, other.line),
        )
        seen = merged.get(key)
        if seen is None:
            merged[key] = finding
        elif not hang:
            merged[key] = seen.model_copy(update={"count": seen.count + finding.count})
    return tuple(sorted(merged.values(), key=lambda finding: (_rank(finding.kind), -finding.count)))


def overall(reports: Sequence[CheckReport], findings: Sequence[Finding]) -> Verdict:
    """Findings stand; without any, one failed check forbids calling the source clean."""
    if findings:
        return "findings"
    return "tool_failed" if any(report.verdict == "tool_failed" for report in reports) else "clean"


def summarise(status: Verdict, reports: Sequence[CheckReport], findings: Sequence[Finding]) -> str:
    """One to three sentences, the most severe finding first."""
    reasons: dict[str, list[str]] = {}
    for report in reports:
        if report.verdict == "tool_failed":
            reasons.setdefault(report.reason or "", []).append(report.check)
    failed = [f"{', '.join(checks)}: {reason}" for reason, checks in reasons.items()]
    if status == "clean":
        names = ", ".join(report.check for report in reports)
        return f"Clean: {names} found nothing within their coverage."
    if status == "tool_failed":
        return f"No verdict: {one_line('; '.join(failed), 500)}. That is not a clean result."
    worst = findings[0]
    place = at(worst.file, worst.line)
    times = f", {worst.count} times" if worst.count > 1 else ""
    parts = [f"{count_of(len(findings), 'finding')}; first {worst.kind}{place}{times}: {one_line(worst.message)}"]
    remedy = next((text for prefix, text in REMEDY.items() if worst.kind.startswith(prefix)), None)
    if remedy:
        parts.append(f"Next: {remedy}")
    if failed:
        parts.append(f"Not all was checked: {one_line('; '.join(failed), 300)}")
    return ". ".join(part.rstrip(".") for part in parts) + "."


def _rank(kind: str) -> int:
    return next((rank for rank, prefix in enumerate(SEVERITY) if kind.startswith(prefix)), len(SEVERITY))


def _from_records(check: Check, execution: Execution) -> list[Finding]:
    """Hangs, from the watchdog's records; and for memcheck a fault that no finding of its own explains."""
    records = execution.report[:MAX_RECORDS]
    hung = [hang_finding(check, record) for record in records if record.get("type") == "watchdog"]
    explained = hung or any(record.get("type") == "finding" for record in records)
    if check != "memcheck" or explained:
        return hung
    return [fault_finding(record) for record in records if record.get("type") == "error"][:1]


def fault_finding(record: Mapping[str, Any]) -> Finding:
    """What stopped a kernel: a failed assertion, a trap, a stack that overflowed."""
    name = one_line(str(record.get("name") or "device fault"))
    return Finding(
        check="memcheck",
        kind="assertion_failed" if name == "cudaErrorAssert" else "device_fault",
        message=one_line(f"{name}: {record.get('message') or 'the kernel was stopped'}"),
        kernel=text_or_none(record.get("kernel")),
        file=text_or_none(record.get("file")),
        line=int_or_none(record.get("line")),
        thread=_triple(record.get("thread")),
        block=_triple(record.get("block")),
    )


def hang_finding(check: Check, record: Mapping[str, Any]) -> Finding:
    """An endless loop, or a deadlock where warps wait for one another."""
    raw = record.get("warps")
    warps = [warp for warp in raw if isinstance(warp, Mapping)] if isinstance(raw, Sequence) else []
    running = next((warp for warp in warps if warp.get("state") == "running"), None)
    waiting = bool(warps) and running is None
    where: Mapping[str, Any] = running or (warps[0] if warps else {})
    kind = "deadlock" if waiting else "endless_loop"
    return Finding(
        check="synccheck" if waiting else check,
        kind=kind,
        message=one_line(str(record.get("message") or f"the kernel did not end: {kind}")),
        kernel=text_or_none(record.get("kernel")),
        file=text_or_none(where.get("file")),
        line=int_or_none(where.get("line")),
        block=_triple(where.get("block")),
    )


def _triple(value: object) -> tuple[int, int, int] | None:
    match value:
        case [int() as x, int() as y, int() as z]:
            return x, y, z
        case _:
            return None


def text_or_none(value: object) -> str | None:
    """A record's field as one line, where it is text."""
    return one_line(value) if isinstance(value, str) else None


def int_or_none(value: object) -> int | None:
    """A record's field, where it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
