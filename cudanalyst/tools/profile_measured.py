"""Measured kernels as the result shows them: pure functions of `profile`."""

from collections.abc import Mapping, Sequence

from cudanalyst.kernels.problem import SizeSet
from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.figures import rounded
from cudanalyst.tools.hardware import HardwareKernel, MeasuredLine
from cudanalyst.tools.profiles import Insight, KernelProfile, LineProfile
from cudanalyst.tools.text import count_of

_LANES = 32.0
_LEAST_SHARE = 0.01


def measured_profiles(kernels: Sequence[HardwareKernel], total_us: float, lines: int) -> tuple[KernelProfile, ...]:
    """Kernels in their order, each with the lines where its time goes."""
    return tuple(_kernel(kernel, total_us, lines) for kernel in kernels)


def _kernel(kernel: HardwareKernel, total_us: float, lines: int) -> KernelProfile:
    access = [row for row in kernel.memory if row.path == "global"]
    requests, sectors = (sum(getattr(row, name) or 0.0 for row in access) for name in ("requests", "sectors"))
    shared = next((row for row in kernel.memory if row.path == "shared"), None)
    ideal = (
        shared.sectors - shared.bank_conflicts
        if shared and shared.sectors and shared.bank_conflicts is not None
        else None
    )
    shown = sorted(kernel.lines[:lines], key=lambda line: (line.file or "", line.line or 0))
    return KernelProfile(
        name=kernel.name,
        launches=kernel.launches,
        grid=kernel.grid,
        block=kernel.block,
        warp_instructions=kernel.warp_instructions,
        instruction_mix=kernel.instruction_mix,
        lane_efficiency=rounded(min(1.0, kernel.lanes / _LANES)) if kernel.lanes is not None else None,
        global_bytes=round(32 * sectors) if access else None,
        sectors_per_request=rounded(sectors / requests) if requests else None,
        shared_conflict_ratio=rounded(shared.sectors / ideal)
        if shared and shared.sectors and ideal and ideal > 0
        else None,
        bound=measured_bound(kernel),
        share=rounded(kernel.duration_us / total_us) if kernel.duration_us is not None and total_us else None,
        lines=tuple(_line(line) for line in shown),
        duration_us=kernel.duration_us,
        sol=_worth_showing(kernel.sol),
        roofline=kernel.roofline,
        measured_occupancy=kernel.occupancy,
        stalls=_worth_showing(kernel.stalls),
        memory=kernel.memory,
        tensor=kernel.tensor,
        rules=kernel.rules,
        passes=kernel.passes,
    )


def _worth_showing(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares of at least one in a hundred, the largest first."""
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return {name: share for name, share in ranked if share >= _LEAST_SHARE}


def _line(line: MeasuredLine) -> LineProfile:
    wavefronts, ideal = line.shared_wavefronts or 0, line.shared_wavefronts_ideal or 0
    return LineProfile(
        file=line.file,
        line=line.line,
        warp_instructions=line.warp_instructions or 0,
        active_lanes_mean=line.lanes,
        global_requests=line.global_requests or 0,
        global_sectors=line.global_sectors or 0,
        shared_wavefronts=wavefronts,
        bank_conflicts=max(0, wavefronts - ideal) if ideal else 0,
        atomics=line.atomics or 0,
        samples=line.samples,
        sample_share=line.share,
        stalls=line.stalls,
        local_accesses=line.local_accesses,
    )


def summarise_measured(
    kernels: Sequence[HardwareKernel],
    insights: Sequence[Insight],
    total_us: float,
    device: str | None,
    sizes: SizeSet | None,
    why: str | None = None,
) -> str:
    """What takes the time, what bounds it, and the first thing to do; `why` says why those sizes were taken."""
    longest = kernels[0]
    where = " at " + " ".join(f"{name}={extent}" for name, extent in sizes.items()) if sizes else ""
    where += f" ({why})" if sizes and why else ""
    share = (
        f", {longest.duration_us / total_us:.0%} of it in {longest.name}"
        if len(kernels) > 1 and longest.duration_us and total_us
        else ""
    )
    text = f"{count_of(len(kernels), 'kernel')}, {total_us:.3g} us under the profiler on {device or 'the GPU'}{where}{share}; {_bound(longest)}."
    if not insights:
        return text + " No rule finds a change that is estimated to gain 3 %."
    first = insights[0]
    gain = f" (estimated gain {first.estimated_gain:.2f}x)" if first.estimated_gain else ""
    return f"{text} First: {first.kind}, {first.message}{gain}. Next: {first.remedy}."


def _bound(kernel: HardwareKernel) -> str:
    bound, top = measured_bound(kernel), busiest_unit(kernel)
    if bound is None or top is None:
        return "what bounds it was not measured"
    busy = f"{top[0].replace('_', ' ')} at {top[1]:.0%} of its peak"
    if bound == top[0]:
        return f"bound by {busy}"
    reasons = {name: share for name, share in kernel.stalls.items() if name not in {"issued", "not_selected"}}
    waits = max(reasons, key=lambda name: reasons[name], default=None)
    most = f", warps mostly wait for {waits.replace('_', ' ')} ({reasons[waits]:.0%} of samples)" if waits else ""
    return f"bound by {bound} (the busiest unit is {busy}{most})"
