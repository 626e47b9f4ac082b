"""The input and output of every attribution: plain values, so that estimators are pure functions."""

from collections.abc import Iterable
from typing import Final, Literal

from cudanalyst.values import Frozen

Target = Literal["these problems", "population of problems"]
TARGETS: Final[tuple[Target, Target]] = ("these problems", "population of problems")
"""What an interval speaks of: chance in these trials, or also in the choice of problems."""
PopulationMethod = Literal["t", "studentised bootstrap", "percentile bootstrap"]
"""How an interval for the population of problems is made."""
Index = Literal[
    "banzhaf",
    "banzhaf_interaction",
    "banzhaf_third",
    "sigma",
    "shapley",
    "shapley_interaction",
    "shapley_taylor",
    "moebius",
]
"""`banzhaf_third` is the Banzhaf interaction of three players; `shapley_taylor` is of order 2, its pair terms; `sigma` is
the published pair term; `moebius` is of every coalition but the empty one, whose coefficient is v(empty)."""


class Interval(Frozen):
    """A 95 % confidence interval and the population that it speaks of."""

    low: float
    high: float
    target: Target
    method: str


def interval_for(intervals: Iterable[Interval], target: Target) -> Interval | None:
    """The interval for one target, where there is one."""
    return next((interval for interval in intervals if interval.target == target), None)


class CoalitionValue(Frozen):
    """v(S): expected success with the evidence of S."""

    coalition: tuple[str, ...]
    value: float
    successes: int
    trials: int
    intervals: tuple[Interval, ...] = ()
    infrastructure_failed: int = 0
    """Trials without an outcome, through no fault of planner or coder."""
    worst: float | None = None
    """v(S) had every infrastructure failure been a failure; None where there was none."""
    best: float | None = None
    """v(S) had every infrastructure failure been a success; None where there was none."""


class Effect(Frozen):
    """One index of one player, or of several."""

    players: tuple[str, ...]
    index: Index
    value: float
    intervals: tuple[Interval, ...] = ()
    structural: bool = False
    """Part of the evidence behind it was a placebo because the component could not report."""
    worst: float | None = None
    """The effect had every infrastructure failure turned out against it; None where there was none."""
    best: float | None = None
    """The effect had every infrastructure failure turned out for it; None where there was none."""


class ProblemAttribution(Frozen):
    """The same level on one problem: v(S) and Banzhaf values."""

    problem: str
    checkpoints: int
    values: tuple[CoalitionValue, ...]
    effects: tuple[Effect, ...]


class LevelAttribution(Frozen):
    """Everything about one success level."""

    level: str
    values: tuple[CoalitionValue, ...]
    effects: tuple[Effect, ...]
    ceiling_checkpoints: int = 0
    """Checkpoints that met the level before the trial."""
    no_op: float | None = None
    """Success of changing nothing."""
    by_problem: tuple[ProblemAttribution, ...] = ()
    notes: tuple[str, ...] = ()
    """What holds for this level only: missing cells, ceilings, placebos."""


class Attribution(Frozen):
    """The answer: what helped, how much, how sure."""

    players: tuple[str, ...]
    trials: int
    contaminated: int
    infrastructure_failed: int
    problems: int
    checkpoints: int
    levels: tuple[LevelAttribution, ...]
    notes: tuple[str, ...] = ()
    """Plain words: Banzhaf values do not add up to v(N) - v(empty); too few problems for a population interval; ..."""
