"""What `analyze` says: facts and suspicions about a source, as data."""

from typing import Literal

from cudanalyst.tools.result import Place
from cudanalyst.values import Frozen

Stride = Literal["unit", "strided", "broadcast", "unknown"]


class GlobalAccess(Frozen):
    """One read or write of global memory and how its index depends on `threadIdx.x`."""

    expression: str
    place: Place
    kind: Literal["read", "write", "atomic"]
    stride: Stride
    stride_elements: str | None = None
    """The stride between neighbouring threads, an expression, where `strided`."""


class Loop(Frozen):
    """A loop and how deep it lies."""

    place: Place
    depth: int
    kind: Literal["for", "while", "do"]
    unrolled: bool = False


class SharedArray(Frozen):
    """A `__shared__` declaration."""

    name: str
    place: Place
    type: str
    extents: tuple[str, ...] = ()
    dynamic: bool = False


class KernelFacts(Frozen):
    """What the syntax tree says of one `__global__` function."""

    name: str
    place: Place
    parameters: tuple[str, ...] = ()
    launch_bounds: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    shared: tuple[SharedArray, ...] = ()
    loops: tuple[Loop, ...] = ()
    barriers: tuple[Place, ...] = ()
    atomics: tuple[Place, ...] = ()
    vector_accesses: tuple[Place, ...] = ()
    accesses: tuple[GlobalAccess, ...] = ()


class Launch(Frozen):
    """A `kernel<<<grid, block, ...>>>(...)`."""

    kernel: str
    place: Place
    grid: str
    block: str
    shared_bytes: str | None = None
    stream: str | None = None


class Suspicion(Frozen):
    """A spot that an expert would mark; it may be right all the same."""

    kind: str
    """Stable code: `divergent_barrier`, `missing_bounds_guard`, `shared_bank_conflict`,
    `uncoalesced_access`, `missing_restrict`, ..."""
    place: Place
    kernel: str | None
    message: str
    remedy: str
    confidence: Literal["high", "medium", "low"]
