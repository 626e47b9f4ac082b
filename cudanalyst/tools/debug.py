"""`debug`: memcheck, racecheck, initcheck and synccheck as separate, de-duplicated reports."""

from typing import Literal, Self

from pydantic import Field, model_validator

from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.cases import Limits, debug_sizes, plan_debug
from cudanalyst.tools.checks import CheckReport, Outcome, hangs, merge, overall, report_of, skipped, summarise
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.findings import ALL_CHECKS, Check, Finding, Side
from cudanalyst.tools.result import ToolResult, Truncation
from cudanalyst.tools.source import Source
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.toolchain.protocol import Build, ExecutionRequest, ProgramRequest, Sanitization, Toolchain
from cudanalyst.values import Frozen

__all__ = ["ALL_CHECKS", "Check", "CheckReport", "DebugRequest", "DebugResult", "Finding", "Side", "debug"]

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


class DebugResult(ToolResult):
    """What the checks found."""

    status: Literal["clean", "findings", "tool_failed", "compile_failed", "unavailable", "running"]
    """`findings` if there is any, else `tool_failed` if any check failed, else `clean`."""
    candidate: str | None = None
    checks: tuple[CheckReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Most severe first, each counted over threads, inputs and sizes."""
    diagnostics: tuple[Diagnostic, ...] = ()
    truncated: Truncation | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        verdicts = {report.verdict for report in self.checks}
        if self.status == "findings" and not self.findings:
            raise ValueError("status findings needs a finding")
        if self.status in {"clean", "tool_failed"} and self.findings:
            raise ValueError(f"status {self.status} excludes findings")
        if self.status == "clean" and verdicts != {"clean"}:
            raise ValueError("status clean needs checks, each of them clean")
        if self.status == "tool_failed" and "tool_failed" not in verdicts:
            raise ValueError("status tool_failed needs a check that failed")
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
) -> DebugResult:
    """Runs the checks that are asked for, one after the other.

    Args:
        source: A candidate or a program.
        problem: The candidate's problem; None for a program.
        toolchain: Where to build and run.
        request: Checks and limits.
        secret: The server's secret, from which inputs are drawn.

    Raises:
        BadRequest: Source and problem do not belong together.
    """
    request = request or DebugRequest()
    check_pair(source, problem)
    watch = Stopwatch()
    capabilities = await toolchain.capabilities()
    if not set(request.checks) & set(capabilities.sanitize):
        reason = capabilities.reasons.get("sanitize", "no such check can be run here; run `cudanalyst doctor`")
        return DebugResult(**unavailable(reason, capabilities.measured_on), candidate=source.id)
    build = await toolchain.build(source)
    if build.status != "compiled":
        failure = build_failure(build, capabilities)
        return DebugResult(**failure, candidate=source.id, duration_s=watch.elapsed_s)
    outcomes = await _run_checks(
        build, _runs(source, problem, request, secret), toolchain, request, capabilities.sanitize
    )
    findings = merge(finding for outcome in outcomes for finding in outcome.findings)
    reports = tuple(outcome.report for outcome in outcomes)
    shown = findings[: request.max_findings]
    status = overall(reports, findings)
    return DebugResult(
        status=status,
        summary=summarise(status, reports, findings),
        measured_on=capabilities.measured_on.model_copy(
            update={"sandbox": next((outcome.sandbox for outcome in outcomes if outcome.sandbox), None)}
        ),
        duration_s=watch.elapsed_s,
        reason=next((report.reason for report in reports if report.verdict == "tool_failed"), None),
        candidate=source.id,
        checks=reports,
        findings=shown,
        truncated=Truncation(shown=len(shown), total=len(findings)) if len(shown) < len(findings) else None,
    )


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
    outcomes: list[Outcome] = []
    stuck: str | None = None
    for check in dict.fromkeys(request.checks):
        if check not in offered:
            outcomes.append(skipped(check, f"{check} is not offered by the {toolchain.name} toolchain"))
        elif stuck:
            outcomes.append(skipped(check, f"not tried, since under {stuck} the host code did not end in time"))
        else:
            outcome = report_of(check, await _run_check(build, runs, toolchain, check))
            outcomes.append(outcome)
            if outcome.hung_on_host:
                stuck = check
    return tuple(outcomes)


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
