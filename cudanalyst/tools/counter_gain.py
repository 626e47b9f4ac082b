"""Parts of the rules on hardware counters: what bounds a kernel, and how a gain is estimated.

A gain is an estimate, never a promise. A rule says by what factor the work of each unit would shrink; a kernel whose busiest unit is busy
a share s of the time is then taken to run s / s' times as fast, where s' is the largest share after the change (the other units bound it).
Where no unit is busy, time goes by waiting: ending a wait that takes a share w of all warp samples saves at most w of the time, and no more than the
idle share of the busiest unit (as ncu's own stall rules bound it).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.hardware import HardwareKernel, MeasuredLine, MemoryRow
from cudanalyst.tools.profiles import Bound

BUSY: Final = 0.6
"""From this share of its peak on a unit bounds a kernel; below it, latency does (the threshold of ncu's own headline)."""
BRIEF_US: Final = 4.0
"""An empty kernel reads about 2 us under the profiler."""
LINES_NAMED: Final = 3
LINE_SHARE: Final = 0.1
LANES: Final = 32.0
PIPES: Final[tuple[Bound, ...]] = ("fp32", "fp64", "fp16", "tensor", "integer", "special_function")
_BOUNDS: Final[dict[str, Bound]] = {
    "dram": "dram", "l2": "l2", "l1": "l1", "shared_memory": "shared_memory", "atomic": "atomic", "issue": "issue", "fp32": "fp32",
    "fp64": "fp64", "fp16": "fp16", "tensor": "tensor", "integer": "integer", "special_function": "special_function",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One rule's word: what is wrong, where, and what ending it would gain at most."""

    kind: str
    message: str
    metric: str
    value: float
    remedy: str
    gain: float
    lines: tuple[MeasuredLine, ...] = ()
    certain: bool = field(default=False)
    """Worth saying whatever is gained: the counters show the waste."""


def busiest_unit(kernel: HardwareKernel) -> tuple[Bound, float] | None:
    """The unit with the largest share of its peak. A pipe that is nearly as busy as the issue slots is the better name for both."""
    if (top := kernel.busiest) is None:
        return None
    unit, share = top
    if unit == "issue":
        pipe = max(PIPES, key=lambda name: kernel.sol.get(name, 0.0))
        if kernel.sol.get(pipe, 0.0) >= 0.9 * share:
            return pipe, kernel.sol[pipe]
    return _BOUNDS[unit], share


def measured_bound(kernel: HardwareKernel) -> Bound | None:
    """What bounds a kernel: a busy unit, multiprocessors without blocks, or latency."""
    if (top := busiest_unit(kernel)) is None:
        return None
    if top[1] >= BUSY:
        return top[0]
    if kernel.sm_count and kernel.blocks < kernel.sm_count and (kernel.sm_busy or 0.0) < 0.7:
        return "tail"
    return "launch" if is_brief(kernel) else "latency"


def is_brief(kernel: HardwareKernel) -> bool:
    """Whether starting and ending takes most of a launch's time."""
    return kernel.duration_us is not None and kernel.duration_us < BRIEF_US * kernel.launches


def with_less(kernel: HardwareKernel, factors: Mapping[str, float]) -> float:
    """Gain when units have only a part of their work left."""
    before = max(kernel.sol.values(), default=0.0)
    after = max((share * factors.get(unit, 1.0) for unit, share in kernel.sol.items()), default=0.0)
    return max(1.0, before / after) if after else 1.0


def without_wait(kernel: HardwareKernel, share: float) -> float:
    """Most that is gained when a wait ends."""
    idle = 1.0 - max(kernel.sol.values(), default=0.0)
    return 1.0 / (1.0 - min(share, idle, 0.9))


def top_lines(kernel: HardwareKernel, weight: Callable[[MeasuredLine], float]) -> tuple[MeasuredLine, ...]:
    """The lines that carry most of a weight, heaviest first."""
    total = sum(weight(line) for line in kernel.lines)
    heavy = [line for line in kernel.lines if weight(line) > 0 and weight(line) >= LINE_SHARE * total]
    return tuple(sorted(heavy, key=lambda line: -weight(line)))[:LINES_NAMED]


def row_of(kernel: HardwareKernel, path: str, operation: str = "all") -> MemoryRow | None:
    """A row of the memory table."""
    return next((row for row in kernel.memory if row.path == path and row.operation == operation), None)


def requests_of(kernel: HardwareKernel, *paths: str) -> float:
    """Requests of all rows of some paths."""
    return sum(row.requests or 0.0 for row in kernel.memory if row.path in paths)


def stalled_samples(line: MeasuredLine, *reasons: str) -> float:
    """Samples of a line that wait for one of some reasons."""
    return (line.samples or 0) * sum(line.stalls.get(reason, 0.0) for reason in reasons)
