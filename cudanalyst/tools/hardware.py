"""What hardware counters say of a kernel: one stable model, whatever version of Nsight Compute they were read with.

`None` is not measured: the metric set did not ask for it, or the device refused or could not count it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from pydantic import ValidationError

from cudanalyst.values import Frozen

RECORD: Final = "hardware"
"""`type` of a report's records that hold a `HardwareKernel`."""


Operation = Literal["load", "store", "atomic", "reduction", "all"]
Limiter = Literal["warps", "blocks", "registers", "shared_memory", "barriers"]


class RooflinePoint(Frozen):
    """Where a kernel stands under its two ceilings."""

    flops: float | None = None
    """Operations of one run of all launches, from instruction counters; matrix instructions included where their form is known."""
    dram_bytes: float | None = None
    flops_per_byte: float | None = None
    tflops: float | None = None
    """1e12 operations per second reached."""
    dram_gb_per_s: float | None = None
    """1e9 bytes per second reached."""
    ceiling_tflops: float | None = None
    """FP32 multiply-adds at the clock of the run."""
    ceiling_dram_gb_per_s: float | None = None
    """At the memory clock of the run."""


class MeasuredOccupancy(Frozen):
    """Warps on the multiprocessors, of the most that they hold."""

    theoretical: float | None = None
    achieved: float | None = None
    limiter: Limiter | None = None
    waves: float | None = None
    """Rounds of blocks that the grid takes."""


class MemoryRow(Frozen):
    """One row of the memory table: a path, and what went through it."""

    path: Literal["global", "local", "shared", "l1", "l2", "dram"]
    operation: Operation
    requests: float | None = None
    sectors: float | None = None
    """32-byte sectors; wavefronts for shared memory."""
    sectors_per_request: float | None = None
    hit_rate: float | None = None
    bytes: float | None = None
    bank_conflicts: float | None = None


class MeasuredLine(Frozen):
    """One source line by counters of its instructions."""

    file: str | None
    line: int | None
    samples: int | None = None
    """Warp samples that were at this line."""
    share: float | None = None
    """Of the kernel's samples."""
    stalls: dict[str, float] = {}
    """Largest reasons to wait here, each as a share of the line's samples."""
    warp_instructions: int | None = None
    lanes: float | None = None
    """Mean lanes active per warp instruction."""
    global_requests: int | None = None
    global_sectors: int | None = None
    global_sectors_ideal: int | None = None
    shared_wavefronts: int | None = None
    shared_wavefronts_ideal: int | None = None
    local_accesses: int | None = None
    """Warp accesses to local memory: spills, and arrays indexed by a variable."""
    atomics: int | None = None


class ToolRule(Frozen):
    """What one of Nsight Compute's own rules says; only of the metric set `full`."""

    rule: str
    title: str
    message: str
    estimated_speedup_percent: float | None = None
    scope: Literal["kernel", "unit"] | None = None
    """Whether the speedup is of the kernel, or of the unit that it speaks of."""


class HardwareKernel(Frozen):
    """One kernel in one launch shape, over the launches that were profiled."""

    name: str
    symbol: str | None = None
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_us: float | None = None
    """All launches together, under the profiler, caches flushed before each. Not a benchmark time."""
    sm_ghz: float | None = None
    sol: dict[str, float] = {}
    """Share of the speed of light by unit: how much of the time each was busy, 0 to 1."""
    roofline: RooflinePoint | None = None
    occupancy: MeasuredOccupancy | None = None
    stalls: dict[str, float] = {}
    """What warps were doing or waiting for, as shares of all samples."""
    samples: int | None = None
    memory: tuple[MemoryRow, ...] = ()
    instruction_mix: dict[str, int] = {}
    """Warp instructions by class."""
    warp_instructions: int | None = None
    lanes: float | None = None
    """Mean lanes active per warp instruction, of 32."""
    eligible_warps: float | None = None
    """Warps per scheduler and cycle that could issue."""
    sm_busy: float | None = None
    """Share of the time that the mean multiprocessor had work."""
    registers: int | None = None
    shared_bytes: int | None = None
    """Per block, static and dynamic."""
    sm_count: int | None = None
    tensor: dict[str, int] = {}
    """Matrix instructions executed by form, e.g. `HMMA.16816.F32`."""
    tensor_instructions: int | None = None
    flops_by_type: dict[str, float] = {}
    lines: tuple[MeasuredLine, ...] = ()
    rules: tuple[ToolRule, ...] = ()
    passes: int | None = None
    """Replays of one launch that the counters took."""
    reader: str | None = None
    """What read the report."""

    @property
    def blocks(self) -> int:
        """Blocks of one launch."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def busiest(self) -> tuple[str, float] | None:
        """The unit with the largest share of the speed of light."""
        return max(self.sol.items(), key=lambda item: item[1], default=None)


def to_records(kernels: Iterable[HardwareKernel]) -> tuple[dict[str, Any], ...]:
    """Records for an execution's report."""
    return tuple({"type": RECORD, **kernel.model_dump(mode="json")} for kernel in kernels)


def from_records(report: Iterable[Mapping[str, Any]]) -> tuple[HardwareKernel, ...]:
    """The hardware kernels of a report, the longest first; malformed ones are left out."""
    found = []
    for record in report:
        if record.get("type") == RECORD:
            try:
                found.append(
                    HardwareKernel.model_validate({key: value for key, value in record.items() if key != "type"})
                )
            except ValidationError:
                continue
    return tuple(sorted(found, key=lambda kernel: -(kernel.duration_us or 0.0)))
