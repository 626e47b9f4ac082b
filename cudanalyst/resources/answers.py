"""Result models of the tools that are not feedback: the server answers with them and clients parse into them."""

from typing import Any, Literal

from pydantic import JsonValue

from cudanalyst.kernels.problem import BaseStatus, Component, SizeGroup, SizeSet
from cudanalyst.resources.attribution.result import Analysis
from cudanalyst.resources.attribution.table import Attribution
from cudanalyst.resources.randomised.models import RandomisedAnalysis
from cudanalyst.resources.trial_state import CoalitionTally
from cudanalyst.resources.usage.models import RandomisedCost, UsageAnalysis
from cudanalyst.tools.debug import Check
from cudanalyst.tools.result import MeasuredOn, Sandbox, Truncation
from cudanalyst.values import Frozen


class Answer(Frozen):
    """What each of these results has."""

    summary: str
    """A sentence or two for a reader who sees nothing else."""
    job: str | None = None
    """Handle for `job_status`; present only while the status is `running`."""
    omitted: tuple[Truncation, ...] = ()
    """What was left out on the way to the caller."""


class FrozenEvidence(Frozen):
    """One component's evidence in a checkpoint, named but not shown."""

    component: Component
    items: int
    characters: int
    structural: bool
    """The component could not report on this candidate."""


class FreezeResult(Answer):
    """A checkpoint: program state with the evidence of every component, gathered once."""

    status: Literal["frozen", "running"]
    checkpoint: str | None = None
    candidate: str | None = None
    problem: str | None = None
    base_status: BaseStatus | None = None
    evidence: tuple[FrozenEvidence, ...] = ()
    resource: str | None = None


class RestoreResult(Answer):
    """The state that a checkpoint holds, without its evidence."""

    status: Literal["restored", "running"]
    checkpoint: str | None = None
    candidate: str | None = None
    problem: str | None = None
    base_status: BaseStatus | None = None
    generation: int | None = None
    source: str | None = None


class PlanResult(Answer):
    """A recorded plan."""

    status: Literal["recorded", "running"]
    plan: str | None = None
    cites: tuple[str, ...] = ()


class ExperimentResult(Answer):
    """A started experiment."""

    status: Literal["started", "running"]
    experiment: str | None = None
    players: tuple[Component, ...] = ()
    checkpoints: int | None = None
    blocks: int | None = None
    trials: int | None = None
    design: str | None = None
    """Id of the design that it was laid down from."""


class DeliveredEvidence(Frozen):
    """What a planner is given of one component."""

    component: Component
    text: str


class TrialNextResult(Answer):
    """The next trial, or that there is none."""

    status: Literal["open", "waiting", "not_fresh", "finished", "running"]
    """`waiting`: every trial left is open elsewhere or being evaluated. `not_fresh`: ask from a fresh context."""
    trial: str | None = None
    problem: str | None = None
    base_status: BaseStatus | None = None
    source: str | None = None
    references: tuple[str, ...] = ()
    """Sources of other candidates."""
    task: str | None = None
    evidence: tuple[DeliveredEvidence, ...] = ()
    seed: int | None = None
    deadline_at: float | None = None
    """Seconds since the epoch after which the trial counts as abandoned."""
    plan_step: bool | None = None
    """Whether a plan is made first; else the source is written at once."""
    plan: str | None = None
    """A plan that is given, for the coder to follow."""
    planner: str | None = None
    """Who of the experiment's planners is asked."""
    coder: str | None = None
    evidence_for: tuple[Literal["planner", "coder"], ...] = ()
    """Who may be shown the evidence, where planner and coder are two."""
    decoding: dict[str, dict[str, JsonValue]] = {}
    """Settings of planner and coder, the same in every trial."""
    template: str | None = None
    """Version of the bundled prompts, for clients that use them."""
    step: int | None = None
    steps: int | None = None
    """Of a trial that goes on for several: the candidate of the last is judged."""
    counts: dict[str, int] = {}
    """Where no trial could be given: trials of the experiment by state, nothing of coalitions or outcomes."""


class TrialSubmitResult(Answer):
    """A receipt and nothing else: outcomes stay closed until the experiment ends."""

    status: Literal["received", "running"]
    trial: str | None = None


class LevelInShort(Frozen):
    """One success level on a few lines; intervals are of 95 %, for these problems."""

    level: str
    values: dict[str, str]
    """v(S): coalition (`none`, `analyzer+debugger`, ...) to value and successes of trials."""
    banzhaf: dict[str, tuple[float, ...]]
    """Player to value and, where it can be told, the interval's ends."""
    interactions: dict[str, tuple[float, ...]]
    """Pair to pairwise Banzhaf interaction, likewise."""
    no_op: float | None = None
    """Success of changing nothing."""
    planner: str | None = None
    """With `regime`: whose trials these are; None where the experiment has one condition only."""
    regime: str | None = None


class SessionResult(Answer):
    """A session that was begun."""

    status: Literal["started", "running"]
    session: str | None = None
    randomise: dict[Component, float] = {}
    """Probability that a candidate's feedback offers each component; empty where nothing is withheld."""


