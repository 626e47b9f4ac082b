"""Planners that give no candidate: judged at once, and where they simply stay away, when their time is over."""

from collections.abc import Callable

from cudanalyst.errors import BadRequest
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import PlannerFailure, TrialEvaluated, TrialSubmitted
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.tools.timing.models import FAST_THRESHOLD


def opened_in(progress: TrialProgress) -> Scope:
    """The conversation that a trial was opened in.

    Raises:
        BadRequest: It was opened in none yet.
    """
    opened = progress.opened
    if opened is None:
        raise BadRequest(f"Trial {progress.trial.id} was not given to anybody yet. Call `trial_next`.")
    return Scope(opened.owner, opened.session, opened.context)


def judge_failure(
    store: Store,
    owner: str,
    progress: TrialProgress,
    checkpoint: Checkpoint,
    failure: PlannerFailure,
    threshold: float = FAST_THRESHOLD,
) -> None:
    """A planner that gave no candidate fails at every level; no evaluator is needed to say so."""
    outcome = outcome_of(
        checkpoint.base_status,
        None,
        None,
        None,
        before_speedup=checkpoint.modelled_speedup,
        planner_failure=failure,
        threshold=threshold,
    )
    trial = progress.trial
    store.append(Scope(owner), TrialEvaluated(experiment=trial.experiment, trial=trial.id, outcome=outcome))


def abandon_expired(
    store: Store, owner: str, state: ExperimentState, checkpoint_of: Callable[[str, str], Checkpoint]
) -> bool:
    """Counts open trials past their deadline as abandoned; tells whether there were any."""
    if state.stopped is not None:
        return False
    now = store.now()
    if not state.queues.any_late(now):
        return False
    late = [progress for progress in state.open_trials() if progress.deadline_at <= now and not progress.stepping]
    for progress in late:
        trial = progress.trial
        event = TrialSubmitted(experiment=trial.experiment, trial=trial.id, problem=trial.problem, failure="abandoned")
        store.append(opened_in(progress), event)
        threshold = state.spec.experiment.fast_threshold
        judge_failure(store, owner, progress, checkpoint_of(owner, trial.checkpoint), "abandoned", threshold)
    return bool(late)
