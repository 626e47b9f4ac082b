"""From what the sanitizing runs left to verdicts and de-duplicated findings: pure functions of `debug`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.text import at, one_line
from cudanalyst.tools.toolchain.protocol import Execution, Sanitization
from cudanalyst.values import Frozen

Verdict = Literal["clean", "findings", "tool_failed", "incomplete"]
"""`incomplete`: the tool worked and found nothing, but the code under it did not get to its end."""
UNFINISHED: Final = frozenset({"tool_failed", "incomplete"})
"""Neither is a clean result."""

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
    "use_before_allocation",
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
    "unused_memory",
)
"""Prefixes of finding kinds, most severe first: what stops a run, then what corrupts, then what depends on luck."""

_MET_BY_EVERY_CHECK: Final = frozenset({"deadlock", "endless_loop", "missing_async_wait"})
_STOPS: Final = frozenset({"assertion_failed", "device_fault"})
MAX_RECORDS: Final = 10_000


class CheckReport(Frozen):
    """One check's verdict; a tool that failed is not a clean result, and neither is a run that was cut short."""

    check: Check
    verdict: Verdict
    coverage: str
    """Which spaces and hazards this check can see."""
    reason: str | None = None
    duration_s: float | None = None
    """Wall time of the check's runs, its tool included; checks may run side by side."""
    note: str | None = None
    """What to know when reading the findings, such as that not all were kept."""


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
    findings = merge([finding for run in runs for finding in (*run.findings, *_from_records(run))])
    failure = next((reason for run in runs if (reason := failure_of(run))), None)
    verdict: Verdict = "findings" if findings else "tool_failed" if failure else "clean"
    if failure is None and not findings:  # a defect that was found explains whatever end the process came to
        failure = next((reason for run in runs if (reason := cut_short(run))), None)
        verdict = "incomplete" if failure else "clean"
        if failure is None and (said := next((run.failed for run in runs if run.failed), None)):
            verdict, failure = "tool_failed", one_line(said, 600)
    seconds = [run.execution.duration_s if run.wall_s is None else run.wall_s for run in runs]
    report = CheckReport(
        check=check,
        verdict=verdict,
        coverage=runs[0].coverage,
        reason=failure,
        duration_s=round(sum(seconds), 6),
        note=next((one_line(run.note) for run in runs if run.note), None),
    )
    hung = any(run.execution.how == "timed_out" for run in runs) and not findings
    return Outcome(report=report, findings=findings, sandbox=runs[0].execution.sandbox, hung_on_host=hung)


def hangs(execution: Execution) -> bool:
    """Whether host code or a kernel did not end by itself."""
    return execution.how == "timed_out" or any(record.get("type") == "watchdog" for record in execution.report)


def failure_of(run: Sanitization) -> str | None:
    """Why the tool did not do its work, or not all of it; None where it did."""
    execution = run.execution
    if run.broken is not None:
        return one_line(run.broken, 600)
    if execution.how == "unavailable":
        return one_line(execution.reason or "this check cannot run here; run `cudanalyst doctor`", 600)
    unsupported = next((record for record in execution.report if record.get("type") == "unsupported"), None)
    if unsupported is not None:
        return unsupported_text(unsupported)
    return None


def cut_short(run: Sanitization) -> str | None:
    """Why the code under the check did not get to its end; None where it did."""
    execution = run.execution
    fault = next((record for record in execution.report if record.get("type") == "error"), None)
    if fault is not None:
        place = at(text_or_none(fault.get("file")), int_or_none(fault.get("line")))
        name = one_line(str(fault.get("name") or "device fault"))
        return f"the kernel was stopped by {name}{place}, so the rest was not checked; see memcheck"
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
        return f"`solve` failed, so not all of it was checked: {why}"
    return None if run.stopped is None else one_line(run.stopped, 600)


def told_stopped(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The same, but nothing is clean that ran a kernel which memcheck saw stopped: a program may go on without a word of it."""
    stops = [one for outcome in outcomes for one in outcome.findings if one.kind in _STOPS]
    if not stops:
        return tuple(outcomes)
    first = stops[0]
    reason = f"a kernel was stopped by {first.kind}{at(first.file, first.line)}, so the rest was not checked; see {first.check}"
    return tuple(
        replace(outcome, report=outcome.report.model_copy(update={"verdict": "incomplete", "reason": reason}))
        if outcome.report.verdict == "clean"
        else outcome
        for outcome in outcomes
    )


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


def _rank(kind: str) -> int:
    return next((rank for rank, prefix in enumerate(SEVERITY) if kind.startswith(prefix)), len(SEVERITY))


def _from_records(run: Sanitization) -> list[Finding]:
    """Hangs, from the watchdog's records; and for memcheck a fault that no finding of its own explains."""
    records = run.execution.report[:MAX_RECORDS]
    hung = [hang_finding(run.check, record) for record in records if record.get("type") == "watchdog"]
    explained = hung or run.findings or any(record.get("type") == "finding" for record in records)
    if run.check != "memcheck" or explained:
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
