"""Handing trials to planners and taking their answers."""

from collections.abc import Sequence

from cudanalyst.errors import BadRequest
from cudanalyst.resources.audit import audit, context_exposure
from cudanalyst.resources.delivery import NoTrial, Receipt, TrialPayload, payload_for, prompt_hash
from cudanalyst.resources.events import (
    Event,
    EvidenceDelivered,
    PlannerFailure,
    TrialContaminated,
    TrialOpened,
    TrialSubmitted,
)
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.expiry import judge_failure, opened_in
from cudanalyst.resources.exposure import stale_reason
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.resources.store import Scope
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.tools.source import MAX_SOURCE_BYTES, Source


def next_trial(
    experiments: Experiments, scope: Scope, experiment: str, *, accept_contaminated: bool = False
) -> TrialPayload | NoTrial:
    """Opens the next trial that this context may be given; asked again, gives the one that is open.

    A context is fresh for a checkpoint if it had no trial of its problem and never touched its lineage.

    Args:
        experiments: All experiments.
        scope: The planner's conversation.
        experiment: Handle of the experiment.
        accept_contaminated: Where no trial is left that would be valid here, open one all the same and mark it.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: The context has a trial of another experiment open.
    """
    with experiments.step(scope.owner, experiment) as state:
        if state.ended:
            return NoTrial(reason="ended", message="The experiment has ended. Call `attribution` for what it found.")
        for progress in state.open_trials():
            if opened_in(progress).context == scope.context:
                return _payload(experiments, scope, state, progress, progress.deadline_at)
        other = experiments.index(scope.owner).open_in(scope)
        if other is not None:
            raise BadRequest(f"Trial {other.trial} is open in this context. Submit it first.")
        waiting = [progress for progress in state.trials.values() if progress.state == "waiting"]
        if not waiting:
            return NoTrial(reason="none_waiting", message="All trials are open or being evaluated. Ask again later.")
        chosen, stale = _choose(experiments, scope, waiting)
        if stale is not None and not accept_contaminated:
            return NoTrial(
                reason="context_not_fresh",
                message=f"No valid trial for this context: {stale}. Ask from a fresh conversation (a new session or "
                "another `context`) that has not worked on these programs.",
            )
        return _open(experiments, scope, state, chosen, stale)


def submit_trial(
    experiments: Experiments,
    scope: Scope,
    trial: str,
    *,
    plan: Plan | None = None,
    source: str | None = None,
    failure: PlannerFailure | None = None,
) -> Receipt:
    """Takes a planner's answer, and says only that it has it. Sending the same answer again is harmless.

    Raises:
        NotFound: The trial is not this owner's.
        BadRequest: It is not open, has another answer already, or the answer is malformed.
    """
    _check_answer(plan, source, failure)
    store, owner = experiments.store, scope.owner
    experiment = experiments.of_trial(owner, trial)
    with experiments.step(owner, experiment) as state:
        checkpoint = experiments.checkpoint(owner, state.trials[trial].trial.checkpoint)
    candidate = (
        None if source is None else Source(text=source, problem=checkpoint.problem, options=checkpoint.source.options)
    )
    # Blobs first: an event must never name one that a kill kept from being written.
    plan_blob = None if plan is None else store.put(plan)
    candidate_blob = None if candidate is None else store.put(candidate)
    with experiments.step(owner, experiment) as state:
        progress = state.trials[trial]
        identity = None if candidate is None else candidate.id
        if progress.state != "open" or state.stopped is not None:
            return _late(progress, identity, failure)
        reason = audit(store, scope, progress, checkpoint)
        event = TrialSubmitted(
            experiment=experiment,
            trial=trial,
            problem=checkpoint.problem,
            plan_blob=plan_blob,
            candidate=identity,
            candidate_blob=candidate_blob,
            failure=failure,
        )
        store.append(opened_in(progress), event)
        if reason is not None and progress.contamination is None:
            store.append(Scope(owner), TrialContaminated(experiment=experiment, trial=trial, reason=reason))
        if failure is not None:
            judge_failure(store, owner, progress, checkpoint, failure)
    return Receipt(trial=trial)


def _check_answer(plan: Plan | None, source: str | None, failure: PlannerFailure | None) -> None:
    if (source is None) == (failure is None):
        raise BadRequest("Submit either `source` (the whole new program) or `failure`, not both and not neither.")
    if source is not None and len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        raise BadRequest(f"`source` is longer than {MAX_SOURCE_BYTES} bytes. Shorten it.")
    if plan is not None and len(plan.text) > MAX_PLAN:
        raise BadRequest(f"`plan` is longer than {MAX_PLAN} characters. Shorten it.")


def _choose(
    experiments: Experiments, scope: Scope, waiting: Sequence[TrialProgress]
) -> tuple[TrialProgress, str | None]:
    """The first waiting trial that is valid here, else the first with the reason why it is not."""
    exposure = context_exposure(experiments.store, scope)
    reasons: dict[str, str | None] = {}
    for progress in waiting:
        identity = progress.trial.checkpoint
        if identity not in reasons:
            reasons[identity] = stale_reason(experiments.checkpoint(scope.owner, identity), exposure)
        if reasons[identity] is None:
            return progress, None
    return waiting[0], reasons[waiting[0].trial.checkpoint]


def _open(
    experiments: Experiments, scope: Scope, state: ExperimentState, progress: TrialProgress, stale: str | None
) -> TrialPayload:
    trial = progress.trial
    payload = _payload(experiments, scope, state, progress, experiments.store.now() + state.spec.time_limit_s)
    checkpoint = experiments.checkpoint(scope.owner, trial.checkpoint)
    events: list[Event] = [
        TrialOpened(
            experiment=trial.experiment,
            trial=trial.id,
            problem=trial.problem,
            checkpoint=trial.checkpoint,
            attempt=progress.attempts + 1,
            prompt_hash=prompt_hash(payload),
            deadline_at=payload.deadline_at,
        )
    ]
    events += [
        EvidenceDelivered(
            candidate=checkpoint.source.id,
            component=component,
            evidence=checkpoint.evidence[component].id,
            via="trial_next",
            trial=trial.id,
        )
        for component in trial.coalition
    ]
    experiments.store.append_many(scope, events)
    if stale is not None:
        event = TrialContaminated(experiment=trial.experiment, trial=trial.id, reason=stale)
        experiments.store.append(Scope(scope.owner), event)
    return payload


def _payload(
    experiments: Experiments, scope: Scope, state: ExperimentState, progress: TrialProgress, deadline_at: float
) -> TrialPayload:
    trial = progress.trial
    checkpoint = experiments.checkpoint(scope.owner, trial.checkpoint)
    references = [experiments.store.candidate(scope.owner, identity) for identity in checkpoint.references]
    return payload_for(trial, checkpoint, state.spec.statements[trial.problem], references, deadline_at)


def _late(progress: TrialProgress, candidate: str | None, failure: PlannerFailure | None) -> Receipt:
    trial = progress.trial.id
    answered = progress.state in {"submitted", "evaluated"}
    if answered and (progress.candidate, progress.failure) == (candidate, failure):
        return Receipt(trial=trial)
    if progress.failure == "abandoned":
        raise BadRequest(
            f"Trial {trial} was not answered in time and counts as abandoned. Call `trial_next` for another."
        )
    if answered:
        raise BadRequest(f"Trial {trial} has been answered already; an answer cannot be changed.")
    raise BadRequest(f"Trial {trial} is not open. Call `trial_next` for one that is.")
