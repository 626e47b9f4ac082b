"""Rules of `profile` on execution: lanes, occupancy, grid, precision, barriers."""

import math
from collections.abc import Iterator
from typing import Final

from cudanalyst.tools.counts import LANES, KernelCounts
from cudanalyst.tools.devices import Device
from cudanalyst.tools.insight_memory import Found, top_lines
from cudanalyst.tools.modelled import ModelledKernel


def _lanes(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    efficiency = counts.lane_efficiency
    if efficiency is None or efficiency > 0.75:
        return
    scale = efficiency
    branches = top_lines(counts.lines, lambda line: float(line.divergent_branches))
    idle = top_lines(counts.lines, lambda line: float(LANES * line.warp_instructions - line.thread_instructions))
    divergent = counts.divergent_branches > 0
    yield Found(
        "divergent_branches" if divergent else "low_lane_efficiency",
        f"only {efficiency * LANES:.1f} of 32 lanes are active per instruction"
        + (f"; {counts.divergent_branches} of {counts.branches} branches diverge" if divergent else ""),
        "active_lanes_mean",
        efficiency * LANES,
        "make the condition uniform within each warp, and choose a block size that is a multiple of 32",
        branches if divergent else idle,
        _scaled(counts, scale),
    )


def _scaled(counts: KernelCounts, factor: float) -> KernelCounts:
    mix = {name: int(number * factor) for name, number in counts.mix.items()}
    fewer = int(counts.warp_instructions * factor)
    return counts.model_copy(update={"mix": mix, "warp_instructions": fewer})


def _occupancy(kernel: ModelledKernel, device: Device) -> Iterator[Found]:
    fit = kernel.occupancy
    counts = kernel.counts
    if fit is None or fit.fraction > 0.5 or counts.blocks < device.sm_count:
        return
    remedy = {
        "registers": "reduce registers per thread (__launch_bounds__, fewer live values, less unrolling)",
        "shared_memory": "use less shared memory per block, or larger blocks that share it",
        "blocks": "use larger blocks: the number of blocks per SM is exhausted before its warps",
        "warps": "choose a block size that divides the SM's warps",
    }[fit.limiter]
    by = {
        "registers": f"{kernel.resources.registers} registers a thread" if kernel.resources else "registers",
        "shared_memory": "shared memory per block",
        "blocks": f"blocks of only {fit.block_threads} threads",
        "warps": f"blocks of {fit.block_threads} threads",
    }[fit.limiter]
    yield Found(
        "low_occupancy",
        f"only {fit.warps_per_sm} of {device.warps_per_sm} warps fit on an SM, limited by {by}",
        "occupancy",
        fit.fraction,
        remedy,
        (),
        counts,
        device.warps_per_sm,
    )


def _small_grid(kernel: ModelledKernel, device: Device) -> Iterator[Found]:
    counts = kernel.counts
    rounds = math.ceil(counts.blocks / device.sm_count)
    used = counts.blocks / (rounds * device.sm_count)
    if used > 0.7:
        return
    small = counts.blocks < device.sm_count
    mended = counts.model_copy(
        update={"grid": (rounds * device.sm_count, 1, 1), "block": (max(LANES, int(counts.block_threads * used)), 1, 1)}
    )
    yield Found(
        "small_grid" if small else "tail",
        f"{counts.blocks} blocks for {device.sm_count} SMs: {(1 - used) * 100:.0f} % of the SM time is idle",
        "sm_use",
        used,
        "spread the work over more, smaller blocks (split the longest loop over blocks where the rows are few)",
        (),
        mended,
    )


def _double(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    fp64 = counts.mix.get("fp64", 0)
    if not fp64:
        return
    mix = {**counts.mix, "fp64": 0, "fp32": counts.mix.get("fp32", 0) + fp64}
    yield Found(
        "double_precision",
        f"{fp64} warp instructions in double precision ({fp64 * 100 / max(1, counts.warp_instructions):.0f} %)",
        "fp64_instructions",
        float(fp64),
        "write float literals with f (2.0f) and call the float functions, unless double is asked for",
        (),
        counts.model_copy(update={"mix": mix}),
    )


def _barriers(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    if not counts.barriers or counts.barriers < 0.05 * counts.warp_instructions:
        return
    yield Found(
        "barrier_heavy",
        f"one barrier per {counts.warp_instructions / counts.barriers:.0f} warp instructions",
        "instructions_per_barrier",
        counts.warp_instructions / counts.barriers,
        "do more work between barriers, or use warp shuffles for the last 32 elements",
        top_lines(counts.lines, lambda line: float(line.barriers)),
        counts.model_copy(update={"barriers": 0}),
    )


EXECUTION_RULES: Final = (_lanes, _occupancy, _small_grid, _double, _barriers)
