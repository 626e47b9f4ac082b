"""The profiler's evidence: what an expert would say first, then counts by kernel and by line."""

from collections.abc import Iterator
from typing import Final

from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.placebo import placebo
from cudanalyst.resources.render.text import at, build, number
from cudanalyst.tools.profile import Insight, KernelProfile, LineProfile, ProfileResult
from cudanalyst.tools.text import many

_SHOWN: Final = 4
_LINES: Final = 4
"""Source lines shown per kernel, the busiest."""


def render_profiler(candidate: str, result: ProfileResult) -> Evidence:
    """Insights by gain, kernels by share, lines by traffic. Registers and occupancy belong to the compiler."""
    if result.status != "profiled":
        return placebo("profiler", candidate)
    insights = sorted(result.insights, key=_rank)
    # The text itself breaks ties, so that no order of the tool's lists ever shows.
    kernels = sorted(result.kernels, key=lambda kernel: (-(kernel.share or 0.0), kernel.name, *_kernel(kernel)))
    gained = "Modelled" if result.duration_us is None else "Estimated"
    statements = [_insight(insight, gained) for insight in insights]
    for kernel in kernels:
        statements += _kernel(kernel)
    heading = f"profiler: {many(len(insights), 'insight')}, {many(len(kernels), 'kernel')}"
    if result.level is not None:
        heading += f", counted in {result.level.upper()} instructions"
    if result.modelled_us is not None:
        heading += f"; modelled {number(result.modelled_us)} us"
        heading += f" on {result.modelled_device}" if result.modelled_device is not None else ""
    if result.duration_us is not None:
        heading += f"; measured {number(result.duration_us)} us under the profiler"
    if not statements:
        statements = ["no kernel was launched"]
    left_out = 0 if result.truncated is None else result.truncated.total - result.truncated.shown
    return build("profiler", candidate, heading, statements, total=len(statements) + left_out)


def _rank(insight: Insight) -> tuple[float, str, str]:
    return (-(insight.estimated_gain or 0.0), insight.kind, _insight(insight))


def _insight(insight: Insight, gained: str = "Modelled") -> str:
    lines = ", ".join(str(line) for line in sorted(insight.lines))
    where = f" at {at(insight.file, None) or 'line'}:{lines}" if lines else ""
    gain = f" {gained} gain: {number(insight.estimated_gain)} x." if insight.estimated_gain is not None else ""
    return (
        f"{insight.kind}{where} in {insight.kernel} ({insight.metric} = {number(insight.value)}): {insight.message} "
        f"Remedy: {insight.remedy}{gain}"
    )


def _kernel(kernel: KernelProfile) -> Iterator[str]:
    parts = [f"kernel {kernel.name}: launched {many(kernel.launches, 'time')}"]
    parts.append(f"grid {kernel.grid} of blocks {kernel.block}")
    if kernel.warp_instructions is not None:
        parts[-1] += f", {kernel.warp_instructions} warp instructions"
    if kernel.bound is not None:
        parts.append(f"bound by {kernel.bound}")
    if kernel.modelled_us is not None:
        parts.append(f"modelled {number(kernel.modelled_us)} us")
        if kernel.modelled is not None:
            waits = ", ".join(f"{name} {number(100 * share)} %" for name, share in kernel.modelled.waits.items())
            parts[-1] += (
                f" from its machine code ({kernel.modelled.resident_warps} warps an SM{'; they wait for ' + waits if waits else ''})"
            )
    if kernel.share is not None:
        parts.append(
            f"{number(100 * kernel.share)} % of the {'modelled' if kernel.duration_us is None else 'measured'} time"
        )
    if kernel.global_bytes is not None:
        parts.append(f"{kernel.global_bytes} bytes of global traffic")
    parts += _measured(kernel)
    for name, value in (
        ("sectors per global request", kernel.sectors_per_request),
        ("shared wavefronts over the least", kernel.shared_conflict_ratio),
        ("lane efficiency", kernel.lane_efficiency),
    ):
        if value is not None:
            parts.append(f"{name} {number(value)}")
    mix = sorted(kernel.instruction_mix.items(), key=lambda entry: (-entry[1], entry[0]))
    if mix:
        parts.append("mix " + ", ".join(f"{name} {count}" for name, count in mix))
    yield "; ".join(parts)
    busiest = sorted(kernel.lines, key=lambda line: (_weight(line), _line(kernel, line)))[:_LINES]
    for line in busiest:
        yield _line(kernel, line)


def _measured(kernel: KernelProfile) -> Iterator[str]:
    """What only hardware counters say."""
    if kernel.duration_us is not None:
        yield f"measured {number(kernel.duration_us)} us"
    if kernel.sol:
        yield "share of peak " + ", ".join(f"{unit} {share:.0%}" for unit, share in list(kernel.sol.items())[:_SHOWN])
    if kernel.measured_occupancy is not None and kernel.measured_occupancy.achieved is not None:
        yield f"achieved occupancy {kernel.measured_occupancy.achieved:.0%}"
    if kernel.stalls:
        yield "warps: " + ", ".join(f"{reason} {share:.0%}" for reason, share in list(kernel.stalls.items())[:_SHOWN])


def _weight(line: LineProfile) -> tuple[int, int, int, int]:
    return (
        -(line.samples or 0),
        -(line.global_sectors + line.shared_wavefronts),
        -line.warp_instructions,
        line.line or 0,
    )


def _line(kernel: KernelProfile, line: LineProfile) -> str:
    parts = [f"{line.warp_instructions} warp instructions"]
    if line.sample_share is not None:
        waits = ", ".join(f"{reason} {share:.0%}" for reason, share in line.stalls.items())
        parts.append(
            f"{line.sample_share:.0%} of the samples ({waits})" if waits else f"{line.sample_share:.0%} of the samples"
        )
    if line.local_accesses:
        parts.append(f"{line.local_accesses} accesses to local memory")
    if line.global_requests:
        parts.append(f"{line.global_sectors} sectors in {many(line.global_requests, 'global request')}")
    if line.shared_requests:
        parts.append(f"{line.shared_wavefronts} wavefronts in {many(line.shared_requests, 'shared request')}")
    if line.bank_conflicts:
        parts.append(f"{line.bank_conflicts} wavefronts lost to bank conflicts")
    for name, count in (
        ("atomic", line.atomics),
        ("divergent branch", line.divergent_branches),
        ("barrier", line.barriers),
    ):
        if count:
            parts.append(f"{name} x {count}")
    if line.active_lanes_mean is not None:
        parts.append(f"{number(line.active_lanes_mean)} of 32 lanes active")
    return f"{at(line.file, line.line) or 'unknown line'} in {kernel.name}: {', '.join(parts)}"
