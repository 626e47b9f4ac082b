"""What `profile` says of a kernel: one module apart, since the insights speak of it too."""

from typing import Literal

from cudanalyst.tools.compile import Occupancy
from cudanalyst.tools.hardware import MeasuredOccupancy, MemoryRow, RooflinePoint, ToolRule
from cudanalyst.values import Frozen

Bound = Literal[
    "dram",
    "l2",
    "l1",
    "shared_memory",
    "fp32",
    "fp64",
    "fp16",
    "tensor",
    "integer",
    "special_function",
    "conversion",
    "shuffle",
    "atomic",
    "issue",
    "latency",
    "tail",
    "launch",
]
"""The resource whose modelled time is longest; `latency`: too few warps to hide it; `tail`: SMs without blocks."""


class LineProfile(Frozen):
    """Counts at one source line, summed over all warps of all launches of a kernel."""

    file: str | None
    line: int | None
    warp_instructions: int
    active_lanes_mean: float | None = None
    """Mean lanes active per warp instruction, of 32."""
    global_requests: int = 0
    global_sectors: int = 0
    """32-byte sectors."""
    shared_requests: int = 0
    shared_wavefronts: int = 0
    bank_conflicts: int = 0
    """Wavefronts beyond the least that the request needs."""
    atomics: int = 0
    divergent_branches: int = 0
    barriers: int = 0
    samples: int | None = None
    """Warp samples taken at this line; hardware only, as all that follows."""
    sample_share: float | None = None
    """Of the kernel's samples."""
    stalls: dict[str, float] = {}
    """What warps at this line wait for, largest first, as shares of its samples."""
    local_accesses: int | None = None


class ModelledTime(Frozen):
    """A kernel's time on a device that it did not run on: from its machine code, and the engine's counts. Never a measurement."""

    us: float
    """All launches together, back to back: the L2 holds what fits of the kernel's data."""
    bound: str
    """What it is bound by: `dram`, `l2`, `atomic`, a unit of the multiprocessor, `latency`, or `launch`."""
    parts_us: dict[str, float]
    """What each bound alone would take; `sm`: the multiprocessors as simulated."""
    waits: dict[str, float] = {}
    """What simulated warps wait for, as shares of their time."""
    resident_warps: int
    """On a multiprocessor."""
    error: str
    """How far such times were off where they were measured."""


class KernelProfile(Frozen):
    """One kernel's totals: PTX-level counts on the CPU engine, counters of the machine code on a GPU."""

    name: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_instructions: int | None
    instruction_mix: dict[str, int]
    """Warp instructions by class: fp32, fp64, fp16, integer, special_function, load_global, ..."""
    lane_efficiency: float | None
    global_bytes: int | None
    """Sectors times 32."""
    sectors_per_request: float | None
    shared_conflict_ratio: float | None
    """Wavefronts over the least possible."""
    occupancy: Occupancy | None = None
    bound: Bound | None = None
    modelled_us: float | None = None
    modelled: ModelledTime | None = None
    """None on a GPU, and where there is no machine code; then `modelled_us` is from the counts alone."""
    share: float | None = None
    """Of the modelled (on a GPU: measured) time of all kernels."""
    lines: tuple[LineProfile, ...] = ()
    duration_us: float | None = None
    """Measured under the profiler, all launches together, caches flushed before each: no benchmark time. Hardware only, as all that follows."""
    sol: dict[str, float] = {}
    """Share of its peak that each unit reached: dram, l2, l1 or shared_memory, issue, fp32, tensor, ..."""
    roofline: RooflinePoint | None = None
    measured_occupancy: MeasuredOccupancy | None = None
    stalls: dict[str, float] = {}
    """What warps do or wait for, as shares of all samples."""
    memory: tuple[MemoryRow, ...] = ()
    """The memory table: requests, sectors and hit rates by path."""
    tensor: dict[str, int] = {}
    """Matrix instructions executed, by form."""
    rules: tuple[ToolRule, ...] = ()
    """What Nsight Compute's own rules say (metrics `full`)."""
    sampled_blocks: int | None = None
    """Blocks that stood for all of a launch too large to run whole; None: every block ran. CPU engine only, as the next two."""
    sampling_error: float | None = None
    """Largest relative standard error of warp instructions, global sectors and shared wavefronts that comes from it."""
    reads_sampled_results: bool = False
    """It read what a sampled launch had written in part, so what it counted may depend on data that were missing."""
    passes: int | None = None
    """Replays of a launch that the counters took."""


class Insight(Frozen):
    """What an expert would say, with its evidence."""

    kind: str
    """Stable code, e.g. `uncoalesced_global`, `shared_bank_conflict`, `low_occupancy`."""
    message: str
    kernel: str
    file: str | None = None
    lines: tuple[int, ...] = ()
    metric: str
    value: float
    remedy: str
    estimated_gain: float | None = None
    """Modelled speedup of the kernel if it were mended, e.g. 1.8."""
