"""Rules on hardware counters of execution: lanes, occupancy, grid, precision, waiting."""

from collections.abc import Iterator
from typing import Final

from cudanalyst.tools.counter_gain import (
    BUSY,
    LANES,
    PIPES,
    Found,
    is_brief,
    stalled_samples,
    top_lines,
    with_less,
    without_wait,
)
from cudanalyst.tools.hardware import HardwareKernel, MeasuredLine


def _lanes(kernel: HardwareKernel) -> Iterator[Found]:
    if kernel.lanes is None or kernel.lanes > 0.75 * LANES:
        return
    factor = kernel.lanes / LANES
    units = {str(unit): factor for unit in ("issue", *PIPES)}

    def idle(line: MeasuredLine) -> float:
        return (line.warp_instructions or 0) * (LANES - (line.lanes if line.lanes is not None else LANES))

    yield Found(
        "low_lane_efficiency",
        f"only {kernel.lanes:.1f} of 32 lanes are active per instruction",
        "active_lanes_mean",
        kernel.lanes,
        "make the condition uniform within each warp, and choose a block size that is a multiple of 32",
        with_less(kernel, units),
        top_lines(kernel, idle),
    )


def _occupancy(kernel: HardwareKernel) -> Iterator[Found]:
    fit = kernel.occupancy
    if fit is None or fit.theoretical is None or fit.theoretical > 0.5 or max(kernel.sol.values(), default=1.0) >= BUSY:
        return
    if kernel.sm_count and kernel.blocks < kernel.sm_count:
        return
    remedy = {
        "registers": "reduce registers per thread (__launch_bounds__, fewer live values, less unrolling)",
        "shared_memory": "use less shared memory per block, or larger blocks that share it",
        "blocks": "use larger blocks: the number of blocks per SM is exhausted before its warps",
        "barriers": "use fewer named barriers per block",
        "warps": "choose a block size that divides the SM's warps",
    }[fit.limiter or "warps"]
    yield Found(
        "low_occupancy",
        f"only {fit.theoretical:.0%} of an SM's warps fit, limited by {(fit.limiter or 'warps').replace('_', ' ')}, and no unit is busy",
        "occupancy",
        fit.theoretical,
        remedy,
        without_wait(kernel, 1.0 - fit.theoretical),
    )


def _idle_processors(kernel: HardwareKernel) -> Iterator[Found]:
    if kernel.sm_busy is None or kernel.sm_busy > 0.8 or not kernel.sm_count:
        return
    small = kernel.blocks < kernel.sm_count
    if not small and is_brief(kernel):
        return  # its start and end, not its blocks, leave the multiprocessors idle
    yield Found(
        "small_grid" if small else "tail",
        f"{kernel.blocks} blocks for {kernel.sm_count} SMs: {(1 - kernel.sm_busy) * 100:.0f} % of the SM time is idle",
        "sm_use",
        kernel.sm_busy,
        "spread the work over more, smaller blocks (split the longest loop over blocks where the rows are few)",
        1.0 / max(kernel.sm_busy, 0.1),
    )


def _double(kernel: HardwareKernel) -> Iterator[Found]:
    fp64 = kernel.flops_by_type.get("fp64", 0.0)
    if not fp64:
        return
    share = fp64 / sum(kernel.flops_by_type.values())
    yield Found(
        "double_precision",
        f"{share:.0%} of the operations are in double precision",
        "fp64_operations",
        fp64,
        "write float literals with f (2.0f) and call the float functions, unless double is asked for",
        with_less(kernel, {"fp64": 0.0}),
    )


def _waits(kernel: HardwareKernel) -> Iterator[Found]:
    barrier = kernel.stalls.get("barrier", 0.0)
    if barrier >= 0.15:
        yield Found(
            "barrier_heavy",
            f"warps wait at barriers in {barrier:.0%} of all samples",
            "barrier_stall_share",
            barrier,
            "do more work between barriers, use smaller blocks, or warp shuffles for the last 32 elements",
            without_wait(kernel, barrier),
            top_lines(kernel, lambda line: stalled_samples(line, "barrier")),
        )
    latency = kernel.stalls.get("global_memory_latency", 0.0)
    if latency >= 0.3 and max(kernel.sol.values(), default=1.0) < BUSY:
        yield Found(
            "memory_latency",
            f"warps wait for global memory in {latency:.0%} of all samples, and no unit is busy: too few loads are in flight",
            "memory_latency_share",
            latency,
            "issue several independent loads before the first use (unroll, float4, cp.async), or raise the occupancy",
            without_wait(kernel, latency),
            top_lines(kernel, lambda line: stalled_samples(line, "global_memory_latency")),
        )


EXECUTION_RULES: Final = (_lanes, _occupancy, _idle_processors, _double, _waits)
