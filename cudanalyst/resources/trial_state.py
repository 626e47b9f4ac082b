"""The state of an experiment as a fold over its events: nothing else is remembered, so a restart loses nothing."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from cudanalyst.resources.events import (
    ExperimentEnded,
    PlannerFailure,
    Recorded,
    TrialContaminated,
    TrialEvaluated,
    TrialInfrastructureFailed,
    TrialOpened,
    TrialSubmitted,
)
from cudanalyst.resources.trials import Coalition, Experiment, Outcome, Trial
from cudanalyst.values import Frozen

State = Literal["waiting", "open", "submitted", "evaluated", "infrastructure_failed"]


class ExperimentSpec(Frozen):
    """Everything that was decided when an experiment began; stored once."""

    experiment: Experiment
    trials: tuple[Trial, ...]
    """In the order in which they are to run."""
    statements: dict[str, str]
    """What is asked, by problem: frozen, as the evidence is."""
    time_limit_s: float
    """How long a trial may stay open."""
    attempts: int
    """How often a trial is tried, and a submission evaluated, when infrastructure fails."""


class Progress(Frozen):
    """How far an experiment is; nothing here depends on an outcome or a coalition."""

    experiment: str
    trials: int
    waiting: int
    open: int
    submitted: int
    evaluated: int
    infrastructure_failed: int
    ended: bool


class CoalitionTally(Frozen):
    """What became of a coalition's trials: missing ones bound what its value could be."""

    coalition: Coalition
    trials: int
    evaluated: int
    contaminated: int
    infrastructure_failed: int
    not_run: int
    planner_failures: int


@dataclass(slots=True)
class TrialProgress:
    """Where one trial is."""

    trial: Trial
    state: State = "waiting"
    attempts: int = 0
    evaluator_failures: int = 0
    opened: Recorded | None = None
    deadline_at: float = 0.0
    prompt_hash: str | None = None
    plan_blob: str | None = None
    candidate: str | None = None
    candidate_blob: str | None = None
    failure: PlannerFailure | None = None
    outcome: Outcome | None = None
    contamination: str | None = None

    def as_trial(self) -> Trial:
        """The trial with what is known of it by now."""
        return self.trial.model_copy(
            update={
                "state": self.state,
                "contaminated": self.contamination is not None,
                "candidate": self.candidate,
                "outcome": self.outcome,
                "prompt_hash": self.prompt_hash,
            }
        )


@dataclass(slots=True)
class ExperimentState:
    """A spec and the fold of all events up to `seq`."""

    spec: ExperimentSpec
    seq: int = 0
    stopped: str | None = None
    trials: dict[str, TrialProgress] = field(default_factory=dict)
    _open: dict[str, None] = field(default_factory=dict)
    """Keys in the order of opening; few, so that looking for expired ones costs nothing."""

    def __post_init__(self) -> None:
        """Every trial begins waiting."""
        self.trials = {trial.id: TrialProgress(trial) for trial in self.spec.trials}

    def fold(self, events: Iterable[Recorded]) -> None:
        """Takes in committed events, in order."""
        for recorded in events:
            self._apply(recorded)
            self.seq = recorded.seq

    def open_trials(self) -> tuple[TrialProgress, ...]:
        """Trials that a planner has in hand."""
        return tuple(self.trials[trial] for trial in self._open)

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen, so that outcomes may be told."""
        return self.stopped is not None or all(
            progress.state in {"evaluated", "infrastructure_failed"} for progress in self.trials.values()
        )

    def progress(self) -> Progress:
        """Counts by state."""
        counts = Counter(progress.state for progress in self.trials.values())
        return Progress(
            experiment=self.spec.experiment.id,
            trials=len(self.trials),
            waiting=counts["waiting"],
            open=counts["open"],
            submitted=counts["submitted"],
            evaluated=counts["evaluated"],
            infrastructure_failed=counts["infrastructure_failed"],
            ended=self.ended,
        )

    def tallies(self) -> tuple[CoalitionTally, ...]:
        """What became of the trials, by coalition."""
        groups: dict[Coalition, list[TrialProgress]] = {}
        for progress in self.trials.values():
            groups.setdefault(progress.trial.coalition, []).append(progress)
        return tuple(
            CoalitionTally(
                coalition=coalition,
                trials=len(group),
                evaluated=sum(one.state == "evaluated" for one in group),
                contaminated=sum(one.contamination is not None for one in group),
                infrastructure_failed=sum(one.state == "infrastructure_failed" for one in group),
                not_run=sum(one.state in {"waiting", "open", "submitted"} for one in group),
                planner_failures=sum(one.failure is not None for one in group),
            )
            for coalition, group in sorted(groups.items(), key=lambda item: (len(item[0]), item[0]))
        )

    def _apply(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, ExperimentEnded):
            self.stopped = event.reason
            return
        progress = self.trials.get(getattr(event, "trial", ""))
        if progress is None:
            return
        match event:
            case TrialOpened():
                progress.state, progress.opened = "open", recorded
                progress.attempts, progress.prompt_hash = event.attempt, event.prompt_hash
                progress.deadline_at = event.deadline_at
            case TrialSubmitted():
                progress.state = "submitted"
                progress.plan_blob, progress.failure = event.plan_blob, event.failure
                progress.candidate, progress.candidate_blob = event.candidate, event.candidate_blob
            case TrialEvaluated():
                progress.state, progress.outcome = "evaluated", event.outcome
            case TrialContaminated():
                progress.contamination = event.reason
            case TrialInfrastructureFailed(phase="model"):
                progress.state = "infrastructure_failed" if event.final else "waiting"
                # A later attempt runs in another context, so what this one knew no longer counts.
                progress.contamination = None
            case TrialInfrastructureFailed(phase="evaluator"):
                progress.evaluator_failures += 1
                progress.state = "infrastructure_failed" if event.final else "submitted"
            case _:
                pass
        if progress.state == "open":
            self._open[progress.trial.id] = None
        else:
            self._open.pop(progress.trial.id, None)
