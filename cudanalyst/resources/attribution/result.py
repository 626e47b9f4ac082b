"""The answer of an analysis: one slice per planner, regime, generation and level, and what is tested across slices."""

from typing import Literal

from cudanalyst.resources.attribution.plan import AnalysisPlan, Claim, EffectName, LevelName
from cudanalyst.resources.attribution.table import CoalitionValue, Effect, Interval, ProblemAttribution, Target
from cudanalyst.resources.trials import Regime
from cudanalyst.values import Frozen


class Condition(Frozen):
    """Whose trials a number is over."""

    planner: str
    """`planner`, or `planner / coder` where another one codes."""
    regime: Regime
    horizon: int = 1
    plan_of: str | None = None
    """The planner whose plan was given (regime PT)."""


class Heterogeneity(Frozen):
    """How much an effect differs between problems: a random-effects summary."""

    effect: EffectName
    problems: int
    mean: float
    low: float
    high: float
    """95 % Hartung-Knapp interval of the mean."""
    tau2: float
    """Variance of the true effect between problems (by moments)."""
    i2: float
    """Share of the observed variance that is between problems, 0 to 1."""
    q: float
    q_p: float
    """Cochran's Q and its p value against equal effects."""
    prediction_low: float | None
    prediction_high: float | None
    """95 % interval for the effect on a new problem; None below 3 problems."""


class StratumResult(Frozen):
    """The same slice over checkpoints of one initial status."""

    name: str
    """Base status before the trial, or `below the level before` and `at the level before`."""
    problems: int
    checkpoints: int
    values: tuple[CoalitionValue, ...]
    effects: tuple[Effect, ...]


class LogitEffect(Frozen):
    """An effect on the log odds of success: a sensitivity, since risk differences move with base rates."""

    effect: EffectName
    value: float
    low: float
    high: float
    """95 %, these problems."""


class Slice(Frozen):
    """Everything about one level under one condition, at one generation or pooled over all."""

    condition: Condition
    generation: int | None
    """None: pooled."""
    level: LevelName
    scale: Literal["probability", "log speedup"]
    trials: int
    problems: int
    checkpoints: int
    blocks: int | None
    """Complete blocks used as such; None where trials are not in complete blocks."""
    values: tuple[CoalitionValue, ...]
    """v(S). On the scale of log speedup there is no success to count: `successes` is 0."""
    effects: tuple[Effect, ...]
    logit: tuple[LogitEffect, ...] = ()
    no_op: float | None = None
    """Success of changing nothing; None where not known of every checkpoint."""
    ceiling_checkpoints: int = 0
    """Checkpoints that met the level before the trial."""
    strata: tuple[StratumResult, ...] = ()
    by_problem: tuple[ProblemAttribution, ...] = ()
    """Pooled slices only."""
    heterogeneity: tuple[Heterogeneity, ...] = ()
    """Pooled slices only: Banzhaf values and interactions, from two problems on."""
    notes: tuple[str, ...] = ()


class RegimeContrast(Frozen):
    """A condition minus the same planner under another regime, on the same checkpoints."""

    condition: Condition
    """Of `regime`."""
    against: Regime
    against_plan_of: str | None = None
    """The planner whose plan was given there (regime PT)."""
    level: LevelName
    generation: int | None
    quantity: Literal["mean lift", "lift with all evidence", "lift without evidence", "difference of effects"]
    """`mean lift`: the mean over coalitions of v_regime(S) - v_against(S)."""
    effect: EffectName | None = None
    """For differences of effects."""
    value: float
    intervals: tuple[Interval, ...]
    problems: int
    checkpoints: int
    blocked: bool
    """Whether both regimes were run in the same complete blocks, so that contrasts within blocks could be used."""
    excludes_zero: bool | None = None
    """By the 95 % interval for the plan's target; None where there is none."""


class Slope(Frozen):
    """Change of an effect per generation, over problems that were tried at every generation."""

    condition: Condition
    level: LevelName
    effect: EffectName
    generations: tuple[int, ...]
    problems: int
    value: float
    intervals: tuple[Interval, ...]
    logit_value: float | None
    logit_low: float | None
    logit_high: float | None
    """The same on log odds, 95 % for these problems; None for scores."""


