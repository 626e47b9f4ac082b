"""What comes after an answer: evaluation, its outcome, and infrastructure that fails. Blind to the coalition throughout."""

from collections.abc import Collection

from cudanalyst.errors import BadRequest
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.codec import decode
from cudanalyst.resources.delivery import delivered, deliveries_of
from cudanalyst.resources.events import Phase, TrialEvaluated, TrialInfrastructureFailed, TrialStepReady
from cudanalyst.resources.experiment import MAX_REASON, Experiments
from cudanalyst.resources.expiry import opened_in
from cudanalyst.resources.readiness import continued, setting_of
from cudanalyst.resources.store import Scope
from cudanalyst.resources.trials import Outcome
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import FAST_THRESHOLD
from cudanalyst.values import Frozen


class Pending(Frozen):
    """A submitted candidate that waits for an outcome: what an evaluator needs, without the coalition."""

    trial: str
    source: Source
    checkpoint: Checkpoint
    """For the base status and the speedup before."""
    threshold: float = FAST_THRESHOLD
    """Speedup from which a passing candidate is fast."""
    step: int | None = None
    """The step that it answered, where the trial goes on: it is to be frozen, not judged."""


def pending(
    experiments: Experiments, owner: str, experiment: str, known: Collection[str] = frozenset()
) -> tuple[Pending, ...]:
    """What an evaluator has to do, in the order of the answers: after a restart, exactly what was left undone.

    Args:
        experiments: All experiments.
        owner: Whose experiment it is.
        experiment: Its handle.
        known: Trials that the evaluator has in hand, to be left out.

    Raises:
        NotFound: The experiment is not this owner's.
    """
    with experiments.step(owner, experiment, durable=False) as state:
        left = () if state.stopped is not None else (one for one in state.queues.unjudged if one not in known)
        return tuple(
            Pending(
                trial=progress.trial.id,
                source=decode(Source, experiments.store.blob(progress.candidate_blob)),
                checkpoint=experiments.checkpoint(owner, progress.trial.checkpoint),
                threshold=state.spec.experiment.fast_threshold,
                step=progress.step if progress.stepping else None,
            )
            for progress in map(state.trials.__getitem__, left)
            if progress.candidate_blob is not None
        )


def record_outcome(
    experiments: Experiments,
    owner: str,
    trial: str,
    outcome: Outcome,
    *,
    evaluate_s: float | None = None,
    device_s: float | None = None,
    durable: bool = True,
) -> None:
    """Records what the evaluator found. The same outcome again is harmless.

    Args:
        experiments: All experiments.
        owner: Whose trial it is.
        trial: Its handle.
        outcome: What was found.
        evaluate_s: Wall seconds of judging it.
        device_s: Those of them on a device.
        durable: Whether to wait for the disk. Nobody is told an outcome before a durable record of the telling, and one that is
            lost at a power cut is found again.

    Raises:
        NotFound: The trial is not this owner's.
        BadRequest: It awaits no outcome, or has another one.
    """
    experiment = experiments.of_trial(owner, trial)
    with experiments.step(owner, experiment, durable=durable) as state:
        progress = state.trials[trial]
        if progress.state == "evaluated" and progress.outcome == outcome:
            return
        if progress.state != "submitted" or state.stopped is not None:
            raise BadRequest(f"Trial {trial} awaits no outcome. Call `pending` for those that do.")
        event = TrialEvaluated(
            experiment=experiment, trial=trial, outcome=outcome, evaluate_s=evaluate_s, device_s=device_s
        )
        experiments.store.append(Scope(owner), event)


def record_step(
    experiments: Experiments,
    owner: str,
    trial: str,
    step: int,
    frozen: Checkpoint,
    *,
    evaluate_s: float | None = None,
    device_s: float | None = None,
) -> None:
    """Records the state of the program after a step, so that the next can begin. The same again is harmless.

    Raises:
        NotFound: The trial is not this owner's.
    """
    store, experiment = experiments.store, experiments.of_trial(owner, trial)
    blob = store.put(frozen)
    with experiments.step(owner, experiment) as state:
        progress = state.trials[trial]
        if not progress.stepping or progress.step != step or state.stopped is not None:
            return
        store.show(owner, frozen.id, blob)
        ready = TrialStepReady(
            experiment=experiment,
            trial=trial,
            step=step + 1,
            checkpoint=frozen.id,
            deadline_at=store.now() + state.spec.time_limit_s,
            evaluate_s=evaluate_s,
            device_s=device_s,
        )
        context = opened_in(progress)
        shown = continued(progress.trial, state, frozen.id)
        whose = frozen if shown.donor is None else experiments.checkpoint(owner, shown.donor)
        told = delivered(shown, whose, setting_of(state, shown))
        store.append_many(context, [ready, *deliveries_of(shown, told, whose)])


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
        expected = progress.state == "open" and not progress.stepping
        if phase == "evaluator":
            expected = progress.state == "submitted" or progress.stepping
        if not expected or state.stopped is not None:
            raise BadRequest(f"Trial {trial} is {progress.state}; its {phase} cannot have failed now.")
        tries = progress.attempts if phase == "model" else progress.evaluator_failures + 1
        final = tries >= state.spec.attempts
        event = TrialInfrastructureFailed(
            experiment=experiment, trial=trial, phase=phase, reason=reason[:MAX_REASON], final=final
        )
        # A failed model call closes the trial in its context; a failed evaluation is no planner's business.
        experiments.store.append(opened_in(progress) if phase == "model" else Scope(owner), event)
    return not final
