"""What an analysis of randomised delivery says."""

from typing import Literal

from cudanalyst.kernels.problem import Component
from cudanalyst.values import Frozen

Target = Literal["sessions like these", "this session's decisions", "sessions and problems like these"]


class ExcursionEffect(Frozen):
    """What offering a component (or both of a pair, beyond each alone) changes about the next candidate, per decision."""

    level: str
    """`stopped`: whether there is no next candidate. Elsewhere stopping counts as not meeting the level."""
    components: tuple[Component, ...]
    value: float
    """Difference of probabilities; of a pair the interaction, a difference of differences."""
    low: float | None = None
    """95 % interval; None where there is too little to tell."""
    high: float | None = None
    worst: float | None = None
    """Where each decision that was stopped at counts against the component; None where nothing was stopped at."""
    best: float | None = None
    history: Literal["first offer", "offered before"] | None = None
    """Over part of the decisions only: those before which the component had, or had not, been offered in the session."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Overlap(Frozen):
    """How well a component's two arms are filled, and how well they were kept to."""

    component: Component
    least: float
    """Smallest and largest propensity that was used."""
    most: float
    offered: int
    withheld: int
    effective_offered: float
    """Decisions that the arm is worth after weighting (Kish)."""
    effective_withheld: float
    taken: int
    """Offered, and then read."""
    requested: int
    """Withheld, asked for, and given: still counted as withheld."""


class RandomisedAnalysis(Frozen):
    """Effects of offering feedback, by design and not by comparison of those who chose."""

    kind: Literal["randomised"] = "randomised"
    target: Target
    sessions: int
    problems: int
    decisions: int
    """With a next candidate or a stop: what the effects are made of."""
    stopped: int
    pending: int
    """The last of a session that goes on: in no effect yet."""
    unjudged: int
    """Followed by a candidate without a verdict: in no effect."""
    clusters: int
    """What varies independently: sessions, or decisions of one session."""
    overlap: tuple[Overlap, ...] = ()
    effects: tuple[ExcursionEffect, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, level: str, *components: str) -> ExcursionEffect | None:
        """The effect at a level over all histories."""
        wanted = tuple(sorted(components))
        return next(
            (
                one
                for one in self.effects
                if one.level == level and tuple(one.components) == wanted and one.history is None
            ),
            None,
        )