class FamilyMember(Frozen):
    """One test of the primary family."""

    effect: EffectName
    value: float
    p: float | None
    """Two-sided, unadjusted, by sign flips; None where refused."""
    adjusted_p: float | None
    """Adjusted for the family (step-down max-T); None where refused."""
    low: float | None
    high: float | None
    """Simultaneous limits: together they cover with 1 - alpha."""
    equivalent: bool | None = None
    """Whether it is shown to lie within the plan's margin (two one-sided tests at alpha, unadjusted); None where that
    cannot be tested."""


class Family(Frozen):
    """The primary family of one planner, tested together."""

    planner: str
    level: LevelName
    regime: Regime
    target: Target
    alpha: float
    method: str
    problems: int
    members: tuple[FamilyMember, ...]
    refused: str | None = None
    """Why there is no adjusted p: too few problems for any p to be small enough; None where there is."""


class ClaimResult(Frozen):
    """What became of one claim for one planner."""

    claim: Claim
    planner: str
    verdict: Literal["shown", "not shown", "cannot be tested"]
    text: str
    """The numbers in one sentence."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    """The limits that decided: one-sided or TOST limits at the plan's alpha."""
    target: Target


class Drift(Frozen):
    """Whether repeated sentinel cells changed over the experiment's time."""

    planner: str
    level: LevelName
    trials: int
    cells: int
    change: float
    """Fitted change from the first to the last sentinel trial."""
    p: float
    """Two-sided, permutation variance within cells."""


class SequencePoint(Frozen):
    """A confidence sequence at one look."""

    rounds: int
    estimate: float
    low: float
    high: float


class Sequence(Frozen):
    """A time-uniform interval: it covers at every look at once, so the experiment may stop at any."""

    planner: str
    level: LevelName
    regime: Regime
    effect: EffectName
    alpha: float
    """Error of this sequence; the plan's alpha divided by the number of watched effects."""
    method: str
    points: tuple[SequencePoint, ...]
    """At most 64, the last one included."""
    stop: bool
    """Whether the plan's stopping rule is met by this effect."""


class TracePoint(Frozen):
    """An estimate from the first `trials` sampled coalitions."""

    trials: int
    estimate: float
    low: float | None
    high: float | None


class Trace(Frozen):
    """How an estimate from sampled coalitions settled."""

    condition: Condition
    level: LevelName
    effect: EffectName
    points: tuple[TracePoint, ...]


class Exclusions(Frozen):
    """Trials that are in no estimate, and why."""

    contaminated: int = 0
    infrastructure_failed: int = 0
    pending: int = 0
    sentinels: int = 0
    reused: int = 0
    open: int = 0
    """Not excluded: trials of agents that could reach feedback by themselves. Effects are those of assignment."""


class Analysis(Frozen):
    """All of it."""

    plan: AnalysisPlan
    players: tuple[str, ...]
    trials: int
    """In the estimates."""
    problems: int
    checkpoints: int
    generations: tuple[int, ...]
    slices: tuple[Slice, ...]
    contrasts: tuple[RegimeContrast, ...] = ()
    slopes: tuple[Slope, ...] = ()
    families: tuple[Family, ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    sequences: tuple[Sequence, ...] = ()
    """Where the plan stops by confidence sequence."""
    drift: tuple[Drift, ...] = ()
    traces: tuple[Trace, ...] = ()
    """Sampled coalitions only."""
    exclusions: Exclusions = Exclusions()
    notes: tuple[str, ...] = ()

    def slice_of(
        self, level: str, *, regime: str | None = None, planner: str | None = None, generation: int | None = None
    ) -> Slice | None:
        """The first slice at a level under a condition; the primary regime where none is named, pooled by default."""
        wanted = self.plan.primary_regime if regime is None else regime
        for one in self.slices:
            where = one.condition
            here = (one.level, where.regime, one.generation) == (level, wanted, generation)
            if here and planner in {None, where.planner}:
                return one
        return None
