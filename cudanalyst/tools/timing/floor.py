"""The least time that work can take, from rates measured on the device or stated by its vendor. Below it, something else was done.

Warm calls find their data in the L2 where all buffer sets fit; cold ones read everything from DRAM, but may leave their outputs in the L2 as
dirty lines. Flops count at the fastest type that could give the accuracy asked for: for f32 that is the tensor cores' TF32 rate,
since split products reach f32 accuracy on them.
"""

from dataclasses import dataclass
from typing import Final

from cudanalyst.kernels.dtypes import NUMPY
from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.inputs import nbytes_of
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.timing.models import Floor, TimingMode

SHARE: Final = 0.85
"""Times below this share of the floor are suspicious: measured rates are a few per cent off, and an eighth of the lines may survive a flush."""
FLOPS_PER_CYCLE_AND_SM: Final[dict[tuple[int, int], dict[str, float]]] = {
    (8, 0): {"f16": 2048, "f32": 1024, "f64": 128},
    (8, 6): {"f16": 1024, "f32": 512, "f64": 4},
    (8, 9): {"f16": 1024, "f32": 512, "f64": 4},
    (9, 0): {"f16": 4096, "f32": 2048, "f64": 256},
}
"""Dense tensor-core peaks by compute capability (NVIDIA's architecture white papers); 8-bit types count twice f16."""


@dataclass(frozen=True)
class Rates:
    """What the device can do at most."""

    dram_gb_per_s: float | None = None
    """Measured by reading."""
    l2_gb_per_s: float | None = None
    l2_bytes: int = 0
    capability: tuple[int, int] | None = None
    sm_count: int = 0
    clock_mhz: float | None = None


def floor_of(problem: Problem, sizes: SizeSet, mode: TimingMode, rates: Rates, sets: int) -> Floor | None:
    """The larger of the times that bytes and flops need at least; None where no rate is known."""
    floors = [
        one for one in (_bytes_floor(problem, sizes, mode, rates, sets), _flops_floor(problem, sizes, rates)) if one
    ]
    return max(floors, key=lambda one: one.us, default=None)


def _bytes_floor(problem: Problem, sizes: SizeSet, mode: TimingMode, rates: Rates, sets: int) -> Floor | None:
    moved = float(evaluate(problem.work.bytes_moved, sizes))
    if mode == "warm":
        footprint = sets * sum(nbytes_of(item, sizes) for item in problem.parameters if item.role != "scalar")
        if footprint <= rates.l2_bytes and rates.l2_gb_per_s:
            return Floor(us=moved / (rates.l2_gb_per_s * 1e3), bound="l2")
        # What of the sets stays in the L2 need not be fetched again.
        moved *= max(0.0, 1.0 - rates.l2_bytes / footprint) if footprint else 0.0
    else:
        written = sum(nbytes_of(item, sizes) for item in problem.parameters if item.role == "out")
        moved = max(0.0, moved - min(written, rates.l2_bytes))
    return Floor(us=moved / (rates.dram_gb_per_s * 1e3), bound="dram") if rates.dram_gb_per_s else None


def _flops_floor(problem: Problem, sizes: SizeSet, rates: Rates) -> Floor | None:
    flops = float(evaluate(problem.work.flops, sizes))
    peaks = FLOPS_PER_CYCLE_AND_SM.get(rates.capability) if rates.capability else None
    if not flops or peaks is None or not rates.clock_mhz or not rates.sm_count:
        return None
    widths = [NUMPY[item.dtype].itemsize for item in problem.parameters if item.role in {"in", "inout"}]
    narrowest = min(widths, default=4)
    rate = 2 * peaks["f16"] if narrowest == 1 else peaks[{2: "f16", 4: "f32"}.get(narrowest, "f64")]
    return Floor(us=flops / (rate * rates.sm_count * rates.clock_mhz), bound="flops")


def below(us: float, floor: Floor | None) -> bool:
    """Whether a time is not physically possible."""
    return floor is not None and us < SHARE * floor.us
