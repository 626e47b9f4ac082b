"""The compiler's evidence: messages, and what ptxas says of each kernel."""

from collections.abc import Iterator, Sequence
from typing import Final

from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.placebo import placebo
from cudanalyst.resources.render.text import at, build, number
from cudanalyst.tools.compile import CompileResult, Diagnostic, KernelResources
from cudanalyst.tools.text import many

_SEVERITY: Final = {"error": 0, "warning": 1, "note": 2}


def render_compiler(candidate: str, result: CompileResult) -> Evidence:
    """Errors first, then warnings, then resources with what to do about spills and double precision."""
    if result.status in {"unavailable", "running"}:
        return placebo("compiler", candidate)
    messages = [_message(group) for group in sorted(_groups(result.diagnostics), key=_place)]
    if result.status == "timed_out":
        messages.insert(
            0, "error compile_timed_out: compiling took longer than allowed; make templates and unrolling smaller"
        )
    kernels = sorted(result.kernels, key=lambda kernel: (kernel.name, kernel.symbol, *_kernel(kernel)))
    statements = [*messages, *(text for kernel in kernels for text in _kernel(kernel))]
    errors = sum(diagnostic.severity == "error" for diagnostic in result.diagnostics)
    warnings = sum(diagnostic.severity == "warning" for diagnostic in result.diagnostics)
    heading = f"compiler: {many(errors, 'error')}, {many(warnings, 'warning')}, {many(len(kernels), 'kernel')}"
    if result.arch is not None:
        heading += f" for {result.arch}"
    if not statements:
        statements = ["no message and no kernel: the source defines nothing that runs on the device"]
    left_out = 0 if result.truncated is None else result.truncated.total - result.truncated.shown
    return build("compiler", candidate, heading, statements, total=len(statements) + left_out)


def _groups(diagnostics: Sequence[Diagnostic]) -> Iterator[tuple[Diagnostic, ...]]:
    """Each message with the notes that follow it: a note means nothing alone."""
    group: list[Diagnostic] = []
    for diagnostic in diagnostics:
        if diagnostic.severity != "note" and group:
            yield tuple(group)
            group = []
        group.append(diagnostic)
    if group:
        yield tuple(group)


def _place(group: tuple[Diagnostic, ...]) -> tuple[int, str, int, int, str]:
    first = group[0]
    place = first.place
    return (_SEVERITY[first.severity], place.file or "", place.line or 0, place.column or 0, _message(group))


def _message(group: tuple[Diagnostic, ...]) -> str:
    parts = []
    for diagnostic in group:
        place = diagnostic.place
        where = at(place.file, place.line, place.column)
        code = "" if diagnostic.code is None else f" {diagnostic.code}"
        parts.append(
            f"{diagnostic.severity}{code}{f' at {where}' if where else ''} ({diagnostic.origin}): {diagnostic.text}"
        )
    return "; ".join(parts)


def _kernel(kernel: KernelResources) -> Iterator[str]:
    spilled = kernel.spill_store_bytes + kernel.spill_load_bytes
    if spilled:
        yield (
            f"register_spill in {kernel.name}: {kernel.spill_store_bytes} bytes stored and {kernel.spill_load_bytes} loaded per "
            f"thread at {kernel.registers} registers; keep fewer values alive, unroll less, or allow more registers with "
            "__launch_bounds__"
        )
    if kernel.uses_double:
        yield (
            f"double_precision in {kernel.name}: it computes in double; write float literals with an f suffix and call the "
            "float functions unless double is meant"
        )
    yield (
        f"resources of {kernel.name}: {kernel.registers} registers, {kernel.shared_bytes} bytes shared, {kernel.stack_bytes} "
        f"bytes stack, {kernel.constant_bytes} bytes constant, {many(kernel.barriers, 'barrier')}{_occupancy(kernel)}"
    )


def _occupancy(kernel: KernelResources) -> str:
    rows = [
        f"{number(100 * row.fraction)} % at {row.block_threads} threads (limited by {row.limiter})"
        for row in sorted(kernel.occupancy, key=lambda row: row.block_threads)
    ]
    return f"; occupancy {', '.join(rows)}" if rows else ""
