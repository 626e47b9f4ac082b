"""The analyzer's evidence: suspicious spots, then the structure of each kernel."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.placebo import placebo
from cudanalyst.resources.render.text import at, build, number
from cudanalyst.tools.analyze import AnalyzeResult, KernelFacts, Launch, Suspicion
from cudanalyst.tools.result import Place
from cudanalyst.tools.text import many

_CONFIDENCE: Final = {"high": 0, "medium": 1, "low": 2}
_MAX_ACCESSES: Final = 8
_MAX_UNPARSED: Final = 4


def render_analyzer(candidate: str, result: AnalyzeResult) -> Evidence:
    """Suspicions by confidence, then facts. What ptxas saw belongs to the compiler and stays out."""
    if result.status in {"not_parsed", "unavailable", "running"}:
        return placebo("analyzer", candidate)
    suspicions = sorted(result.suspicions, key=_rank)
    kernels = sorted(result.kernels, key=lambda kernel: (*_position(kernel.place), kernel.name, *_kernel(kernel)))
    statements = [_unparsed(first, last) for first, last in result.error_ranges[:_MAX_UNPARSED]]
    statements += [_suspicion(suspicion) for suspicion in suspicions]
    for kernel in kernels:
        statements += _kernel(kernel)
    statements += sorted(_launch(launch) for launch in result.launches)
    heading = f"analyzer: {many(len(suspicions), 'suspicious spot')} in {many(len(kernels), 'kernel')}"
    if result.parse_confidence is not None:
        heading += f"; {number(100 * result.parse_confidence)} % of the source was understood"
    if not statements:
        statements = ["no kernel and no launch in this source"]
    left_out = 0 if result.truncated is None else result.truncated.total - result.truncated.shown
    return build("analyzer", candidate, heading, statements, total=len(statements) + left_out)


def _unparsed(first: int, last: int) -> str:
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"syntax_error at {lines}: could not be parsed; look for a missing bracket, semicolon or operator there or just before."


def _rank(suspicion: Suspicion) -> tuple[int, int, int, str, str]:
    line, column = _position(suspicion.place)
    return (_CONFIDENCE[suspicion.confidence], line, column, suspicion.kind, _suspicion(suspicion))


def _position(place: Place) -> tuple[int, int]:
    return (place.line or 0, place.column or 0)


def _where(place: Place) -> str:
    return at(place.file, place.line, place.column)


def _suspicion(suspicion: Suspicion) -> str:
    where = _where(suspicion.place)
    kernel = f" in {suspicion.kernel}" if suspicion.kernel is not None else ""
    return (
        f"{suspicion.kind}{f' at {where}' if where else ''}{kernel} ({suspicion.confidence} confidence): {suspicion.message} "
        f"Remedy: {suspicion.remedy}"
    )


def _kernel(kernel: KernelFacts) -> Iterator[str]:
    parts = [f"kernel {kernel.name} at {_where(kernel.place)}"]
    if kernel.launch_bounds:
        parts.append(f"launch bounds {', '.join(kernel.launch_bounds)}")
    if kernel.loops:
        deepest = 1 + max(loop.depth for loop in kernel.loops)
        parts.append(
            f"{many(len(kernel.loops), 'loop')} nested {deepest} deep at {_lines(loop.place for loop in kernel.loops)}"
        )
    for name, places in (
        ("barrier", kernel.barriers),
        ("atomic", kernel.atomics),
        ("vector access", kernel.vector_accesses),
    ):
        if places:
            parts.append(f"{many(len(places), name)} at {_lines(iter(places))}")
    for array in kernel.shared:
        extents = "".join(f"[{extent}]" for extent in array.extents)
        parts.append(f"shared {array.type} {array.name}{extents}{' (dynamic)' if array.dynamic else ''}")
    yield "; ".join(parts)
    if kernel.accesses:
        yield _accesses(kernel)


def _accesses(kernel: KernelFacts) -> str:
    """Unit-stride accesses are counted only; the others are worth a line each."""
    counts = Counter(access.stride for access in kernel.accesses)
    summary = ", ".join(
        f"{counts[stride]} {stride}" for stride in ("unit", "broadcast", "strided", "unknown") if counts[stride]
    )
    odd = sorted(
        (access for access in kernel.accesses if access.stride in {"strided", "unknown"}),
        key=lambda access: (*_position(access.place), access.expression),
    )
    shown = [
        f"{access.kind} {access.expression} at {_where(access.place)} "
        + (f"with stride {access.stride_elements or 'not known'}" if access.stride == "strided" else "unknown")
        for access in odd[:_MAX_ACCESSES]
    ]
    more = f", and {len(odd) - _MAX_ACCESSES} more" if len(odd) > _MAX_ACCESSES else ""
    return f"global accesses of {kernel.name} by threadIdx.x: {summary}" + (
        f": {'; '.join(shown)}{more}" if shown else ""
    )


def _lines(places: Iterator[Place]) -> str:
    lines = sorted({place.line for place in places if place.line is not None})
    return f"line{'' if len(lines) == 1 else 's'} {', '.join(map(str, lines))}"


def _launch(launch: Launch) -> str:
    shared = f", {launch.shared_bytes} bytes shared" if launch.shared_bytes is not None else ""
    return f"launch of {launch.kernel} at {_where(launch.place)}: grid {launch.grid}, block {launch.block}{shared}"
