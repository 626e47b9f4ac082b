"""What happened, as typed values that are only ever appended. Everything that is asked later is a fold over them.

An event holds no identity and no time: the store gives both (`Recorded.seq`, `Recorded.at`) when it appends, and reading
one back never mints anything. A new field needs a default, a new kind or field a new schema version.
"""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, TypeAdapter, model_validator

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.trials import Outcome
from cudanalyst.values import Frozen

PlannerFailure = Literal["refusal", "truncation", "abandoned"]
Phase = Literal["model", "evaluator"]
"""Where infrastructure failed: before a submission (the model's service) or after it (our evaluator)."""


class SessionStarted(Frozen):
    """A client began to work."""

    kind: Literal["session_started"] = "session_started"
    client: str | None = None
    """Name and version that the client gave."""


class CandidateSubmitted(Frozen):
    """A source was seen for the first time in a session."""

    kind: Literal["candidate_submitted"] = "candidate_submitted"
    candidate: str
    problem: str | None
    blob: str
    parents: tuple[str, ...] = ()
    """Candidates that it was made from; none for a beginning."""
    operator: str | None = None
    """What made it: `mutation`, `crossover`, ..., where the client says so."""


class ToolStarted(Frozen):
    """A tool call began. One without its `tool_finished` was cut off."""

    kind: Literal["tool_started"] = "tool_started"
    call: str
    tool: str
    candidate: str | None = None


class ToolFinished(Frozen):
    """A tool call ended, whatever its status."""

    kind: Literal["tool_finished"] = "tool_finished"
    call: str
    tool: str
    status: str
    candidate: str | None = None
    result_blob: str | None = None
    tokens: int | None = None
    """Estimated tokens of the result that the client was sent."""
    seconds: FiniteFloat | None = None
    cached: bool = False
    modelled_speedup: FiniteFloat | None = None
    """Of a `run` that passed."""


class EvidenceDelivered(Frozen):
    """A planner was shown a component's evidence."""

    kind: Literal["evidence_delivered"] = "evidence_delivered"
    candidate: str
    component: Component
    evidence: str
    via: str
    """The tool that delivered it; `trial_next` for a trial."""
    trial: str | None = None


class CheckpointFrozen(Frozen):
    """A moment was frozen, with all its evidence."""

    kind: Literal["checkpoint_frozen"] = "checkpoint_frozen"
    checkpoint: str
    candidate: str
    problem: str
    blob: str
    lineage: tuple[str, ...] = ()


class CheckpointRestored(Frozen):
    """A frozen moment was taken up again."""

    kind: Literal["checkpoint_restored"] = "checkpoint_restored"
    checkpoint: str
    candidate: str
    problem: str
    lineage: tuple[str, ...] = ()


class PlanRecorded(Frozen):
    """A planner said what it means to do, and which evidence made it."""

    kind: Literal["plan_recorded"] = "plan_recorded"
    plan: str
    blob: str
    candidate: str | None = None
    cites: tuple[str, ...] = ()
    author: str | None = None


class ExperimentStarted(Frozen):
    """An experiment and every one of its trials were laid down."""

    kind: Literal["experiment_started"] = "experiment_started"
    experiment: str
    blob: str
    """The `ExperimentSpec`."""
    trials: int


class TrialOpened(Frozen):
    """A context was given a trial."""

    kind: Literal["trial_opened"] = "trial_opened"
    experiment: str
    trial: str
    problem: str
    checkpoint: str
    attempt: int
    prompt_hash: str
    deadline_at: FiniteFloat
    """Seconds since the epoch after which it counts as abandoned."""


class TrialSubmitted(Frozen):
    """A planner answered, or failed to."""

    kind: Literal["trial_submitted"] = "trial_submitted"
    experiment: str
    trial: str
    problem: str
    plan_blob: str | None = None
    candidate: str | None = None
    candidate_blob: str | None = None
    failure: PlannerFailure | None = None


class TrialEvaluated(Frozen):
    """The evaluator judged a trial's candidate."""

    kind: Literal["trial_evaluated"] = "trial_evaluated"
    experiment: str
    trial: str
    outcome: Outcome

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        if not math.isfinite(self.outcome.modelled_speedup):
            raise ValueError("JSON cannot carry a speedup that is not finite")
        return self


class TrialContaminated(Frozen):
    """A trial's context knew more than its coalition: kept, and left out of primary estimates."""

    kind: Literal["trial_contaminated"] = "trial_contaminated"
    experiment: str
    trial: str
    reason: str


class TrialInfrastructureFailed(Frozen):
    """A service failed, not the planner."""

    kind: Literal["trial_infrastructure_failed"] = "trial_infrastructure_failed"
    experiment: str
    trial: str
    phase: Phase
    reason: str
    final: bool
    """The cap is reached: it will not be tried again."""


class ExperimentEnded(Frozen):
    """An experiment was stopped before all its trials were done."""

    kind: Literal["experiment_ended"] = "experiment_ended"
    experiment: str
    reason: str


class JobStarted(Frozen):
    """Work that outlives its call began."""

    kind: Literal["job_started"] = "job_started"
    job: str
    call: str
    tool: str
    candidate: str | None = None


class JobFinished(Frozen):
    """Work that outlived its call ended."""

    kind: Literal["job_finished"] = "job_finished"
    job: str
    status: Literal["done", "failed", "cancelled"]
    result_blob: str | None = None


Event = Annotated[
    SessionStarted
    | CandidateSubmitted
    | ToolStarted
    | ToolFinished
    | EvidenceDelivered
    | CheckpointFrozen
    | CheckpointRestored
    | PlanRecorded
    | ExperimentStarted
    | TrialOpened
    | TrialSubmitted
    | TrialEvaluated
    | TrialContaminated
    | TrialInfrastructureFailed
    | ExperimentEnded
    | JobStarted
    | JobFinished,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Parses an event by its tag."""


class Recorded(Frozen):
    """An event as the store holds it."""

    seq: int
    """Position in the store: its identity, and the order of all things."""
    at: float
    """Seconds since the epoch, by the writer's clock; never an input of a hash."""
    owner: str
    session: str | None
    context: str | None
    """The conversation that it happened in; a session's own handle where the client named none."""
    event: Event
