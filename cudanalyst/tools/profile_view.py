"""Modelled kernels as the result shows them: pure functions of `profile`."""

from collections.abc import Sequence
from typing import get_args

from cudanalyst.kernels.problem import SizeSet
from cudanalyst.tools.counts import LANES, SECTOR_BYTES, KernelCounts, LineCounts
from cudanalyst.tools.figures import ratio, rounded
from cudanalyst.tools.model.predict import STATED_ERROR, Prediction
from cudanalyst.tools.modelled import ModelledKernel
from cudanalyst.tools.profiles import Bound, Insight, KernelProfile, LineProfile, ModelledTime
from cudanalyst.tools.text import count_of, one_line

_LEAST_SHARE = 0.02
_WAITS_SHOWN = 5
_BOUNDS: dict[str, Bound] = {name: name for name in get_args(Bound)}


def kernel_profiles(kernels: Sequence[ModelledKernel], total_us: float, lines: int) -> tuple[KernelProfile, ...]:
    """Kernels in their order, each with its busiest lines."""
    return tuple(_kernel(kernel, total_us, lines) for kernel in kernels)


def _kernel(kernel: ModelledKernel, total_us: float, lines: int) -> KernelProfile:
    counts = kernel.counts
    busiest = sorted(counts.lines, key=_weight, reverse=True)[:lines]
    return KernelProfile(
        name=one_line(counts.kernel),
        launches=counts.launches,
        grid=counts.grid,
        block=counts.block,
        warp_instructions=counts.warp_instructions,
        instruction_mix={name: number for name, number in sorted(counts.mix.items()) if number},
        lane_efficiency=rounded(counts.lane_efficiency),
        global_bytes=counts.global_sectors * SECTOR_BYTES,
        sectors_per_request=ratio(counts.global_sectors, counts.global_requests),
        shared_conflict_ratio=ratio(counts.shared_wavefronts, counts.shared_wavefronts_ideal),
        occupancy=kernel.occupancy,
        bound=_BOUNDS[(kernel.prediction or kernel.modelled).bound],
        modelled_us=rounded((kernel.prediction or kernel.modelled).us),
        modelled=_modelled(kernel.prediction) if kernel.prediction else None,
        share=ratio((kernel.prediction or kernel.modelled).us, total_us),
        sampled_blocks=None if counts.sampled is None else counts.sampled.blocks,
        sampling_error=_sampling_error(counts),
        reads_sampled_results=counts.after_sampled,
        lines=tuple(_line(line) for line in sorted(busiest, key=lambda line: (line.file or "", line.line or 0))),
    )


def _modelled(prediction: Prediction) -> ModelledTime:
    return ModelledTime(
        us=float(f"{prediction.us:.4g}"),
        bound=prediction.bound,
        parts_us={
            name: float(f"{us:.3g}") for name, us in prediction.parts.items() if us >= _LEAST_SHARE * prediction.us
        },
        waits={name: round(share, 3) for name, share in list(prediction.waits.items())[:_WAITS_SHOWN]},
        resident_warps=prediction.resident_warps,
        error=STATED_ERROR,
    )


def _sampling_error(counts: KernelCounts) -> float | None:
    if counts.sampled is None:
        return None
    pairs = (
        (counts.sampled.warp_instructions_standard_error, counts.warp_instructions),
        (counts.sampled.global_sectors_standard_error, counts.global_sectors),
        (counts.sampled.shared_wavefronts_standard_error, counts.shared_wavefronts),
    )
    return rounded(max(error / total for error, total in pairs if total))


def _weight(line: LineCounts) -> tuple[float, int]:
    """Lines are ranked by the slots they take: issue, and the data path, which is four times as narrow."""
    return (line.warp_instructions + line.global_sectors + 4.0 * line.shared_wavefronts, -(line.line or 0))


def _line(line: LineCounts) -> LineProfile:
    lanes = ratio(line.thread_instructions, line.warp_instructions)
    return LineProfile(
        file=line.file,
        line=line.line,
        warp_instructions=line.warp_instructions,
        active_lanes_mean=None if lanes is None else min(float(LANES), lanes),
        global_requests=line.global_requests,
        global_sectors=line.global_sectors,
        shared_requests=line.shared_requests,
        shared_wavefronts=line.shared_wavefronts,
        bank_conflicts=max(0, line.shared_wavefronts - line.shared_wavefronts_ideal),
        atomics=line.atomics,
        divergent_branches=line.divergent_branches,
        barriers=line.barriers,
    )


def summarise(
    kernels: Sequence[KernelProfile],
    insights: Sequence[Insight],
    total_us: float | None,
    device: str,
    sizes: SizeSet | None,
) -> str:
    """What takes the time, what bounds it, and the first thing to do."""
    longest = kernels[0]
    where = " at " + " ".join(f"{name}={extent}" for name, extent in sizes.items()) if sizes else ""
    share = f", {longest.share:.0%} of it in {longest.name}" if len(kernels) > 1 and longest.share is not None else ""
    text = (
        f"{count_of(len(kernels), 'kernel')}, modelled (not measured) {total_us:.3g} us on {device}{where}{share}; "
        f"bound by {(longest.bound or 'nothing known').replace('_', ' ')}."
    )
    if longest.sampled_blocks is not None:
        text += (
            f" Counted on {longest.sampled_blocks} sampled blocks (standard error {longest.sampling_error or 0:.1%})."
        )
    if not insights:
        return text + " No single change to the access pattern or launch is modelled to gain 3 %."
    first = insights[0]
    gain = f" (modelled gain {first.estimated_gain:.2f}x)" if first.estimated_gain else ""
    return f"{text} First: {first.kind}, {first.message}{gain}. Next: {first.remedy}."
