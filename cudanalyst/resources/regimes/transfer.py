"""Plans of one planner for another: which recorded trial's plan a PT trial is given, and when."""

from typing import Literal

from cudanalyst.resources.codec import decode
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.store import Store
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.resources.trials import OVER, Trial

NO_PLAN = "no plan to transfer was recorded on this checkpoint and coalition"


def source_of(state: ExperimentState, trial: Trial) -> TrialProgress | Literal["later", "never"]:
    """The P+F trial of the other planner, on the same checkpoint and coalition, whose plan is given.

    That of the same repeat, so that plans are paired; where it came to no plan (a refusal, say), the next repeat's that has one,
    once it is known that its own will not come. The choice depends on no outcome.
    """
    own = own_source(state, trial)
    if own is not None and _usable(own):
        return own
    if own is not None and not _over(own):
        return "later"
    written = state.pairing.of_trial(trial)
    repeats = sorted(written, key=lambda repeat: (repeat < trial.repeat, repeat))
    others = [state.trials[written[repeat]] for repeat in repeats if repeat != trial.repeat]
    ready = next((one for one in others if _usable(one)), None)
    if ready is not None:
        return ready
    return "never" if all(map(_over, others)) else "later"


def settle_pairs(state: ExperimentState) -> None:
    """Looks at the PT trials that something has changed for: there is a plan for them now, or there will never be one."""
    for identity in state.pairing.to_settle:
        trial = state.trials[identity].trial
        if state.trials[identity].state != "waiting":
            continue
        source, own = source_of(state, trial), own_source(state, trial)
        if isinstance(source, TrialProgress):
            state.queues.waiting.add(trial)
        else:
            state.queues.waiting.discard(trial)
        orphan = own is None or (_over(own) and not _usable(own))
        state.pairing.settled(trial, never=source == "never", orphan=orphan)
    state.pairing.to_settle.clear()


def own_source(state: ExperimentState, trial: Trial) -> TrialProgress | None:
    """The P+F trial that a PT trial is paired with."""
    identity = state.pairing.of_trial(trial).get(trial.repeat)
    return None if identity is None else state.trials[identity]


def plan_text(store: Store, progress: TrialProgress) -> str:
    """The plan that a trial was answered with."""
    return decode(Plan, store.blob(progress.plan_blob or "")).text


def _usable(progress: TrialProgress) -> bool:
    answered = progress.state in {"submitted", "evaluated"}
    return answered and progress.plan_blob is not None and progress.contamination is None


def _over(progress: TrialProgress) -> bool:
    return progress.state in OVER or progress.state == "submitted"
