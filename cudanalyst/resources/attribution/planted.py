"""True games from planted faults: who can see what decides what can be mended, with no tool involved."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Fault
from cudanalyst.resources.attribution import game

RUNGS: Final[Mapping[str, int]] = {"compiled": 0, "passed": 1, "fast": 2, "fast_modelled": 2}
Repair = Callable[[frozenset[str]], Mapping[frozenset[str], float]]
"""Given the faults that the evidence reveals, how likely is it that a step mends exactly which faults."""


def visible(fault: Fault, coalition: Collection[str]) -> bool:
    """Whether the evidence of a coalition reveals a fault: any of its alternatives is wholly in the coalition."""
    return any(set(needed) <= set(coalition) for needed in fault.visible_in)


def mends_what_it_sees(seen: frozenset[str]) -> Mapping[frozenset[str], float]:
    """The ideal planner and coder: mends every fault that the evidence reveals, and no other."""
    return {seen: 1.0}


def planted_values(
    faults: Sequence[Fault], players: Sequence[str], level: str, repair: Repair = mends_what_it_sees
) -> game.Table:
    """v(S) of one step from a state with these faults, shape `(2**n,)`.

    A level is met when no fault remains that keeps from it or from a lower one.

    Raises:
        BadRequest: an unknown level; probabilities that do not add up to 1.
    """
    blocking = _blocking(faults, level)
    values = np.zeros(1 << len(players))
    for mask in range(len(values)):
        coalition = game.members(mask, players)
        chances = repair(frozenset(fault.id for fault in faults if visible(fault, coalition)))
        if abs(sum(chances.values()) - 1) > 1e-9 or min(chances.values()) < 0:
            msg = f"repair must give probabilities that add up to 1, got {sum(chances.values()):g} for {coalition}"
            raise BadRequest(msg)
        values[mask] = sum(chance for mended, chance in chances.items() if blocking <= mended)
    return values


def planted_moebius(
    faults: Sequence[Fault], players: Sequence[str], level: str, *, hit: float = 1.0, miss: float = 0.0
) -> game.Table:
    """Moebius coefficients in closed form, faults mended independently: `hit` where seen, `miss` where not.

    The indicator of an OR of ANDs has, by inclusion and exclusion over its alternatives, the coefficient
    sum (-1)^(k+1) over choices of k alternatives whose union is T; a product of such polynomials in idempotent
    variables adds up over unions. Shape `(2**n,)`. Derived from Hammer and Rudeanu, "Boolean Methods in Operations Research" (1968).
    """
    blocking = _blocking(faults, level)
    product: dict[int, float] = {0: 1.0}
    for fault in faults:
        if fault.id not in blocking:
            continue
        # An alternative that needs a component which is no player can never be delivered.
        options = [game.mask_of(needed, players) for needed in fault.visible_in if set(needed) <= set(players)]
        factor: dict[int, float] = defaultdict(float, {0: miss})
        for size in range(1, len(options) + 1):
            for chosen in combinations(options, size):
                factor[_union(chosen)] += (hit - miss) * (-1) ** (size + 1)
        grown: dict[int, float] = defaultdict(float)
        for left, weight in product.items():
            for right, other in factor.items():
                grown[left | right] += weight * other
        product = grown
    table = np.zeros(1 << len(players))
    for mask, weight in product.items():
        table[mask] += weight
    return table


def _blocking(faults: Sequence[Fault], level: str) -> frozenset[str]:
    if level not in RUNGS:
        msg = f"no planted fault speaks of level {level!r}; use one of {', '.join(RUNGS)}"
        raise BadRequest(msg)
    return frozenset(fault.id for fault in faults if RUNGS[fault.level] <= RUNGS[level])


def _union(masks: Sequence[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
