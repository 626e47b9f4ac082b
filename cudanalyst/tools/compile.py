"""`compile`: real nvcc for a named architecture, diagnostics and resource use as data."""

from typing import TYPE_CHECKING, Final, Literal

from cudanalyst.kernels.problem import Problem
from cudanalyst.kernels.signature import c_signature
from cudanalyst.tools.result import Place, ToolResult, Truncation
from cudanalyst.tools.source import Source
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.text import at, count_of, one_line
from cudanalyst.values import Frozen

if TYPE_CHECKING:  # the protocol's models hold diagnostics, so it imports this module
    from cudanalyst.tools.toolchain.protocol import Build, Toolchain

MAX_SHOWN: Final = 40
"""Diagnostics in a result; errors first."""
MAX_KERNELS: Final = 40
NO_SOLVE: Final = (
    'the candidate does not export `solve`: define extern "C" int solve(<the problem\'s parameters>, cudaStream_t stream), '
    "not static, and return 0"
)
"""What a toolchain says of a candidate without `solve`; `compile_source` puts in the problem's signature."""
_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


class Diagnostic(Frozen):
    """One message of nvcc, the host compiler, ptxas or the linker."""

    severity: Literal["error", "warning", "note"]
    text: str
    place: Place = Place()
    code: str | None = None
    """For instance `20-D`, or None."""
    origin: Literal["nvcc", "host", "ptxas", "linker"] = "nvcc"


class Occupancy(Frozen):
    """Theoretical occupancy of one kernel for a block size on an architecture."""

    block_threads: int
    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limiter: Literal["warps", "blocks", "registers", "shared_memory"]


class KernelResources(Frozen):
    """What ptxas says of one kernel."""

    name: str
    """Demangled."""
    symbol: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    constant_bytes: int
    barriers: int
    uses_double: bool = False
    occupancy: tuple[Occupancy, ...] = ()
    """For the block size that `__launch_bounds__` states, else for 128, 256, 512 and 1024 threads."""


class CompileResult(ToolResult):
    """What compiling one source gave."""

    status: Literal["compiled", "failed", "timed_out", "unavailable", "running"]
    candidate: str | None = None
    """Handle of the source for later calls."""
    arch: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    kernels: tuple[KernelResources, ...] = ()
    truncated: Truncation | None = None


async def compile_source(source: Source, problem: Problem | None, toolchain: "Toolchain") -> CompileResult:
    """Compiles a source and says what came of it.

    Args:
        source: A candidate or a program.
        problem: Of a candidate, for the signature that it should have; may be None.
        toolchain: Where to compile.

    Raises:
        BadRequest: A flag or the architecture is not allowed, or the source is too long.
    """
    watch = Stopwatch()
    build = await toolchain.build(source)
    diagnostics = sorted((_for_problem(d, problem) for d in build.diagnostics), key=lambda d: _ORDER[d.severity])
    shown, total = tuple(diagnostics[:MAX_SHOWN]), len(diagnostics)
    return CompileResult(
        status=build.status,
        summary=_summary(build, diagnostics),
        measured_on=build.measured_on,
        duration_s=watch.elapsed_s,
        reason=build.reason,
        candidate=source.id,
        arch=build.measured_on.versions.get("arch", source.options.arch),
        diagnostics=shown,
        kernels=build.kernels[:MAX_KERNELS],
        truncated=Truncation(shown=len(shown), total=total) if total > len(shown) else None,
        cached=build.cached,
    )


def _for_problem(diagnostic: Diagnostic, problem: Problem | None) -> Diagnostic:
    if problem is None or diagnostic.text != NO_SOLVE:
        return diagnostic
    text = f"the candidate does not export `solve`: define {c_signature(problem)}, not static, and return 0"
    return diagnostic.model_copy(update={"text": text})


def _summary(build: "Build", diagnostics: list[Diagnostic]) -> str:
    if build.status in {"unavailable", "timed_out"}:
        return f"Not compiled: {one_line(build.reason or 'no reason was given')}"
    errors = [d for d in diagnostics if d.severity == "error"]
    if build.status == "failed":
        if not errors:
            return "Does not compile; the compiler gave no error message."
        first = errors[0]
        more = f" ({count_of(len(errors) - 1, 'more error')})" if len(errors) > 1 else ""
        return f"Does not compile: {one_line(first.text)}{at(first.place.file, first.place.line)}{more}. Fix the first error first."
    parts = [f"Compiled {count_of(len(build.kernels), 'kernel')}."]
    parts += [sentence for kernel in build.kernels[:MAX_KERNELS] if (sentence := _concern(kernel))][:3]
    if warnings := sum(d.severity == "warning" for d in diagnostics):
        parts.append(f"{count_of(warnings, 'warning')}.")
    return " ".join(parts)


def _concern(kernel: KernelResources) -> str | None:
    """What of a kernel's resources costs time or keeps it from running."""
    name = one_line(kernel.name, 80)
    if kernel.occupancy and all(row.blocks_per_sm == 0 for row in kernel.occupancy):
        return f"{name} cannot be launched: one block needs more {kernel.occupancy[0].limiter.replace('_', ' ')} than there is."
    if kernel.spill_store_bytes or kernel.spill_load_bytes:
        spills = f"{kernel.spill_store_bytes} B stored and {kernel.spill_load_bytes} B loaded"
        return f"{name} spills registers ({spills} a thread at {kernel.registers} registers)."
    if kernel.stack_bytes:
        return (
            f"{name} keeps {kernel.stack_bytes} B a thread in local memory (an array indexed by a variable, or a call)."
        )
    if kernel.uses_double:
        return f"{name} computes in double precision."
    return None
