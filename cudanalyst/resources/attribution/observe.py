"""From stored trials to what an estimator sees, by the rules for valid trials."""

from collections import Counter
from collections.abc import Iterable

from cudanalyst.resources.attribution.levels import SUCCESS
from cudanalyst.resources.attribution.table import Observation
from cudanalyst.resources.trials import Trial
from cudanalyst.values import Frozen


class Observed(Frozen):
    """The arguments of `attribute` that follow from trials alone."""

    levels: dict[str, tuple[Observation, ...]]
    contaminated: int
    """Evaluated, but left out of primary estimates."""
    infrastructure_failed: dict[tuple[str, tuple[str, ...]], int]
    """By checkpoint and coalition: no outcome, through no fault of planner or coder."""
    pending: int
    """Not evaluated yet."""


def observe(trials: Iterable[Trial], levels: Iterable[str] = tuple(SUCCESS)) -> Observed:
    """Sorts trials into outcomes and exclusions.

    A planner that refused, was cut off or gave up has an outcome, and that is a failure: it stays in the denominator.
    Contaminated trials and infrastructure failures are counted, never silently dropped.
    """
    found: dict[str, list[Observation]] = {level: [] for level in levels}
    failed: Counter[tuple[str, tuple[str, ...]]] = Counter()
    contaminated = pending = 0
    for trial in trials:
        if trial.contaminated:
            contaminated += 1
        elif trial.state == "infrastructure_failed":
            failed[trial.checkpoint, trial.coalition] += 1
        elif trial.outcome is None:
            pending += 1
        else:
            for level, observations in found.items():
                observations.append(
                    Observation(
                        problem=trial.problem,
                        checkpoint=trial.checkpoint,
                        block=trial.block,
                        coalition=trial.coalition,
                        success=SUCCESS[level](trial.outcome),
                    )
                )
    return Observed(
        levels={level: tuple(observations) for level, observations in found.items()},
        contaminated=contaminated,
        infrastructure_failed=dict(failed),
        pending=pending,
    )
