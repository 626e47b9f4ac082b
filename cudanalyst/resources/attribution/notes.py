"""What a reader must know beside the numbers, in plain words."""

from collections.abc import Collection

from cudanalyst.resources.attribution.estimate import Bools, Cells
from cudanalyst.resources.attribution.intervals import POPULATION_MIN, POPULATION_RELIABLE

_BANZHAF = "Banzhaf values do not add up to v(N) - v(empty); the Shapley values beside them do."
_POOLING = "Every problem weighs the same, and within it every checkpoint, however many trials each had."
_SINGLE = "Each interval covers its own effect at 95 %; among many effects some will miss by chance."
_INFORMATION = (
    "Components hold different text, but one may let a planner infer what another would have said; an interaction can "
    "come from that overlap."
)
_MODELLED = (
    "fast_modelled is speed from a cost model, not measured, and the profiler reads the same model: it supports no claim "
    "about the profiler and is never pooled with measured speed."
)


def overall(
    trials: int,
    problems: int,
    levels: Collection[str],
    contaminated: int,
    failed: int,
    *,
    bounded: bool,
    placebos: Collection[str],
) -> tuple[str, ...]:
    """Notes on the whole attribution."""
    found = [_BANZHAF, _POOLING, _SINGLE, _INFORMATION]
    if not trials:
        found.insert(0, "No trial has been evaluated yet, so nothing can be said.")
    if problems < POPULATION_MIN:
        found.append(
            f"{_count(problems, 'problem')}: intervals speak of these problems only. One for the population of problems "
            f"needs {POPULATION_MIN} or more, and is reliable from {POPULATION_RELIABLE}; repeats do not replace problems."
        )
    elif problems < POPULATION_RELIABLE:
        found.append(
            f"{problems} problems: intervals for the population of problems are shown, but are reliable only from "
            f"{POPULATION_RELIABLE} on."
        )
    if problems >= POPULATION_MIN:
        found.append(
            "An interval for the population of problems takes these as a random sample of it, and is too narrow where only "
            "a few problems in it respond at all."
        )
    if "fast_modelled" in levels:
        found.append(_MODELLED)
    if "regressed" in levels:
        found.append("At the level 'regressed' a positive effect is harm.")
    if placebos:
        found.append(
            f"{', '.join(sorted(placebos))} could not report on some checkpoint and a neutral text stood in: effects there "
            "are those of a placebo (structural)."
        )
    if contaminated:
        found.append(f"{_count(contaminated, 'contaminated trial')} left out: withheld evidence could have been seen.")
    if failed:
        means = "worst and best cases stand beside v(S)" if bounded else "they are left out of v(S), unevenly perhaps"
        found.append(f"{_count(failed, 'trial')} without an outcome (infrastructure failure): {means}.")
    return tuple(found)


def of_level(cells: Cells, complete: Bools, estimated: Collection[tuple[str, ...]], ceiling: int) -> tuple[str, ...]:
    """Notes on one level."""
    found = []
    left_out = int((~complete).sum())
    if len(complete) and not complete.any():
        empty = int((cells.trials == 0).sum())
        found.append(
            f"No checkpoint has a trial in every cell yet ({empty} of {cells.trials.size} are empty): each number is over "
            "the checkpoints that have what it needs, so rows are not comparable, and effects that need an empty cell "
            f"are absent ({len(estimated)} sets of players could be estimated)."
        )
    elif left_out:
        found.append(
            f"{_count(left_out, 'checkpoint')} of {len(complete)} left out: a cell has no trial yet, and none is imputed."
        )
    if ceiling:
        found.append(
            f"{_count(ceiling, 'checkpoint')} met this level before the trial: evidence cannot lift them, so effects are "
            "smaller than on those below it; both are shown apart where both exist."
        )
    return tuple(found)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
