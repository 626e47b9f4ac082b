"""The state of an experiment as a fold over its events: nothing else is remembered, so a restart loses nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cudanalyst.resources.design.models import Design
from cudanalyst.resources.events import (
    ExperimentEnded,
    PlannerFailure,
    Recorded,
    TrialContaminated,
    TrialEvaluated,
    TrialInfrastructureFailed,
    TrialOpened,
    TrialReused,
    TrialStepped,
    TrialStepReady,
    TrialSubmitted,
)
from cudanalyst.resources.queues import Place, Queues
from cudanalyst.resources.regimes.pairing import Pairing
from cudanalyst.resources.trials import Coalition, Experiment, Outcome, Trial, TrialState, Usage
from cudanalyst.values import Frozen

State = TrialState


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
    design: Design | None = None
    """The file that it was laid down from."""


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
    usage: Usage | None = None
    submitted_at: float | None = None
    evaluated_at: float | None = None
    evaluate_s: float | None = None
    device_s: float | None = None
    reused_from: str | None = None
    plan_from: str | None = None
    definition: str | None = None
    step: int = 1
    stepping: bool = False
    """Open, but nobody's turn: the candidate of a step is being looked at."""
    step_checkpoint: str | None = None
    """State of the program at a later step."""

    def place(self) -> Place:
        """Where it is, for the queues."""
        turn = self.state == "open" and not self.stepping
        return Place(
            state=self.state,
            context=self.opened.context if self.state == "open" and self.opened is not None else None,
            deadline_at=self.deadline_at if turn else None,
            unjudged=(self.state == "submitted" or self.stepping) and self.candidate_blob is not None,
        )


@dataclass(slots=True)
class Accounts:
    """What the trials cost that `spent` has looked at."""

    calls: int = 0
    tokens: int = 0
    device_s: float = 0.0
    begun: float | None = None
    """When the first was opened."""
    of_trial: dict[str, tuple[int, int, float]] = field(default_factory=dict)


@dataclass(slots=True)
class ExperimentState:
    """A spec and the fold of all events up to `seq`."""

    spec: ExperimentSpec
    seq: int = 0
    stopped: str | None = None
    trials: dict[str, TrialProgress] = field(default_factory=dict)
    reused: set[str] = field(default_factory=set)
    """Trials of other experiments that were taken over: each at most once."""
    queues: Queues = field(init=False)
    pairing: Pairing = field(init=False)
    unaccounted: dict[str, None] = field(default_factory=dict)
    """Trials that something happened to since `spent` last looked."""
    accounts: Accounts = field(default_factory=Accounts)

    def __post_init__(self) -> None:
        """Every trial begins waiting."""
        self.trials = {trial.id: TrialProgress(trial) for trial in self.spec.trials}
        self.queues = Queues.of(self.spec.trials)
        self.pairing = Pairing.of(self.spec.trials)

    def fold(self, events: Iterable[Recorded]) -> None:
        """Takes in committed events, in order."""
        for recorded in events:
            self._apply(recorded)
            self.seq = recorded.seq

    def open_trials(self) -> tuple[TrialProgress, ...]:
        """Trials that a planner has in hand."""
        return tuple(self.trials[trial] for trial in self.queues.open)

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen, so that outcomes may be told."""
        return self.stopped is not None or self.queues.done

    def progress(self) -> Progress:
        """Counts by state."""
        counts = self.queues.counts
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
        _begin(progress, recorded)
        _end(progress, recorded)
        if isinstance(event, TrialReused):
            self.reused.add(event.source)
        self.queues.move(progress.trial, progress.place())
        self.pairing.moved(progress.trial, waits=progress.state == "waiting")
        if self.spec.design is not None:
            self.unaccounted[progress.trial.id] = None


def _sum(usage: Usage | None, more: Usage | None) -> Usage | None:
    return more if usage is None else usage.plus(more)


def _begin(progress: TrialProgress, recorded: Recorded) -> None:
    """Takes in what a planner was given and what it answered."""
    event = recorded.event
    match event:
        case TrialOpened():
            progress.state, progress.opened = "open", recorded
            progress.attempts, progress.prompt_hash = event.attempt, event.prompt_hash
            progress.deadline_at = event.deadline_at
            progress.plan_from, progress.definition = event.plan_from, event.definition
            progress.step, progress.stepping, progress.step_checkpoint = 1, False, None
            progress.usage = None
        case TrialStepped():
            progress.stepping, progress.usage = True, _sum(progress.usage, event.usage)
            progress.candidate, progress.candidate_blob = event.candidate, event.candidate_blob
        case TrialStepReady():
            progress.stepping, progress.step, progress.step_checkpoint = False, event.step, event.checkpoint
            progress.deadline_at = event.deadline_at
            progress.evaluate_s = _plus(progress.evaluate_s, event.evaluate_s)
            progress.device_s = _plus(progress.device_s, event.device_s)
        case TrialSubmitted():
            progress.state, progress.submitted_at, progress.stepping = "submitted", recorded.at, False
            progress.usage = _sum(progress.usage, event.usage)
            progress.plan_blob, progress.failure = event.plan_blob, event.failure
            progress.candidate, progress.candidate_blob = event.candidate, event.candidate_blob
        case TrialContaminated():
            progress.contamination = event.reason
        case _:
            pass


def _end(progress: TrialProgress, recorded: Recorded) -> None:
    """Takes in what came of it."""
    event = recorded.event
    match event:
        case TrialEvaluated():
            progress.state, progress.outcome, progress.evaluated_at = "evaluated", event.outcome, recorded.at
            progress.evaluate_s = _plus(progress.evaluate_s, event.evaluate_s)
            progress.device_s = _plus(progress.device_s, event.device_s)
        case TrialReused():
            progress.state, progress.outcome, progress.evaluated_at = "evaluated", event.outcome, recorded.at
            progress.reused_from, progress.prompt_hash = event.source, event.prompt_hash
            progress.plan_blob, progress.failure = event.plan_blob, event.failure
            progress.candidate, progress.candidate_blob = event.candidate, event.candidate_blob
        case TrialInfrastructureFailed(phase="model"):
            progress.state = "infrastructure_failed" if event.final else "waiting"
            # A later attempt runs in another context, so what this one knew no longer counts.
            progress.contamination = None
        case TrialInfrastructureFailed(phase="evaluator"):
            progress.evaluator_failures += 1
            if event.final:
                progress.state, progress.stepping = "infrastructure_failed", False
        case _:
            pass


def _plus(seconds: float | None, more: float | None) -> float | None:
    return seconds if more is None else (seconds or 0.0) + more
