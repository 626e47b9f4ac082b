"""`debug`: memcheck, racecheck, initcheck and synccheck as separate, de-duplicated reports.

On a GPU the four run side by side where the toolchain can, and the CPU engine checks the same source at the same sizes meanwhile: it
sees kinds of defects that compute-sanitizer cannot. The two reports are kept apart, and what only one of them found is told.
"""

import asyncio
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.cases import Limits, debug_sizes, plan_debug
from cudanalyst.tools.check_summary import overall, reason_of, summarise
from cudanalyst.tools.checks import UNFINISHED, CheckReport, Outcome, hangs, merge, report_of, skipped, told_stopped
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.cross_check import Disagreement, disagreements, told
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.findings import ALL_CHECKS, Check, Finding, Side
from cudanalyst.tools.result import ToolResult, Truncation
from cudanalyst.tools.source import Source
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.toolchain.protocol import (
    Build,
    ChecksTogether,
    ExecutionRequest,
    ProgramRequest,
    Sanitization,
    Toolchain,
)
from cudanalyst.values import Frozen

__all__ = [
    "ALL_CHECKS", "Check", "CheckReport", "DebugRequest", "DebugResult", "EngineReport", "Finding", "Side", "debug",
]  # fmt: skip

MAX_FINDINGS = 20


class DebugRequest(Frozen):
    """What to look for, and on which input."""

    checks: tuple[Check, ...] = Field(default=ALL_CHECKS, min_length=1)
    """Which of the four checks; each is a run of its own."""
    arguments: tuple[str, ...] = ()
    """Arguments of a program."""
    stdin: str = ""
    """Standard input of a program."""
    timeout_s: float = Field(default=20.0, gt=0, le=600)
    """Wall limit of each check's run, in seconds."""
    max_warp_instructions: int = Field(default=50_000_000, gt=0)
    """A launch that needs more is reported as an endless loop."""
    max_findings: int = Field(default=MAX_FINDINGS, ge=1, le=200)


