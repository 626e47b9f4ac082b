"""What comes after an answer: evaluation, its outcome, and infrastructure that fails. Blind to the coalition throughout."""

from cudanalyst.errors import BadRequest
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import Phase, TrialEvaluated, TrialInfrastructureFailed
from cudanalyst.resources.experiment import MAX_REASON, Experiments
from cudanalyst.resources.expiry import opened_in
from cudanalyst.resources.store import Scope
from cudanalyst.resources.trials import Outcome
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen


class Pending(Frozen):
    """A submitted candidate that waits for an outcome: what an evaluator needs, without the coalition."""

    trial: str
    source: Source
    checkpoint: Checkpoint
    """For the base status and the speedup before."""


def pending(experiments: Experiments, owner: str, experiment: str) -> tuple[Pending, ...]:
    """What an evaluator has to do: after a restart, exactly what was left undone.

    Raises:
        NotFound: The experiment is not this owner's.
    """
    with experiments.step(owner, experiment) as state:
        return tuple(
            Pending(
                trial=progress.trial.id,
                source=decode(Source, experiments.store.blob(progress.candidate_blob)),
                checkpoint=experiments.checkpoint(owner, progress.trial.checkpoint),
            )
            for progress in state.trials.values()
            if progress.state == "submitted" and progress.candidate_blob is not None and state.stopped is None
        )


def record_outcome(experiments: Experiments, owner: str, trial: str, outcome: Outcome) -> None:
    """Records what the evaluator found. The same outcome again is harmless.

    Raises:
        NotFound: The trial is not this owner's.
        BadRequest: It awaits no outcome, or has another one.
    """
    experiment = experiments.of_trial(owner, trial)
    with experiments.step(owner, experiment) as state:
        progress = state.trials[trial]
        if progress.state == "evaluated" and progress.outcome == outcome:
            return
        if progress.state != "submitted" or state.stopped is not None:
            raise BadRequest(f"Trial {trial} awaits no outcome. Call `pending` for those that do.")
        experiments.store.append(Scope(owner), TrialEvaluated(experiment=experiment, trial=trial, outcome=outcome))


def record_infrastructure_failure(experiments: Experiments, owner: str, trial: str, phase: Phase, reason: str) -> bool:
    """Records that a service failed; tells whether the trial will be tried again.

    Args:
        experiments: All experiments.
        owner: Whose trial it is.
        trial: Its handle.
        phase: `model`: no answer could be had, so the trial waits for another context. `evaluator`: the answer stays and
            is to be evaluated again.
        reason: What failed, in words.

    Raises:
        NotFound: The trial is not this owner's.
        BadRequest: The trial is in no state in which that phase could fail.
    """
    experiment = experiments.of_trial(owner, trial)
    with experiments.step(owner, experiment) as state:
        progress = state.trials[trial]
        if progress.state != ("open" if phase == "model" else "submitted") or state.stopped is not None:
            raise BadRequest(f"Trial {trial} is {progress.state}; its {phase} cannot have failed now.")
        tries = progress.attempts if phase == "model" else progress.evaluator_failures + 1
        final = tries >= state.spec.attempts
        event = TrialInfrastructureFailed(
            experiment=experiment, trial=trial, phase=phase, reason=reason[:MAX_REASON], final=final
        )
        # A failed model call closes the trial in its context; a failed evaluation is no planner's business.
        experiments.store.append(opened_in(progress) if phase == "model" else Scope(owner), event)
    return not final
