"""What an experiment found, once it has ended: until then nothing here answers, whoever asks."""

from collections import Counter

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.attribution.table import Observation
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.outcomes import no_op, succeeded
from cudanalyst.resources.trial_state import CoalitionTally, ExperimentState
from cudanalyst.resources.trials import Level, Trial
from cudanalyst.values import Frozen


class NoOp(Frozen):
    """What changing nothing would score at a level."""

    level: Level
    score: float
    """Share of the experiment's checkpoints that meet the level as they are."""
    ceiling_checkpoints: tuple[str, ...]


def observations(experiments: Experiments, owner: str, experiment: str, level: Level) -> list[Observation]:
    """One row per evaluated trial at a success level, contaminated ones left out: the input of every estimator.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended, or the level was not measured.
    """
    with experiments.step(owner, experiment) as state:
        _require_ended(state)
        return [
            Observation(
                problem=progress.trial.problem,
                checkpoint=progress.trial.checkpoint,
                block=progress.trial.block,
                coalition=progress.trial.coalition,
                success=succeeded(progress.outcome, level),
            )
            for progress in state.trials.values()
            if progress.outcome is not None and progress.contamination is None
        ]


def trials(experiments: Experiments, owner: str, experiment: str) -> tuple[Trial, ...]:
    """Every trial with its assignment and outcome, in the order of the design.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended.
    """
    with experiments.step(owner, experiment) as state:
        _require_ended(state)
        return tuple(progress.as_trial() for progress in state.trials.values())


def tallies(experiments: Experiments, owner: str, experiment: str) -> tuple[CoalitionTally, ...]:
    """What became of the trials by coalition: missing and contaminated ones bound what a value could be.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended.
    """
    with experiments.step(owner, experiment) as state:
        _require_ended(state)
        return state.tallies()


def no_op_score(experiments: Experiments, owner: str, experiment: str, level: Level) -> NoOp:
    """The score of changing nothing, and the checkpoints that leave nothing to gain."""
    with experiments.step(owner, experiment) as state:
        checkpoints = state.spec.experiment.checkpoints
        met = tuple(one for one in checkpoints if no_op(experiments.checkpoint(owner, one), level))
    return NoOp(level=level, score=len(met) / len(checkpoints), ceiling_checkpoints=met)


def structural_checkpoints(experiments: Experiments, owner: str, experiment: str) -> dict[Component, int]:
    """On how many checkpoints each player could not report, so that a placebo stood for it.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended.
    """
    with experiments.step(owner, experiment) as state:
        _require_ended(state)
        spec = state.spec.experiment
        counts = Counter(
            player
            for identity in spec.checkpoints
            for player in spec.players
            if experiments.checkpoint(owner, identity).evidence[player].structural
        )
    return {player: counts[player] for player in spec.players}


def _require_ended(state: ExperimentState) -> None:
    if not state.ended:
        progress = state.progress()
        done = progress.evaluated + progress.infrastructure_failed
        raise BadRequest(
            f"Results stay closed until the experiment ends: {done} of {progress.trials} trials are done. "
            "Finish the trials, or end the experiment."
        )
