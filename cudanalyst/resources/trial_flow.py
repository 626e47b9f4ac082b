"""Handing trials to planners and taking their answers."""

from cudanalyst.errors import BadRequest
from cudanalyst.resources.audit import audit
from cudanalyst.resources.delivery import NoTrial, Receipt, TrialPayload, deliveries_of, prompt_hash
from cudanalyst.resources.events import PlannerFailure, TrialContaminated, TrialOpened, TrialStepped, TrialSubmitted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.expiry import judge_failure, opened_in
from cudanalyst.resources.exposure import stale_reason
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.resources.readiness import check_planner, over_budget, payload_of, same_elsewhere, settle
from cudanalyst.resources.regimes.transfer import source_of
from cudanalyst.resources.reuse import definition_of
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.resources.trials import Usage
from cudanalyst.tools.source import MAX_SOURCE_BYTES, Source


def next_trial(
    experiments: Experiments,
    scope: Scope,
    experiment: str,
    *,
    planner: str | None = None,
    accept_contaminated: bool = False,
    durable: bool = True,
) -> TrialPayload | NoTrial:
    """Opens the next trial that this context may be given; asked again, gives the one that is open.

    A context is fresh for a checkpoint if it had no trial of its problem and never touched its lineage.

    Args:
        experiments: All experiments.
        scope: The planner's conversation.
        experiment: Handle of the experiment.
        planner: Take trials of this planner only; None takes any.
        accept_contaminated: Where no trial is left that would be valid here, open one all the same and mark it.
        durable: As in `Experiments.step`.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: The context has a trial of another experiment open, or the experiment has no such planner.
    """
    while True:
        with experiments.step(scope.owner, experiment, durable=durable) as state:
            given = _next(experiments, scope, state, planner, accept_contaminated)
        if given is not None:
            return given


def _next(
    experiments: Experiments,
    scope: Scope,
    state: ExperimentState,
    planner: str | None,
    accept_contaminated: bool,  # noqa: FBT001 - internal
) -> TrialPayload | NoTrial | None:
    """One step; None where it only settled trials that need no planner, so that the next step sees their ends."""
    if state.ended:
        return NoTrial(reason="ended", message="The experiment has ended. Call `attribution` for what it found.")
    mine = state.queues.open_in(scope.context)
    if mine is not None:
        progress = state.trials[mine]
        if progress.stepping:
            message = "Your last step is being looked at. Ask again for the next."
            return NoTrial(reason="none_waiting", message=message)
        return payload_of(experiments, scope.owner, state, progress, progress.deadline_at)
    other = experiments.index(scope.owner).open_in(scope)
    if other is not None:
        raise BadRequest(f"Trial {other.trial} is open in this context. Submit it first.")
    check_planner(state, planner)
    if settle(experiments, scope.owner, state, planner):
        return None
    first = next(state.queues.waiting.of(planner), None)
    over = None if first is None else over_budget(experiments, scope.owner, state)
    if over is not None:
        return over
    if first is None:
        message = "All trials are open, being evaluated, or wait for another planner's plan. Ask again later."
        if planner is not None and not state.queues.counts["waiting"]:
            message = "All trials are open or being evaluated. Ask again later."
        return NoTrial(reason="none_waiting", message=message)
    chosen, stale = _choose(experiments, scope, state, planner)
    if stale is not None and not accept_contaminated:
        return NoTrial(
            reason="context_not_fresh",
            message=f"No valid trial for this context: {stale}. Ask from a fresh conversation (a new session or "
            "another `context`) that has not worked on these programs.",
        )
    same = None if chosen.trial.id == first else same_elsewhere(experiments, scope.owner, state, chosen, state.reused)
    if same is not None:
        experiments.store.append(Scope(scope.owner), same)
        return None
    return _open(experiments, scope, state, chosen, stale)


