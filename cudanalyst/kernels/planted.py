"""Ground truth of the attribution game: what the planted faults of a start make each coalition worth.

The planner of this game mends a fault exactly when the delivered components reveal it, and does no harm. Its v(S) is 0 or
1, and its Moebius coefficients follow from the faults' `visible_in`: an AND gives +1 on the pair, an OR +1, +1 and -1.
"""

from collections.abc import Iterable
from itertools import combinations
from typing import Final, Literal

from cudanalyst.kernels.problem import Component, Fault, Problem, Start

PlantedLevel = Literal["compiled", "passed", "fast"]
LEVELS: Final[tuple[PlantedLevel, ...]] = ("compiled", "passed", "fast")
PlantedCoalition = frozenset[Component]


def reveals(fault: Fault, coalition: Iterable[Component]) -> bool:
    """Whether the components of a coalition together show a fault."""
    given = set(coalition)
    return any(given.issuperset(group) for group in fault.visible_in)


def planted_values(
    problem: Problem, start: Start, level: PlantedLevel, players: tuple[Component, ...]
) -> dict[PlantedCoalition, int]:
    """v(S) for every coalition: 1 where S reveals every fault that keeps the start from the level."""
    below = LEVELS[: LEVELS.index(level) + 1]
    faults = [fault for fault in problem.faults if fault.id in start.faults and fault.level in below]
    return {coalition: int(all(reveals(fault, coalition) for fault in faults)) for coalition in _coalitions(players)}


def planted_coefficients(
    problem: Problem, start: Start, level: PlantedLevel, players: tuple[Component, ...]
) -> dict[PlantedCoalition, int]:
    """Moebius coefficients of `planted_values`; those that are 0 are left out."""
    values = planted_values(problem, start, level, players)
    coefficients = {
        coalition: sum((-1) ** (len(coalition) - len(part)) * values[part] for part in _coalitions(tuple(coalition)))
        for coalition in values
    }
    return {coalition: value for coalition, value in coefficients.items() if value}


def _coalitions(players: tuple[Component, ...]) -> list[PlantedCoalition]:
    return [frozenset(part) for size in range(len(players) + 1) for part in combinations(players, size)]
