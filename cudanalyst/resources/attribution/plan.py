"""What an analysis sets out to estimate, fixed before the trials: part of a design and of its lock."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import Field

from cudanalyst.resources.attribution.table import Index, PopulationMethod, Target
from cudanalyst.resources.trials import Regime
from cudanalyst.values import Frozen

ANALYSIS_VERSION: Final = "1"
"""Changes whenever the same rows and plan would give other numbers; a lock records it."""
LevelName = Literal["compiled", "passed", "fast_modelled", "fast", "improved", "regressed", "score_modelled", "score"]
"""Success levels, and the two scores: mean log of max(1, verified speedup), failures log 1 = 0."""
LEVELS: Final[tuple[LevelName, ...]] = (
    "compiled", "passed", "fast_modelled", "fast", "improved", "regressed", "score_modelled", "score",
)  # fmt: skip
SCORES: Final[tuple[LevelName, ...]] = ("score_modelled", "score")

Share = Annotated[float, Field(gt=0, lt=1)]
Margin = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class EffectName(Frozen):
    """One effect: an index of some players."""

    index: Index
    players: tuple[str, ...]


class RegimePair(Frozen):
    """A matched comparison: `regime` minus `against`, on the same problems, checkpoints and, where complete, blocks."""

    regime: Regime = "P+F"
    against: Regime


class Claim(Frozen):
    """A testable statement. It holds at error `alpha` for the plan's target, or it is not shown; it is never refuted by
    silence.

    `positive`, `negative`: the effect is above, below 0. `equivalent`: it lies within the margin (two one-sided tests).
    `only_through_interactions`: the Banzhaf value of `players[0]` is equivalent to 0 and one of its pair interactions is
    positive (Holm over its partners). `growing`: the effect's slope over generations of the same problems is positive,
    at the probability scale; the logit scale is shown beside. `regime_positive`, `regime_equivalent`: the mean lift of
    `regime` over `against` is above 0, within the margin.
    """

    name: str
    kind: Literal[
        "positive",
        "negative",
        "equivalent",
        "only_through_interactions",
        "growing",
        "regime_positive",
        "regime_equivalent",
    ]
    players: tuple[str, ...] = ()
    index: Index = "banzhaf"
    level: LevelName | None = None
    """None: the plan's primary level."""
    regime: Regime | None = None
    """None: the plan's primary regime."""
    against: Regime | None = None
    """For the two kinds that compare regimes."""
    planner: str | None = None
    """None: every planner, each on its own."""
    plan_of: str | None = None
    """Where `regime` is PT: whose plans; None: the first planner whose plans were given."""
    against_plan_of: str | None = None
    """Where `against` is PT, the same. PT against PT tells whose plans transfer better."""
    margin: Margin | None = None
    """None: the plan's margin."""


class Stopping(Frozen):
    """Stopping early: only by a confidence sequence, which may be looked at after every block."""

    rule: Literal["fixed", "confidence_sequence"] = "fixed"
    effects: tuple[EffectName, ...] = ()
    """Watched effects; empty: the primary family. `alpha` is divided among them."""
    min_rounds: Annotated[int, Field(ge=1)] = 4
    """Rounds (one block of every checkpoint) before the first look."""
    half_width: Margin | None = None
    """Stop, too, once every watched sequence is this narrow; None: only when each excludes 0 or lies within the margin."""


class AnalysisPlan(Frozen):
    """The whole analysis of an experiment; the defaults are a sensible one."""

    version: str = ANALYSIS_VERSION
    levels: tuple[LevelName, ...] = LEVELS
    """Levels that nothing was measured for are left out, with a note."""
    primary_level: LevelName = "passed"
    primary_regime: Regime = "P+F"
    primary: tuple[EffectName, ...] = ()
    """The primary family, tested together; empty: the Banzhaf value of every player."""
    target: Target = "population of problems"
    """What the primary family and claims speak of. Where there are too few problems for it, the answer says so."""
    population_interval: PopulationMethod = "t"
    """Of the intervals in slices and contrasts; a percentile bootstrap needs 40 problems, a studentised one 12."""
    alpha: Share = 0.05
    """Of tests and of the family; intervals are always 95 %."""
    margin: Margin = 0.1
    """Equivalence margin for effects on probabilities."""
    score_margin: Margin = 0.05
    """Equivalence margin for effects on log speedup."""
    contrasts: tuple[RegimePair, ...] = ()
    """Empty: the primary regime against every other that was run."""
    claims: tuple[Claim, ...] = ()
    coalitions: Literal["all", "sampled"] = "all"
    """`sampled`: every trial's coalition was drawn at random (`sampling.sample_coalitions`); needed above six players."""
    stopping: Stopping = Stopping()
    exclude_reused: bool = False
    """Leave out trials taken over from another experiment; forced in locked confirmatory runs."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of sign flips where they are too many to enumerate."""

    def primary_effects(self, players: Iterable[str]) -> tuple[EffectName, ...]:
        """The primary family; the Banzhaf value of every player where the plan names none."""
        return self.primary or tuple(EffectName(index="banzhaf", players=(player,)) for player in players)
