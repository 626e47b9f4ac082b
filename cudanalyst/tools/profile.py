"""`profile`: where the work goes, per kernel and per source line, and what an expert would say first."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.cases import Limits, plan_profile
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.devices import Device, load_device
from cudanalyst.tools.ending import answered_calls, ending, not_possible
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.insights import MOST, insights_of
from cudanalyst.tools.modelled import ModelledKernel, model_report, total_us
from cudanalyst.tools.profile_view import kernel_profiles, summarise
from cudanalyst.tools.profiles import Bound, Insight, KernelProfile, LineProfile
from cudanalyst.tools.programs import describe
from cudanalyst.tools.result import ToolResult, Truncation
from cudanalyst.tools.source import Source
from cudanalyst.tools.speedup import feasible_sizes
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.toolchain.protocol import Execution, ProgramRequest, Toolchain
from cudanalyst.values import Frozen

__all__ = ["Bound", "Insight", "KernelProfile", "LineProfile", "ProfileRequest", "ProfileResult", "profile"]


class ProfileRequest(Frozen):
    """What to profile."""

    sizes: SizeSet | None = None
    """Named sizes of a candidate's call; None: the largest eval size within the budget, else test size."""
    device: str = "h200"
    """Device to model for."""
    budget_warp_instructions: float = Field(default=20e6, gt=0)
    """Sizes estimated to need more warp instructions are not taken."""
    lines: int = Field(default=8, ge=0, le=1000)
    """Source lines shown per kernel, the busiest."""
    kernels: int = Field(default=5, ge=1, le=100)
    """Kernels shown, the longest."""
    insights: int = Field(default=MOST, ge=0, le=10)
    arguments: tuple[str, ...] = ()
    """Arguments of a program."""
    stdin: str = ""
    """Standard input of a program."""
    timeout_s: float = Field(default=30.0, gt=0, le=600)
    max_warp_instructions: int = Field(default=2_000_000_000, gt=0)


class ProfileResult(ToolResult):
    """Counts, the bound that dominates, and at most three insights."""

    status: Literal["profiled", "crashed", "timed_out", "compile_failed", "unavailable", "running"]
    candidate: str | None = None
    level: Literal["ptx", "sass"] | None = None
    kernels: tuple[KernelProfile, ...] = ()
    insights: tuple[Insight, ...] = ()
    modelled_us: float | None = None
    modelled_device: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    truncated: Truncation | None = None
    sizes: SizeSet | None = None
    """The sizes that a candidate was profiled at."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.status == "profiled" and (not self.kernels or self.level is None):
            raise ValueError("status profiled needs kernels and their level")
        if self.status in {"compile_failed", "unavailable"} and self.kernels:
            raise ValueError(f"nothing ran where the status is {self.status}")
        if self.status == "unavailable" and not self.reason:
            raise ValueError("status unavailable needs a reason")
        if self.modelled_us is not None and self.modelled_device is None:
            raise ValueError("a modelled time names its device")
        return self

    @property
    def ok(self) -> bool | None:
        """True: profiled. False: the source failed. None: could not be done."""
        return None if self.status in {"unavailable", "running"} else self.status == "profiled"


async def profile(
    source: Source,
    problem: Problem | None,
    toolchain: Toolchain,
    request: ProfileRequest | None = None,
    *,
    secret: bytes = b"",
) -> ProfileResult:
    """Profiles one call of a candidate, or one run of a program.

    Args:
        source: A candidate or a program.
        problem: The candidate's problem; None for a program.
        toolchain: Where to build and run.
        request: Sizes, device and limits.
        secret: The server's secret, from which inputs are drawn.

    Raises:
        BadRequest: Source, problem and arguments do not belong together.
    """
    request = request or ProfileRequest()
    check_pair(source, problem)
    device = load_device(request.device)
    watch = Stopwatch()
    capabilities = await toolchain.capabilities()
    if not capabilities.profile:
        reason = capabilities.reasons.get("profile", "nothing can be profiled here; run `cudanalyst doctor`")
        return ProfileResult(**unavailable(reason, capabilities.measured_on), candidate=source.id)
    build = await toolchain.build(source)
    if build.status != "compiled":
        return ProfileResult(**build_failure(build, capabilities), candidate=source.id, duration_s=watch.elapsed_s)
    if problem is None:
        execution = await toolchain.profile(
            build,
            ProgramRequest(request.arguments, request.stdin.encode(), request.timeout_s, request.max_warp_instructions),
        )
        sizes = None
        failure = _program_failure(execution)
    else:
        group, sizes = _size(problem, request)
        limits = Limits(request.timeout_s, request.max_warp_instructions)
        planned = await asyncio.to_thread(plan_profile, problem, group, sizes, secret, limits)
        execution = await toolchain.profile(build, planned.request)
        ended = ending(planned, execution, answered_calls(planned, execution))
        failure = None if ended is None else (_status(ended.status), f"Not profiled: {ended.message}. Next: debug.")
    measured_on = capabilities.measured_on.model_copy(update={"sandbox": execution.sandbox})
    fields: dict[str, Any] = {"measured_on": measured_on, "candidate": source.id, "duration_s": watch.elapsed_s}
    missing = not_possible(execution)
    if missing:
        return ProfileResult(**{**fields, **unavailable(missing, measured_on)})
    kernels = model_report(execution.report, build.kernels, source.options.arch, device)
    if failure:
        status, sentence = failure
        return ProfileResult(status=status, summary=sentence, sizes=sizes, **fields)
    if not kernels:
        reason = "no kernel was launched, so there is nothing to profile"
        return ProfileResult(**{**fields, **unavailable(reason, measured_on)}, sizes=sizes)
    return _profiled(kernels, device, request, sizes, fields)


def _profiled(
    kernels: tuple[ModelledKernel, ...],
    device: Device,
    request: ProfileRequest,
    sizes: SizeSet | None,
    fields: Mapping[str, Any],
) -> ProfileResult:
    insights = insights_of(kernels, device, request.insights)
    shown = kernel_profiles(kernels[: request.kernels], sum(k.modelled.us for k in kernels), request.lines)
    return ProfileResult(
        status="profiled",
        summary=summarise(shown, insights, total_us(kernels), device.name, sizes),
        level="ptx",
        kernels=shown,
        insights=insights,
        modelled_us=total_us(kernels),
        modelled_device=device.name,
        truncated=Truncation(shown=len(shown), total=len(kernels)) if len(shown) < len(kernels) else None,
        sizes=sizes,
        **fields,
    )


def _size(problem: Problem, request: ProfileRequest) -> tuple[SizeGroup, SizeSet]:
    if request.sizes is None:
        feasible = feasible_sizes(problem, request.budget_warp_instructions)
        return feasible[-1] if feasible else ("test", problem.sizes["test"][0])
    for group in ("test", "eval"):
        if request.sizes in problem.sizes.get(group, ()):
            return group, request.sizes
    known = "; ".join(str(sizes) for group in ("test", "eval") for sizes in problem.sizes.get(group, ()))
    raise BadRequest(f"problem {problem.id} has no sizes {request.sizes}; use one of: {known}")


def _status(status: str) -> Literal["crashed", "timed_out"]:
    return "timed_out" if status == "timed_out" else "crashed"


def _program_failure(execution: Execution) -> tuple[Literal["crashed", "timed_out"], str] | None:
    status, sentence, error = describe(execution)
    if status == "exited" and error is None:
        return None
    return ("timed_out" if status == "timed_out" else "crashed"), f"Not profiled: {sentence} Next: debug."