class EngineReport(Frozen):
    """What the CPU engine's checks found in the same source, beside those on a GPU."""

    status: Literal["clean", "findings", "tool_failed", "compile_failed", "unavailable", "running"]
    reason: str | None = None
    checks: tuple[CheckReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    truncated: Truncation | None = None
    disagreements: tuple[Disagreement, ...] = ()
    """What only one of the two found, and what may explain it."""
    duration_s: float | None = None


class DebugResult(ToolResult):
    """What the checks found."""

    status: Literal["clean", "findings", "tool_failed", "compile_failed", "unavailable", "running"]
    """`findings` if there is any, else `tool_failed` if any check failed or did not get to its end, else `clean`."""
    candidate: str | None = None
    checks: tuple[CheckReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Most severe first, each counted over threads, inputs and sizes."""
    diagnostics: tuple[Diagnostic, ...] = ()
    truncated: Truncation | None = None
    engine: EngineReport | None = None
    """The CPU engine's own report, where the checks ran on a GPU; it does not change `status` or `findings`."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        verdicts = {report.verdict for report in self.checks}
        if self.status == "findings" and not self.findings:
            raise ValueError("status findings needs a finding")
        if self.status in {"clean", "tool_failed"} and self.findings:
            raise ValueError(f"status {self.status} excludes findings")
        if self.status == "clean" and verdicts != {"clean"}:
            raise ValueError("status clean needs checks, each of them clean")
        if self.status == "tool_failed" and not verdicts & UNFINISHED:
            raise ValueError("status tool_failed needs a check that failed or did not get to its end")
        if self.status in {"compile_failed", "unavailable"} and (self.checks or self.findings):
            raise ValueError(f"nothing was checked where the status is {self.status}")
        if self.status == "unavailable" and not self.reason:
            raise ValueError("status unavailable needs a reason")
        return self

    @property
    def ok(self) -> bool | None:
        """True clean, False findings or not compiled, None where it could not be said."""
        return {"clean": True, "findings": False, "compile_failed": False}.get(self.status)


async def debug(
    source: Source,
    problem: Problem | None,
    toolchain: Toolchain,
    request: DebugRequest | None = None,
    *,
    secret: bytes = b"",
    engine: Toolchain | None = None,
) -> DebugResult:
    """Runs the checks that are asked for.

    Args:
        source: A candidate or a program.
        problem: The candidate's problem; None for a program.
        toolchain: Where to build and run.
        request: Checks and limits.
        secret: The server's secret, from which inputs are drawn.
        engine: The CPU engine, to check the same source beside a GPU; None not to.

    Raises:
        BadRequest: Source and problem do not belong together.
    """
    request = request or DebugRequest()
    check_pair(source, problem)
    if engine is None:
        return (await _debug(source, problem, toolchain, request, secret)).result
    return _beside(
        *await asyncio.gather(
            _debug(source, problem, toolchain, request, secret), _debug(source, problem, engine, request, secret)
        )
    )


@dataclass(frozen=True)
class _Debugged:
    """A result, and its findings before the list was cut."""

    result: DebugResult
    findings: tuple[Finding, ...] = ()


async def _debug(
    source: Source, problem: Problem | None, toolchain: Toolchain, request: DebugRequest, secret: bytes
) -> _Debugged:
    watch = Stopwatch()
    capabilities = await toolchain.capabilities()
    if not set(request.checks) & set(capabilities.sanitize):
        reason = capabilities.reasons.get("sanitize", "no such check can be run here; run `cudanalyst doctor`")
        return _Debugged(DebugResult(**unavailable(reason, capabilities.measured_on), candidate=source.id))
    build = await toolchain.build(source)
    if build.status != "compiled":
        failure = build_failure(build, capabilities)
        return _Debugged(DebugResult(**failure, candidate=source.id, duration_s=watch.elapsed_s))
    runs = await asyncio.to_thread(_runs, source, problem, request, secret)
    outcomes = told_stopped(await _run_checks(build, runs, toolchain, request, capabilities.sanitize))
    findings = merge(finding for outcome in outcomes for finding in outcome.findings)
    reports = tuple(outcome.report for outcome in outcomes)
    shown = findings[: request.max_findings]
    status = overall(reports, findings)
    result = DebugResult(
        status=status,
        summary=summarise(status, reports, findings),
        measured_on=capabilities.measured_on.model_copy(
            update={"sandbox": next((outcome.sandbox for outcome in outcomes if outcome.sandbox), None)}
        ),
        duration_s=watch.elapsed_s,
        reason=reason_of(status, reports),
        candidate=source.id,
        checks=reports,
        findings=shown,
        truncated=Truncation(shown=len(shown), total=len(findings)) if len(shown) < len(findings) else None,
    )
    return _Debugged(result, findings)


def _beside(on_gpu: _Debugged, on_engine: _Debugged) -> DebugResult:
    """The GPU's result with the engine's report in it, and a sentence where the two differ."""
    result, beside = on_gpu.result, on_engine.result
    compared: tuple[Disagreement, ...] = ()
    if result.checks and beside.checks:
        gpu_failed, engine_failed = _failures(result), _failures(beside)
        compared = disagreements(
            on_gpu.findings, on_engine.findings, gpu_failed=gpu_failed, engine_failed=engine_failed
        )
    report = EngineReport(
        status=beside.status,
        reason=beside.reason,
        checks=beside.checks,
        findings=beside.findings,
        truncated=beside.truncated,
        disagreements=compared,
        duration_s=beside.duration_s,
    )
    remark = told(compared)
    summary = f"{result.summary} Besides, {remark}." if remark else result.summary
    seconds = [one.duration_s for one in (result, beside) if one.duration_s is not None]
    return result.model_copy(
        update={"engine": report, "summary": summary, "duration_s": max(seconds) if seconds else None}
    )


def _failures(result: DebugResult) -> dict[Check, str]:
    return {
        report.check: report.reason or "no reason was given" for report in result.checks if report.verdict in UNFINISHED
    }


def _runs(
    source: Source, problem: Problem | None, request: DebugRequest, secret: bytes
) -> tuple[ExecutionRequest, ...]:
    if problem is None:
        return (
            ProgramRequest(
                arguments=request.arguments,
                stdin=request.stdin.encode(),
                timeout_s=request.timeout_s,
                max_warp_instructions=request.max_warp_instructions,
            ),
        )
    return tuple(
        plan_debug(problem, source.id, sizes, secret, Limits(request.timeout_s, request.max_warp_instructions))
        for sizes in debug_sizes(problem)
    )


async def _run_checks(
    build: Build,
    runs: tuple[ExecutionRequest, ...],
    toolchain: Toolchain,
    request: DebugRequest,
    offered: tuple[Check, ...],
) -> tuple[Outcome, ...]:
    if isinstance(toolchain, ChecksTogether):
        return await _run_together(build, runs, toolchain, request, offered)
    outcomes: list[Outcome] = []
    stuck: str | None = None
    for check in dict.fromkeys(request.checks):
        if check not in offered:
            outcomes.append(_not_offered(check, toolchain.name))
        elif stuck:
            outcomes.append(skipped(check, f"not tried, since under {stuck} the host code did not end in time"))
        else:
            outcome = report_of(check, await _run_check(build, runs, toolchain, check))
            outcomes.append(outcome)
            if outcome.hung_on_host:
                stuck = check
    return tuple(outcomes)


def _not_offered(check: Check, toolchain: str) -> Outcome:
    return skipped(check, f"{check} is not offered by the {toolchain} toolchain")


async def _run_together(
    build: Build,
    runs: tuple[ExecutionRequest, ...],
    toolchain: ChecksTogether,
    request: DebugRequest,
    offered: tuple[Check, ...],
) -> tuple[Outcome, ...]:
    """All checks of one run side by side, then those of the next; a check whose run hung is not run again."""
    done: dict[Check, list[Sanitization]] = {check: [] for check in dict.fromkeys(request.checks) if check in offered}
    for run in runs:
        checks = [check for check, runs_done in done.items() if not any(hangs(one.execution) for one in runs_done)]
        if not checks:
            break
        for sanitization in await toolchain.sanitize_together(build, run, checks):
            done[sanitization.check].append(sanitization)
    return tuple(
        report_of(check, done[check]) if check in done else _not_offered(check, "gpu")
        for check in dict.fromkeys(request.checks)
    )


async def _run_check(
    build: Build, runs: tuple[ExecutionRequest, ...], toolchain: Toolchain, check: Check
) -> list[Sanitization]:
    """Every run under one check, up to the first that hangs: the next would hang as long."""
    done: list[Sanitization] = []
    for run in runs:
        done.append(await toolchain.sanitize(build, run, check))
        if hangs(done[-1].execution):
            break
    return done
