"""Events of experiments and their trials (see `events`)."""

import math
from typing import Literal, Self

from pydantic import FiniteFloat, model_validator

from cudanalyst.resources.trials import Outcome, Usage
from cudanalyst.values import Frozen

PlannerFailure = Literal["refusal", "truncation", "abandoned"]
Phase = Literal["model", "evaluator"]
"""Where infrastructure failed: before a submission (the model's service) or after it (our evaluator)."""


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
    plan_from: str | None = None
    """The trial whose plan is given."""
    definition: str | None = None
    """Names everything that defines the trial: equal ones may share an outcome."""


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
    usage: Usage | None = None
    """What the answer cost, as its client tells."""


class TrialEvaluated(Frozen):
    """The evaluator judged a trial's candidate."""

    kind: Literal["trial_evaluated"] = "trial_evaluated"
    experiment: str
    trial: str
    outcome: Outcome
    evaluate_s: FiniteFloat | None = None
    """Wall seconds of judging it; 0 where the verdict was known of the same source."""
    device_s: FiniteFloat | None = None
    """Of them, those on a device; None where there is none."""

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        if not math.isfinite(self.outcome.modelled_speedup):
            raise ValueError("JSON cannot carry a speedup that is not finite")
        return self


class TrialStepped(Frozen):
    """A planner answered a step of a trial that goes on: its candidate is to be looked at, and the trial stays open."""

    kind: Literal["trial_stepped"] = "trial_stepped"
    experiment: str
    trial: str
    step: int
    candidate: str
    candidate_blob: str
    plan_blob: str | None = None
    usage: Usage | None = None


class TrialStepReady(Frozen):
    """The next step of a trial can be taken: its candidate was frozen with all evidence."""

    kind: Literal["trial_step_ready"] = "trial_step_ready"
    experiment: str
    trial: str
    step: int
    """The one that begins."""
    checkpoint: str
    deadline_at: FiniteFloat
    evaluate_s: FiniteFloat | None = None
    device_s: FiniteFloat | None = None


class TrialReused(Frozen):
    """A trial was not run: one of another experiment is the same in everything that defines it."""

    kind: Literal["trial_reused"] = "trial_reused"
    experiment: str
    trial: str
    source: str
    """The trial that was run."""
    prompt_hash: str
    outcome: Outcome
    candidate: str | None = None
    candidate_blob: str | None = None
    plan_blob: str | None = None
    failure: PlannerFailure | None = None


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
