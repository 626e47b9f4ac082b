"""`analyze`: what the source says by itself, with tree-sitter; nothing is run."""

import time
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Literal

from cudanalyst.tools.result import MeasuredOn, ToolResult, Truncation
from cudanalyst.tools.source import Source
from cudanalyst.tools.syntax.accesses import accesses
from cudanalyst.tools.syntax.facts import kernel_facts
from cudanalyst.tools.syntax.kernels import kernel_definitions, scope_of
from cudanalyst.tools.syntax.launches import block_of, launch_sites
from cudanalyst.tools.syntax.model import (
    GlobalAccess,
    KernelFacts,
    Launch,
    Loop,
    SharedArray,
    Stride,
    Suspicion,
)
from cudanalyst.tools.syntax.names import file_names
from cudanalyst.tools.syntax.suspicions import suspicions
from cudanalyst.tools.syntax.tree import Tree, parse
from cudanalyst.tools.syntax.view import KernelView

__all__ = [
    "AnalyzeResult",
    "GlobalAccess",
    "KernelFacts",
    "Launch",
    "Loop",
    "SharedArray",
    "Stride",
    "Suspicion",
    "analyze",
]

MAX_SUSPICIONS = 20
MAX_ACCESSES = 60
MAX_KERNELS = 64
_WORTH_A_FINDING = ("high", "medium")


class AnalyzeResult(ToolResult):
    """What the source says. `findings` where a suspicion of at least medium confidence stands."""

    status: Literal["clean", "findings", "not_parsed", "unavailable", "running"]
    """`unavailable`: only where this session's randomised delivery withholds it."""
    candidate: str | None = None
    kernels: tuple[KernelFacts, ...] = ()
    launches: tuple[Launch, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    parse_confidence: float | None = None
    """Share of the source's bytes outside error nodes."""
    error_ranges: tuple[tuple[int, int], ...] = ()
    """First and last line of what could not be parsed."""
    kernels_seen_by_ptxas: tuple[str, ...] | None = None
    """None where it was not compiled; differences from `kernels` are said in the summary."""
    truncated: Truncation | None = None


def analyze(source: Source, kernels_seen_by_ptxas: Sequence[str] | None = None) -> AnalyzeResult:
    """Reads a source. Pure but for the clock; takes milliseconds for ordinary files.

    Args:
        source: A candidate or a program.
        kernels_seen_by_ptxas: Demangled names from a compile of the same source, to compare with what was read; None
            where it was not compiled.
    """
    start = time.perf_counter()
    tree = parse(source.text, f"{source.kind}.cu")
    views = _views(tree)
    found = suspicions(views)
    facts = tuple(view.facts for view in views)
    shown = found[:MAX_SUSPICIONS]
    serious = [s for s in found if s.confidence in _WORTH_A_FINDING]
    status: Literal["clean", "findings", "not_parsed"] = "findings" if serious else "clean"
    if not facts and (tree.error_ranges or not source.text.strip()):
        status = "not_parsed"
    seen = None if kernels_seen_by_ptxas is None else tuple(kernels_seen_by_ptxas)
    names = {fact.name for fact in facts}
    result = AnalyzeResult(
        status=status,
        summary=_summary(facts, found, tree, _disagreement(names, seen)),
        reason=_why_not_parsed(source, tree) if status == "not_parsed" else None,
        measured_on=MeasuredOn(toolchain="none", versions={"tree-sitter-cuda": _grammar_version()}),
        candidate=source.id,
        kernels=tuple(f.model_copy(update={"accesses": f.accesses[:MAX_ACCESSES]}) for f in facts),
        launches=tuple(site.launch for site in launch_sites(tree, file_names(tree))),
        suspicions=shown,
        parse_confidence=round(tree.confidence, 4),
        error_ranges=tree.error_ranges[:MAX_SUSPICIONS],
        kernels_seen_by_ptxas=seen,
        truncated=Truncation(shown=len(shown), total=len(found)) if len(shown) < len(found) else None,
    )
    return result.model_copy(update={"duration_s": time.perf_counter() - start})


def _views(tree: Tree) -> tuple[KernelView, ...]:
    file = file_names(tree)
    sites = launch_sites(tree, file)
    views: list[KernelView] = []
    for function in islice(kernel_definitions(tree), MAX_KERNELS):
        scope = scope_of(tree, function, file)
        found = tuple(accesses(scope))
        facts = kernel_facts(scope, found)
        launches = tuple(site for site in sites if site.launch.kernel == facts.name)
        views.append(KernelView(scope, facts, found, block_of(facts.name, sites), launches))
    return tuple(views)


def _summary(facts: tuple[KernelFacts, ...], found: tuple[Suspicion, ...], tree: Tree, disagreement: str) -> str:
    parts = [
        f"{len(facts)} kernel{'s' * (len(facts) != 1)}: {', '.join(f.name for f in facts[:5])}."
        if facts
        else "No kernel was found."
    ]
    if found:
        first = found[0]
        parts.append(
            f"{len(found)} suspicious spot{'s' * (len(found) != 1)}; first {first.kind} at line {first.place.line}: {first.message}"
        )
    elif facts:
        parts.append("Nothing suspicious.")
    if len(facts) == MAX_KERNELS:
        parts.append(f"Only the first {MAX_KERNELS} kernels were analysed.")
    if tree.error_ranges:
        lines = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in tree.error_ranges[:3])
        parts.append(
            f"Lines {lines} could not be parsed (confidence {tree.confidence:.3f}); what stands there was not analysed."
        )
    if disagreement:
        parts.append(disagreement)
    return " ".join(parts)


def _disagreement(names: set[str], seen: tuple[str, ...] | None) -> str:
    """What the compiler saw and the parser did not, and the other way round."""
    if seen is None:
        return ""
    compiled = {name.split("(")[0].split("<")[0].split("::")[-1].split()[-1] for name in seen if name.strip()}
    missed, unused = sorted(compiled - names), sorted(names - compiled)
    words = []
    if missed:
        words.append(f"The compiler saw kernels that were not found here: {', '.join(missed[:5])}.")
    if unused:
        words.append(f"Not compiled (uninstantiated templates?): {', '.join(unused[:5])}.")
    return " ".join(words)


def _why_not_parsed(source: Source, tree: Tree) -> str:
    if not source.text.strip():
        return "The source is empty; send CUDA C++ text."
    first, last = tree.error_ranges[0]
    return f"No kernel could be read; lines {first}-{last} are not CUDA C++ as far as the grammar knows. Compile it to see the errors."


@cache
def _grammar_version() -> str:
    return version("tree-sitter-cuda")
