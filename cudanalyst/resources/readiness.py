"""Which trials can be given out now, and what ends without a planner: reused trials, plans that never come, a spent budget."""

from collections.abc import Collection
from itertools import islice
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.delivery import NoTrial, Setting, TrialPayload, payload_for
from cudanalyst.resources.events import Event, ExperimentEnded, TrialInfrastructureFailed, TrialReused
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.regimes.transfer import NO_PLAN, plan_text, settle_pairs, source_of
from cudanalyst.resources.reuse import find_same
from cudanalyst.resources.spent import exceeded, spent
from cudanalyst.resources.store import Scope
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.resources.trials import Trial

BATCH: Final = 256
"""Trials that one step settles: a step holds up every other writer."""


def check_planner(state: ExperimentState, planner: str | None) -> None:
    """Refuses a planner that the experiment does not have.

    Raises:
        BadRequest: There is none of that name.
    """
    names = state.queues.waiting.planners
    if planner is not None and planner not in names:
        raise BadRequest(f"planner: {planner!r} is no planner of this experiment ({', '.join(names)}).")


def payload_of(
    experiments: Experiments, owner: str, state: ExperimentState, progress: TrialProgress, deadline_at: float
) -> TrialPayload:
    """What a trial's planner is given; the same bytes whenever it is asked for."""
    trial = at_step(progress, state)
    checkpoint = experiments.checkpoint(owner, trial.checkpoint)
    references = [experiments.store.candidate(owner, identity) for identity in checkpoint.references]
    return payload_for(
        trial,
        checkpoint,
        state.spec.statements[trial.problem],
        references,
        deadline_at,
        donor=None if trial.donor is None else experiments.checkpoint(owner, trial.donor),
        plan=_plan(experiments, state, progress),
        step=progress.step if progress.state == "open" else 1,
        setting=setting_of(state, trial),
    )


def at_step(progress: TrialProgress, state: ExperimentState) -> Trial:
    """The trial as its present step is delivered: after the first, on what the planner has made."""
    if progress.state != "open" or progress.step_checkpoint is None:
        return progress.trial
    return continued(progress.trial, state, progress.step_checkpoint)


def continued(trial: Trial, state: ExperimentState, checkpoint: str) -> Trial:
    """A trial at a later step: on another state of the program, with all players' evidence or its coalition's to the end."""
    design = state.spec.design
    to_the_end = design is not None and design.later_steps == "coalition"
    coalition = trial.coalition if to_the_end else state.spec.experiment.players
    return trial.model_copy(update={"checkpoint": checkpoint, "coalition": coalition})


def settle(experiments: Experiments, owner: str, state: ExperimentState, planner: str | None) -> bool:
    """Ends waiting trials that no planner is needed for; tells whether there were any.

    Looking for an equal trial costs a look at all that defines one, so it stops at the first that has none: that is the next to go
    out, and the others are looked at when it is their turn.
    """
    settle_pairs(state)
    without = (state.trials[identity].trial for identity in state.pairing.without)
    planless = (_without_plan(trial) for trial in without if planner in {None, trial.planner})
    events: list[Event] = list(islice(planless, BATCH))
    if state.spec.design is not None and state.spec.design.reuse:
        taken = set(state.reused)
        for identity in state.queues.waiting.of(planner):
            same = same_elsewhere(experiments, owner, state, state.trials[identity], taken)
            if same is None or len(events) >= BATCH:
                break
            events.append(same)
            taken.add(same.source)
    if events:
        experiments.store.append_many(Scope(owner), events)
    return bool(events)


def same_elsewhere(
    experiments: Experiments, owner: str, state: ExperimentState, progress: TrialProgress, taken: Collection[str]
) -> TrialReused | None:
    """An equal trial of another experiment, where the design takes such over."""
    design = state.spec.design
    if design is None or not design.reuse:
        return None
    payload = payload_of(experiments, owner, state, progress, 0.0)
    return find_same(experiments, owner, design, progress, payload, taken)


def _without_plan(trial: Trial) -> TrialInfrastructureFailed:
    return TrialInfrastructureFailed(
        experiment=trial.experiment, trial=trial.id, phase="model", reason=NO_PLAN, final=True
    )


def over_budget(experiments: Experiments, owner: str, state: ExperimentState) -> NoTrial | None:
    """Stops an experiment whose budget is spent, once what is under way is done; blind to outcomes."""
    design = state.spec.design
    reached = None if design is None else exceeded(design.budget, spent(state, experiments.store.now()))
    if reached is None:
        return None
    if state.queues.counts["open"] or state.queues.counts["submitted"]:
        return NoTrial(reason="none_waiting", message=f"No more trials are given out: {reached}.")
    experiments.store.append(Scope(owner), ExperimentEnded(experiment=state.spec.experiment.id, reason=reached))
    return NoTrial(reason="ended", message=f"The experiment has ended: {reached}.")


def _plan(experiments: Experiments, state: ExperimentState, progress: TrialProgress) -> str | None:
    """The transferred plan: once a trial was opened, the one that it was opened with."""
    if progress.trial.plan_of is None:
        return None
    opened = progress.plan_from if progress.state == "open" else None
    source = state.trials[opened] if opened is not None else source_of(state, progress.trial)
    return plan_text(experiments.store, source) if isinstance(source, TrialProgress) else None


def setting_of(state: ExperimentState, trial: Trial) -> Setting:
    """What the design holds constant for a trial's planner."""
    design = state.spec.design
    if design is None:
        return Setting()
    planner = design.planner(trial.planner)
    coder = design.coder_of(planner)
    options = {"planner": planner.options, "coder": coder.options}
    return Setting.model_validate(
        {"coder_sees": design.coder_sees, "decoding": {role: one for role, one in options.items() if one}}
    )
