"""Spots that an expert would look at twice. Each rule is a function; this is the list of them."""

from collections.abc import Callable, Iterator

from cudanalyst.tools.syntax.launches import MAX_BLOCK_THREADS
from cudanalyst.tools.syntax.memory_patterns import (
    bank_conflicts,
    contended_atomics,
    double_literals,
    missing_bounds_guards,
    missing_restrict,
    off_by_one_guards,
    uncoalesced_accesses,
)
from cudanalyst.tools.syntax.model import Suspicion
from cudanalyst.tools.syntax.synchronisation import divergent_barriers, missing_barriers
from cudanalyst.tools.syntax.view import KernelView

_ORDER = {"high": 0, "medium": 1, "low": 2}


def launch_mistakes(view: KernelView) -> Iterator[Suspicion]:
    """Launches that cannot work: no memory for `extern __shared__`, blocks of too many threads."""
    dynamic = [array.name for array in view.facts.shared if array.dynamic]
    for site in view.launches:
        if dynamic and site.launch.shared_bytes in {None, "0"}:
            yield view.suspicion(
                "missing_dynamic_shared",
                site.node,
                f"`{dynamic[0]}` is `extern __shared__`, but this launch gives no shared memory.",
                "Pass its size in bytes as the third launch argument.",
                "high",
            )
        x, y, z = site.block
        if x is not None and y is not None and z is not None and x * y * z > MAX_BLOCK_THREADS:
            yield view.suspicion(
                "block_too_large",
                site.node,
                f"A block of {x} x {y} x {z} = {x * y * z} threads: the limit is {MAX_BLOCK_THREADS}, and the launch fails.",
                "Use at most 1024 threads a block.",
                "high",
            )


RULES: tuple[Callable[[KernelView], Iterator[Suspicion]], ...] = (
    divergent_barriers,
    missing_barriers,
    launch_mistakes,
    missing_bounds_guards,
    off_by_one_guards,
    uncoalesced_accesses,
    bank_conflicts,
    contended_atomics,
    missing_restrict,
    double_literals,
)


def suspicions(views: tuple[KernelView, ...]) -> tuple[Suspicion, ...]:
    """All rules over all kernels; the surest first, then in source order."""
    found = [suspicion for view in views for rule in RULES for suspicion in rule(view)]
    found.sort(key=lambda s: (_ORDER[s.confidence], s.place.line or 0, s.place.column or 0, s.kind))
    return tuple(dict.fromkeys(found))
