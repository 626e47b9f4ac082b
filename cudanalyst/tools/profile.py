"""`profile`: where the work goes, per kernel and per source line, and what an expert would say first."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.cases import Limits, plan_profile
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.devices import Device, load_device
from cudanalyst.tools.ending import answered_calls, ending, not_possible
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.hardware import HardwareKernel, from_records
from cudanalyst.tools.insight_counters import MOST as MOST_MEASURED
from cudanalyst.tools.insight_counters import counter_insights
from cudanalyst.tools.insights import MOST, insights_of
from cudanalyst.tools.model.kernel import KernelCode
from cudanalyst.tools.modelled import ModelledKernel, model_report, predict_report, total_us
from cudanalyst.tools.profile_measured import measured_profiles, summarise_measured
from cudanalyst.tools.profile_size import profile_size, why_this_size
from cudanalyst.tools.profile_view import kernel_profiles, summarise
from cudanalyst.tools.profiles import Bound, Insight, KernelProfile, LineProfile
from cudanalyst.tools.programs import describe
from cudanalyst.tools.result import MeasuredOn, ToolResult, Truncation
from cudanalyst.tools.sass import SassKernel
from cudanalyst.tools.selection import MetricSet, Selection, checked_kernel
from cudanalyst.tools.source import Source
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.protocol import Build, Disassembles, Execution, LaysOut, ProgramRequest, Toolchain
from cudanalyst.values import Frozen

__all__ = ["Bound", "Insight", "KernelProfile", "LineProfile", "ProfileRequest", "ProfileResult", "profile"]


class ProfileRequest(Frozen):
    """What to profile."""

    sizes: SizeSet | None = None
    """Named sizes of a candidate's call, of which the CPU engine runs a sample of the blocks where all are beyond the budget; None: the largest eval size that can be profiled soon (`profile_size`), else a test size."""
    device: str = "h200"
    """Device to model for."""
    budget_warp_instructions: float = Field(default=20e6, gt=0)
    """Sizes estimated to need more warp instructions are not taken, but on a GPU."""
    lines: int = Field(default=8, ge=0, le=1000)
    """Source lines shown per kernel, the busiest."""
    kernels: int = Field(default=5, ge=1, le=100)
    """Kernels shown, the longest."""
    insights: int | None = Field(default=None, ge=0, le=10)
    """At most so many; None: 3 modelled, 5 measured."""
    metrics: MetricSet = "standard"
    """On a GPU: `quick` says what bounds the time, `standard` why and where, `full` adds Nsight Compute's own rules."""
    kernel: str | None = None
    """Only kernels whose demangled name holds this text."""
    launch: int | None = Field(default=None, ge=0, le=1_000_000)
    """On a GPU: only the n-th launch of those kernels, from 0; None: the first 20."""
    sass: bool = False
    """Also count the machine code of each kernel."""
    arguments: tuple[str, ...] = ()
    """Arguments of a program."""
    stdin: str = ""
    """Standard input of a program."""
    timeout_s: float = Field(default=30.0, gt=0, le=600)
    max_warp_instructions: int = Field(default=2_000_000_000, gt=0)


class ProfileResult(ToolResult):
    """Counts, the bound that dominates, and what to change first: at most three modelled insights, or five measured ones."""

    status: Literal["profiled", "crashed", "timed_out", "compile_failed", "unavailable", "running"]
    candidate: str | None = None
    level: Literal["ptx", "sass"] | None = None
    kernels: tuple[KernelProfile, ...] = ()
    insights: tuple[Insight, ...] = ()
    modelled_us: float | None = None
    modelled_device: str | None = None
    modelled_reason: str | None = None
    """Why no kernel has a time from its machine code."""
    diagnostics: tuple[Diagnostic, ...] = ()
    truncated: Truncation | None = None
    sizes: SizeSet | None = None
    """The sizes that a candidate was profiled at."""
    duration_us: float | None = None
    """Measured time of all kernels under the profiler; no benchmark time."""
    metrics: MetricSet | None = None
    """The set of hardware counters; None where none were used."""
    sass: tuple[SassKernel, ...] = ()
    """The machine code of the kernels, where it was asked for."""
    sass_reason: str | None = None
    """Why there is no view of the machine code though it was asked for."""

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
    selection = Selection(request.metrics, checked_kernel(request.kernel), request.launch)
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
            ProgramRequest(
                request.arguments, request.stdin.encode(), request.timeout_s, request.max_warp_instructions, selection
            ),
        )
        sizes = None
        failure = _program_failure(execution)
    else:
        group, sizes = profile_size(
            problem, request.sizes, request.budget_warp_instructions, on_gpu=toolchain.name == "gpu"
        )
        limits = Limits(request.timeout_s, request.max_warp_instructions)
        planned = await asyncio.to_thread(plan_profile, problem, group, sizes, secret, limits)
        sample = None if request.sizes is None else int(request.budget_warp_instructions)
        asked = replace(planned.request, selection=selection, sample_warp_instructions=sample)
        execution = await toolchain.profile(build, asked)
        ended = ending(planned, execution, answered_calls(planned, execution))
        failure = None if ended is None else (_status(ended.status), f"Not profiled: {ended.message}. Next: debug.")
    measured_on = capabilities.measured_on.model_copy(update={"sandbox": execution.sandbox})
    fields: dict[str, Any] = {"measured_on": measured_on, "candidate": source.id, "duration_s": watch.elapsed_s}
    if request.sass:
        fields |= await _machine_code(toolchain, build, request)
    missing = not_possible(execution) or _not_sampled(execution)
    if missing:
        return ProfileResult(**{**fields, **unavailable(missing, measured_on)})
    if failure:
        status, sentence = failure
        return ProfileResult(status=status, summary=sentence, sizes=sizes, **fields)
    if measured := from_records(execution.report):
        why = (
            why_this_size(problem, sizes)
            if problem is not None and sizes is not None and request.sizes is None
            else None
        )
        return _measured(measured, request, sizes, why, fields)
    kernels = model_report(execution.report, build.kernels, source.options.arch, device)
    codes, fields["modelled_reason"] = await _codes(toolchain, build, device)
    if codes:
        kernels = await asyncio.to_thread(predict_report, kernels, execution.report, codes, device)
        if not any(kernel.prediction for kernel in kernels):
            fields["modelled_reason"] = "the counts and the machine code do not belong together"
    chosen = tuple(kernel for kernel in kernels if request.kernel is None or request.kernel in kernel.counts.kernel)
    if not chosen:
        reason = _nothing(request.kernel, [kernel.counts.kernel for kernel in kernels])
        return ProfileResult(**{**fields, **unavailable(reason, measured_on)}, sizes=sizes)
    return _modelled(chosen, device, request, sizes, fields)


