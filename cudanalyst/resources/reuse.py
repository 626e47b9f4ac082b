"""Trials of other experiments that are the same trial: taken over instead of run, marked, and counted once."""

from collections.abc import Collection
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from cudanalyst.resources.delivery import TrialPayload, prompt_hash
from cudanalyst.resources.design.models import Agent, Design
from cudanalyst.resources.events import TrialReused
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.trial_state import TrialProgress
from cudanalyst.resources.trials import Trial
from cudanalyst.values import Frozen, content_id

_APART: Final = {"price_input", "price_output", "plans_from", "family", "coder"}
"""Of an agent: what says nothing of how it answers."""


class _Definition(Frozen):
    """Everything that defines a trial; hashed."""

    prompt: str
    regime: str
    coalition: tuple[str, ...]
    horizon: int
    later_steps: str | None
    seed: int
    planner: dict[str, object]
    coder: dict[str, object]
    checkpoint: str
    donor: str | None
    threshold: float
    open: bool
    evaluator: str


@cache
def evaluator_version() -> str:
    """Version of what judges; without an installed package none, so that nothing is taken for the same by chance."""
    try:
        return version("cudanalyst")
    except PackageNotFoundError:
        return "source"


def definition_of(design: Design, trial: Trial, payload: TrialPayload) -> str | None:
    """Names a trial by all that defines it: frozen state and evidence, prompt, regime, who answers with which decoding, seed,
    evaluator, thresholds. None for sentinels, which exist to be repeated.
    """
    if trial.sentinel:
        return None
    planner = design.planner(trial.planner)
    return content_id(
        "def",
        _Definition(
            prompt=prompt_hash(payload),
            regime=trial.regime,
            coalition=trial.coalition,
            horizon=trial.horizon,
            later_steps=design.later_steps if trial.horizon > 1 else None,
            seed=trial.seed,
            planner=_who(planner),
            coder=_who(design.coder_of(planner)),
            checkpoint=trial.checkpoint,
            donor=trial.donor,
            threshold=design.thresholds.fast,
            open=design.open,
            evaluator=evaluator_version(),
        ),
    )


def find_same(
    experiments: Experiments,
    owner: str,
    design: Design,
    progress: TrialProgress,
    payload: TrialPayload,
    taken: Collection[str],
) -> TrialReused | None:
    """What to record where another experiment has run the same trial, validly; call it within a step.

    Args:
        experiments: All experiments.
        owner: Whose they are.
        design: Of this experiment.
        progress: The trial that waits.
        payload: What its planner would be given.
        taken: Trials that this experiment has taken over already: each counts once.
    """
    definition = definition_of(design, progress.trial, payload)
    if definition is None:
        return None
    for experiment, trial in experiments.index(owner).defined_as(definition):
        if experiment == progress.trial.experiment or trial in taken:
            continue
        other = experiments.peek(owner, experiment)
        one = other.trials[trial]
        if (
            one.state != "evaluated"
            or one.outcome is None
            or one.contamination is not None
            or other.spec.experiment.open
        ):
            continue
        return TrialReused(
            experiment=progress.trial.experiment,
            trial=progress.trial.id,
            source=trial,
            prompt_hash=prompt_hash(payload),
            outcome=one.outcome,
            candidate=one.candidate,
            candidate_blob=one.candidate_blob,
            plan_blob=one.plan_blob,
            failure=one.failure,
        )
    return None


def _who(agent: Agent) -> dict[str, object]:
    return agent.model_dump(mode="json", exclude=_APART)
