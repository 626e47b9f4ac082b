"""What passes between the parent and the oracle's process: one JSON object a line each way.

The parent sends one of the requests below and gets one answer: the model that belongs to it, or `Failed`. Both ends are ours;
what a candidate wrote is only ever in the buffers that a request names.
"""

from typing import Literal

from pydantic import Field

from cudanalyst.kernels.arrays import ArraysName
from cudanalyst.kernels.inputs import PoisonPattern
from cudanalyst.kernels.problem import SizeSet
from cudanalyst.tools.verdicts import Difference, Mismatch
from cudanalyst.values import Frozen

Transport = Literal["ipc", "file"]


class BufferAt(Frozen):
    """Where a buffer lies, guard zones included: on the device (EXECUTOR.md's `share`), or in a file."""

    handle: str | None = None
    """A `cuIpcMemHandle` of the allocation, hexadecimal; None for a file."""
    offset: int = Field(default=0, ge=0)
    """Bytes from the start of the allocation to the buffer's body, behind its guard zone."""
    path: str | None = None
    """A file with the whole allocation, from its first guard zone on; made when it is missing."""


class CallContents(Frozen):
    """What the buffers of one call hold before it."""

    folder: str
    """The problem's folder."""
    sizes: SizeSet
    seed: str
    """The secret seed of `make_inputs`, hexadecimal."""
    index: int = Field(ge=0)
    """Number of the input set."""
    poison: PoisonPattern
    guard: str
    """The pattern that fills each guard zone, hexadecimal."""
    guard_bytes: int = Field(ge=0)
    buffers: dict[str, BufferAt]


class Open(Frozen):
    """Chooses arrays, device and memory; once, before anything else."""

    do: Literal["open"] = "open"
    arrays: ArraysName
    device: int = Field(default=0, ge=0)
    """Number among the devices that the process sees."""
    budget_bytes: int | None = Field(default=None, gt=0)
    """Device memory that may be taken; None: 8 GiB, or 40 % of what is free where that is less."""


class Prepare(Frozen):
    """Fills the buffers of a call: inputs, poison in outputs, guard zones."""

    do: Literal["prepare"] = "prepare"
    call: CallContents


class Examine(Frozen):
    """Compares what a call left with what it should have left."""

    do: Literal["examine"] = "examine"
    call: CallContents
    keep: bool = False
    """Whether to keep a copy of the outputs, for a later call on the same inputs."""
    against_kept: bool = False
    """Whether to look for differences from what was kept."""


class Forget(Frozen):
    """Lets go of shared memory, references and kept outputs: before the executor frees its buffers."""

    do: Literal["forget"] = "forget"


class Opened(Frozen):
    """Answer to `Open`."""

    arrays: ArraysName
    version: str
    device: str
    """Name of the device; `host` for NumPy."""
    budget_bytes: int
    duration_s: float


class Prepared(Frozen):
    """Answer to `Prepare`."""

    transport: Transport
    filled_bytes: int
    duration_s: float


class OutputSeen(Frozen):
    """One output against its reference."""

    output: str
    mismatch: Mismatch | None = None
    error_ratio: float | None = None
    never_written: bool = False
    """Whether the first wrong element still holds its poison."""


class Examined(Frozen):
    """Answer to `Examine`."""

    transport: Transport
    violation: str | None = None
    """A guard zone or an input that was written to; outputs are then not looked at."""
    outputs: tuple[OutputSeen, ...] = ()
    """In the order of `solve`, up to the first that is wrong."""
    same_as_kept: bool | None = None
    """Whether all outputs equal what was kept, to the last bit."""
    difference: Difference | None = None
    duration_s: float


class Forgotten(Frozen):
    """Answer to `Forget`."""

    duration_s: float


class Failed(Frozen):
    """The answer to a request that could not be done."""

    failed: Literal["memory", "device", "ipc", "request", "problem", "io", "internal"]
    message: str