async def _codes(toolchain: Toolchain, build: Build, device: Device) -> tuple[dict[str, KernelCode], str | None]:
    """The machine code for the device, or why there is none."""
    if not isinstance(toolchain, LaysOut):
        return {}, f"the {toolchain.name} toolchain keeps no machine code; the time is from the counts alone"
    try:
        return await toolchain.laid_out(build, device.arch), None
    except Unavailable as error:
        return {}, str(error)


def _not_sampled(execution: Execution) -> str | None:
    """Why a launch that is too large to run whole was not sampled either."""
    for record in execution.report:
        if record.get("type") == "sampling_refused":
            kernel, reason = one_line(str(record.get("kernel")), 120), one_line(str(record.get("reason")), 200)
            return (
                f"the budget ended {kernel} at this size, and a part of its blocks cannot stand for all: {reason}; "
                "use a smaller size, or raise budget_warp_instructions"
            )
    return None


async def _machine_code(toolchain: Toolchain, build: Build, request: ProfileRequest) -> dict[str, Any]:
    if not isinstance(toolchain, Disassembles):
        return {"sass_reason": f"the {toolchain.name} toolchain keeps no machine code"}
    try:
        kernels = await toolchain.machine_code(build)
    except Unavailable as error:
        return {"sass_reason": str(error)}
    chosen = tuple(kernel for kernel in kernels if request.kernel is None or request.kernel in kernel.name)
    return {
        "sass": chosen[: request.kernels],
        "sass_reason": None if chosen else _nothing(request.kernel, [kernel.name for kernel in kernels]),
    }


def _nothing(wanted: str | None, seen: Sequence[str]) -> str:
    names = ", ".join(one_line(name, 120) for name in dict.fromkeys(seen))
    return (
        f"0 kernels matched `{wanted}`; these were launched: {names}"
        if names
        else "no kernel was launched, so there is nothing to profile"
    )


def _measured(
    kernels: tuple[HardwareKernel, ...],
    request: ProfileRequest,
    sizes: SizeSet | None,
    why: str | None,
    fields: Mapping[str, Any],
) -> ProfileResult:
    insights = counter_insights(kernels, MOST_MEASURED if request.insights is None else request.insights)
    total = sum(kernel.duration_us or 0.0 for kernel in kernels)
    shown = measured_profiles(kernels[: request.kernels], total, request.lines)
    on: MeasuredOn = fields["measured_on"]
    return ProfileResult(
        status="profiled",
        summary=summarise_measured(kernels, insights, total, on.device, sizes, why),
        level="sass",
        kernels=shown,
        insights=insights,
        truncated=Truncation(shown=len(shown), total=len(kernels)) if len(shown) < len(kernels) else None,
        sizes=sizes,
        duration_us=float(f"{total:.4g}") if total else None,
        metrics=request.metrics,
        **fields,
    )


def _modelled(
    kernels: tuple[ModelledKernel, ...],
    device: Device,
    request: ProfileRequest,
    sizes: SizeSet | None,
    fields: Mapping[str, Any],
) -> ProfileResult:
    insights = insights_of(kernels, device, MOST if request.insights is None else request.insights)
    shown = kernel_profiles(
        kernels[: request.kernels], sum((k.prediction or k.modelled).us for k in kernels), request.lines
    )
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


def _status(status: str) -> Literal["crashed", "timed_out"]:
    return "timed_out" if status == "timed_out" else "crashed"


def _program_failure(execution: Execution) -> tuple[Literal["crashed", "timed_out"], str] | None:
    status, sentence, error = describe(execution)
    if status == "exited" and error is None:
        return None
    return ("timed_out" if status == "timed_out" else "crashed"), f"Not profiled: {sentence} Next: debug."
