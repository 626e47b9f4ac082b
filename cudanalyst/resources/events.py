"""What happened, as typed values that are only ever appended. Everything that is asked later is a fold over them.

An event holds no identity and no time: the store gives both (`Recorded.seq`, `Recorded.at`) when it appends, and reading
one back never mints anything. A new field needs a default, a new kind or field a new schema version.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, TypeAdapter

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.resources.randomised.draws import RandomisedDelivery
from cudanalyst.resources.trial_events import (
    ExperimentEnded,
    ExperimentStarted,
    Phase,
    PlannerFailure,
    TrialContaminated,
    TrialEvaluated,
    TrialInfrastructureFailed,
    TrialOpened,
    TrialReused,
    TrialStepped,
    TrialStepReady,
    TrialSubmitted,
)
from cudanalyst.values import Frozen

__all__ = [
    "EVENT",
    "CandidateJudged",
    "CandidateSubmitted",
    "CheckpointFrozen",
    "CheckpointRestored",
    "DeliveryRandomised",
    "Event",
    "EvidenceDelivered",
    "EvidenceRequested",
    "EvidenceWithheld",
    "ExperimentEnded",
    "ExperimentStarted",
    "JobFinished",
    "JobStarted",
    "Phase",
    "PlanRecorded",
    "PlannerFailure",
    "Recorded",
    "SessionStarted",
    "ToolFinished",
    "ToolStarted",
    "TrialContaminated",
    "TrialEvaluated",
    "TrialInfrastructureFailed",
    "TrialOpened",
    "TrialReused",
    "TrialStepReady",
    "TrialStepped",
    "TrialSubmitted",
]


class SessionStarted(Frozen):
    """A client began to work."""

    kind: Literal["session_started"] = "session_started"
    client: str | None = None
    """Name and version that the client gave."""
    randomise: RandomisedDelivery | None = None
    """How its feedback is offered, where the client asked for randomised delivery."""


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
    speedup: FiniteFloat | None = None
    """Measured, of a `run` that passed."""
    device_s: FiniteFloat | None = None
    """Seconds for which the call held a GPU; None where it held none."""


class EvidenceDelivered(Frozen):
    """A planner was shown a component's evidence."""

    kind: Literal["evidence_delivered"] = "evidence_delivered"
    candidate: str
    component: Component
    evidence: str
    via: str
    """The tool that delivered it; `trial_next` for a trial."""
    trial: str | None = None


class DeliveryRandomised(Frozen):
    """A decision of a session with randomised delivery: which components a candidate's feedback offers."""

    kind: Literal["delivery_randomised"] = "delivery_randomised"
    candidate: str
    problem: str
    number: int
    """Of the decision in its session, from 1."""
    offered: tuple[Component, ...]
    propensities: dict[Component, FiniteFloat]
    """Probability of each offer."""
    joint: FiniteFloat
    """Probability of this very draw."""


class EvidenceWithheld(Frozen):
    """A call for evidence was answered with the base status alone, as the draw said."""

    kind: Literal["evidence_withheld"] = "evidence_withheld"
    candidate: str
    component: Component
    via: str


class EvidenceRequested(Frozen):
    """An agent asked for evidence that its draw had withheld, and was given it."""

    kind: Literal["evidence_requested"] = "evidence_requested"
    candidate: str
    component: Component
    via: str


class CandidateJudged(Frozen):
    """What a candidate amounts to, established for a session with randomised delivery."""

    kind: Literal["candidate_judged"] = "candidate_judged"
    candidate: str
    problem: str
    base_status: BaseStatus
    modelled_speedup: FiniteFloat | None = None
    speedup: FiniteFloat | None = None
    """Measured."""
    fast: bool | None = None


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
    | DeliveryRandomised
    | EvidenceWithheld
    | EvidenceRequested
    | CandidateJudged
    | CheckpointFrozen
    | CheckpointRestored
    | PlanRecorded
    | ExperimentStarted
    | TrialOpened
    | TrialSubmitted
    | TrialEvaluated
    | TrialStepped
    | TrialStepReady
    | TrialReused
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