def submit_trial(
    experiments: Experiments,
    scope: Scope,
    trial: str,
    *,
    plan: Plan | None = None,
    source: str | None = None,
    failure: PlannerFailure | None = None,
    usage: Usage | None = None,
    durable: bool = True,
) -> Receipt:
    """Takes a planner's answer, and says only that it has it. Sending the same answer again is harmless.

    Args:
        experiments: All experiments.
        scope: The planner's conversation.
        trial: Handle of the trial.
        plan: What was planned.
        source: The whole new source.
        failure: Why there is none, in place of it.
        usage: What the answer cost.
        durable: As in `Experiments.step`.

    Raises:
        NotFound: The trial is not this owner's.
        BadRequest: It is not open, has another answer already, or the answer is malformed.
    """
    _check_answer(plan, source, failure)
    store, owner = experiments.store, scope.owner
    experiment = experiments.of_trial(owner, trial)
    checkpoint = experiments.checkpoint(owner, experiments.assigned(owner, experiment, trial).checkpoint)
    candidate = (
        None if source is None else Source(text=source, problem=checkpoint.problem, options=checkpoint.source.options)
    )
    # Blobs first: an event must never name one that a kill kept from being written.
    plan_blob = None if plan is None else store.put(plan)
    candidate_blob = None if candidate is None else store.put(candidate)
    with experiments.step(owner, experiment, durable=durable) as state:
        progress = state.trials[trial]
        identity = None if candidate is None else candidate.id
        if progress.state != "open" or progress.stepping or state.stopped is not None:
            return _late(progress, identity, failure)
        reason = audit(store, scope, progress, checkpoint, experiments.exposure)
        if identity is not None and candidate_blob is not None and progress.step < progress.trial.horizon:
            stepped = TrialStepped(
                experiment=experiment,
                trial=trial,
                step=progress.step,
                candidate=identity,
                candidate_blob=candidate_blob,
                plan_blob=plan_blob,
                usage=usage,
            )
            store.append(opened_in(progress), stepped)
            _mark(store, owner, progress, reason)
            return Receipt(trial=trial, goes_on=True)
        event = TrialSubmitted(
            experiment=experiment,
            trial=trial,
            problem=checkpoint.problem,
            plan_blob=plan_blob,
            candidate=identity,
            candidate_blob=candidate_blob,
            failure=failure,
            usage=usage,
        )
        store.append(opened_in(progress), event)
        _mark(store, owner, progress, reason)
        if failure is not None:
            judge_failure(store, owner, progress, checkpoint, failure, state.spec.experiment.fast_threshold)
    return Receipt(trial=trial)


def _mark(store: Store, owner: str, progress: TrialProgress, reason: str | None) -> None:
    if reason is not None and progress.contamination is None:
        trial = progress.trial
        store.append(Scope(owner), TrialContaminated(experiment=trial.experiment, trial=trial.id, reason=reason))


def _check_answer(plan: Plan | None, source: str | None, failure: PlannerFailure | None) -> None:
    if (source is None) == (failure is None):
        raise BadRequest("Submit either `source` (the whole new program) or `failure`, not both and not neither.")
    if source is not None and len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        raise BadRequest(f"`source` is longer than {MAX_SOURCE_BYTES} bytes. Shorten it.")
    if plan is not None and len(plan.text) > MAX_PLAN:
        raise BadRequest(f"`plan` is longer than {MAX_PLAN} characters. Shorten it.")


def _choose(
    experiments: Experiments, scope: Scope, state: ExperimentState, planner: str | None
) -> tuple[TrialProgress, str | None]:
    """The first waiting trial that is valid here, else the first with the reason why it is not."""
    exposure = experiments.exposure(scope)

    def reason_against(progress: TrialProgress) -> str | None:
        shown = filter(None, (progress.trial.checkpoint, progress.trial.donor))
        reasons = (stale_reason(experiments.checkpoint(scope.owner, identity), exposure) for identity in shown)
        return next(filter(None, reasons), None)

    first = state.trials[next(state.queues.waiting.of(planner))]
    reason = reason_against(first)
    if reason is None:
        return first, None
    for identity in state.queues.waiting.first_of_groups(planner):
        if reason_against(state.trials[identity]) is None:
            return state.trials[identity], None
    return first, reason


def _open(
    experiments: Experiments, scope: Scope, state: ExperimentState, progress: TrialProgress, stale: str | None
) -> TrialPayload:
    trial = progress.trial
    source = source_of(state, trial) if trial.plan_of is not None else None
    plan_from = source.trial.id if isinstance(source, TrialProgress) else None
    deadline_at = experiments.store.now() + state.spec.time_limit_s
    payload = payload_of(experiments, scope.owner, state, progress, deadline_at)
    design = state.spec.design
    opened = TrialOpened(
        experiment=trial.experiment,
        trial=trial.id,
        problem=trial.problem,
        checkpoint=trial.checkpoint,
        attempt=progress.attempts + 1,
        prompt_hash=prompt_hash(payload),
        deadline_at=deadline_at,
        plan_from=plan_from,
        definition=None if design is None else definition_of(design, trial, payload),
    )
    shown = experiments.checkpoint(scope.owner, trial.donor or trial.checkpoint)
    experiments.store.append_many(scope, [opened, *deliveries_of(trial, payload.evidence, shown)])
    if stale is not None:
        event = TrialContaminated(experiment=trial.experiment, trial=trial.id, reason=stale)
        experiments.store.append(Scope(scope.owner), event)
    return payload


def _late(progress: TrialProgress, candidate: str | None, failure: PlannerFailure | None) -> Receipt:
    trial = progress.trial.id
    answered = progress.state in {"submitted", "evaluated"} or progress.stepping
    if progress.stepping and (progress.candidate, failure) == (candidate, None):
        return Receipt(trial=trial, goes_on=True)
    if answered and (progress.candidate, progress.failure) == (candidate, failure):
        return Receipt(trial=trial)
    if progress.failure == "abandoned":
        raise BadRequest(
            f"Trial {trial} was not answered in time and counts as abandoned. Call `trial_next` for another."
        )
    if answered:
        raise BadRequest(f"Trial {trial} has been answered already; an answer cannot be changed.")
    raise BadRequest(f"Trial {trial} is not open. Call `trial_next` for one that is.")