class AttributionResult(Answer):
    """Which evidence helped, how much, how sure."""

    status: Literal["final", "interim", "empty", "observational", "randomised", "running"]
    """Of an experiment: `interim`: trials are still missing; `empty`: nothing has been evaluated. Of ordinary use:
    `observational`, confounded; `randomised`: with effects by design beside it."""
    experiment: str | None = None
    evaluated: int | None = None
    trials: int | None = None
    missing: tuple[CoalitionTally, ...] = ()
    """What became of the trials, by coalition; empty once every one of them counts."""
    levels: tuple[LevelInShort, ...] = ()
    notes: tuple[str, ...] = ()
    attribution: Attribution | None = None
    """Every index with every interval; only where `detail` is full."""
    analysis: Analysis | None = None
    """All that the design's plan asks for; only of an experiment that was laid down from a design, where `detail` is full."""
    report: str | None = None
    """Resource with the report, once the experiment has ended."""
    session: str | None = None
    """Of ordinary use: the session, or None for all of the owner's."""
    observed: UsageAnalysis | None = None
    """What was seen before decisions and what followed; decisions one by one only where `detail` is full."""
    randomised: RandomisedAnalysis | None = None
    """Effects of being offered a component; in short those on `improved` and `stopped`."""
    costs: tuple[RandomisedCost, ...] = ()
    """Effects next to tokens and seconds."""


class JobResult(Answer):
    """Where a job stands, with its tool's result once there is one."""

    status: Literal["running", "finished", "failed", "cancelled"]
    tool: str | None = None
    stage: str | None = None
    """What it is at, in words."""
    elapsed_s: float | None = None
    error: str | None = None
    result: dict[str, Any] | None = None
    """The tool's own result, as the call would have given it."""


class DeviceResult(Answer):
    """What there is to compile for and to run on, and what cannot be done here and why."""

    status: Literal["ready", "limited", "running"]
    """`limited`: something that a tool needs is missing; `reasons` says what to do."""
    measured_on: MeasuredOn | None = None
    default_arch: str | None = None
    build: bool | None = None
    execute: bool | None = None
    checks: tuple[Check, ...] = ()
    profile: bool | None = None
    sandbox: Sandbox | None = None
    reasons: dict[str, str] = {}
    session: str | None = None
    """Handle of the session that this call belongs to."""


class ProblemSummary(Frozen):
    """One line of the list of problems."""

    id: str
    title: str
    starts: tuple[str, ...] = ()


class ProblemListResult(Answer):
    """Problems that a candidate can belong to."""

    status: Literal["listed", "running"]
    problems: tuple[ProblemSummary, ...] = ()


class ProblemResult(Answer):
    """All that an agent may know of a problem: never the held-out sizes."""

    status: Literal["found", "running"]
    problem: str | None = None
    title: str | None = None
    description: str | None = None
    signature: str | None = None
    """C signature of the `solve` that a candidate exports."""
    sizes: dict[SizeGroup, tuple[SizeSet, ...]] = {}
    tolerance: str | None = None
    contract: str | None = None
    baseline: str | None = None
    """CUDA source of a correct, plain solution."""
    starts: dict[str, str] = {}
    """Starting kernels by name."""


class EvidenceResult(Answer):
    """What one component said of a checkpoint's candidate, as it was frozen."""

    status: Literal["found", "running"]
    checkpoint: str | None = None
    component: Component | None = None
    text: str | None = None
    items: tuple[str, ...] = ()
    structural: bool | None = None


def concise_attribution(result: AttributionResult) -> AttributionResult:
    """The levels in short; the whole attribution is named in `omitted`."""
    if result.observed is not None:
        return _concise_sessions(result, result.observed)
    if result.attribution is None:
        return result
    total = sum(len(level.effects) for level in result.attribution.levels)
    shown = sum(len(level.banzhaf) + len(level.interactions) for level in result.levels)
    left_out = Truncation(what="attribution", shown=shown, total=total)
    return result.model_copy(update={"attribution": None, "analysis": None, "omitted": (left_out,)})


def _concise_sessions(result: AttributionResult, observed: UsageAnalysis) -> AttributionResult:
    """Ordinary use in short: counts and shares without the decisions, and effects on `improved` and `stopped` alone."""
    left_out = []
    if observed.moments:
        left_out.append(Truncation(what="observed.moments", shown=0, total=len(observed.moments)))
    randomised = result.randomised
    if randomised is not None:
        kept = tuple(one for one in randomised.effects if one.level in {"improved", "stopped"} and one.history is None)
        if len(kept) < len(randomised.effects):
            left_out.append(Truncation(what="randomised.effects", shown=len(kept), total=len(randomised.effects)))
        randomised = randomised.model_copy(update={"effects": kept})
    return result.model_copy(
        update={
            "observed": observed.model_copy(update={"moments": ()}),
            "randomised": randomised,
            "omitted": tuple(left_out),
        }
    )
