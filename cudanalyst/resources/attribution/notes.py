"""What a reader must know beside the numbers, in plain words."""

from collections.abc import Collection, Sequence

from cudanalyst.resources.attribution.cells import Bools, Cells
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.inference.intervals import POPULATION_MIN, POPULATION_RELIABLE
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.attribution.result import Drift, Exclusions
from cudanalyst.tools.text import many

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
SAMPLED = (
    "Coalitions were sampled: every trial counts for every player (maximum sample reuse), v(S) of single coalitions and "
    "indices that weigh coalitions otherwise (Shapley, sigma) are not estimated."
)


def of_slice(unmeasured: int, *, score: bool, level: str) -> tuple[str, ...]:
    """Notes on what a level could be counted on."""
    found = []
    if unmeasured:
        found.append(
            f"{many(unmeasured, 'checkpoint')} left out: {level} is not known of every trial there, and the trials of "
            "which it is known would be a selection."
        )
    if score:
        found.append(
            "Mean log of max(1, verified speedup), failures log 1 = 0: never speedup given that a candidate passed, which "
            "would compare different candidates."
        )
    return tuple(found)


def of_analysis(
    frame: Frame,
    plan: AnalysisPlan,
    exclusions: Exclusions,
    drifts: Sequence[Drift],
    levels: Collection[str],
    *,
    sampled: bool,
) -> tuple[str, ...]:
    """Notes on a whole analysis."""
    problems = len({unit.problem for unit in frame.units})
    found = [_BANZHAF, _POOLING, _SINGLE, _INFORMATION]
    if frame.lost.all():
        found.insert(0, "No trial has been evaluated yet, so nothing can be said.")
    found += _target(problems)
    if "fast_modelled" in levels:
        found.append(_MODELLED)
    if "regressed" in levels:
        found.append("At the level 'regressed' a positive effect is harm.")
    if placebos := frame.placebos():
        found.append(
            f"{', '.join(sorted(placebos))} could not report on some checkpoint and a neutral text stood in: effects there "
            "are those of a placebo (structural)."
        )
    if missing := [level for level in plan.levels if level not in levels]:
        found.append(f"Nothing was measured for {', '.join(missing)}: left out.")
    found += _left_out(plan, exclusions)
    found += [
        f"Sentinel trials of {one.planner} changed by {one.change:+.2f} over the experiment (p = {one.p:.3g}): compare "
        "within blocks only."
        for one in drifts
        if one.p < 0.05
    ]
    if sampled and plan.claims:
        found.append("Claims and regime contrasts are not tested with sampled coalitions.")
    return tuple(found)


def _left_out(plan: AnalysisPlan, exclusions: Exclusions) -> list[str]:
    """What is not, or not fully, in the estimates."""
    found = []
    if exclusions.contaminated:
        found.append(
            f"{many(exclusions.contaminated, 'contaminated trial')} left out: withheld evidence could have been seen."
        )
    if failed := exclusions.infrastructure_failed:
        found.append(
            f"{many(failed, 'trial')} without an outcome (infrastructure failure): worst and best cases stand beside v(S)."
        )
    if exclusions.open:
        found.append(
            f"{many(exclusions.open, 'trial')} of agents that could reach feedback by themselves: effects are those of "
            "assignment, not of delivery."
        )
    if exclusions.pending:
        found.append(f"{many(exclusions.pending, 'trial')} pending: this is a look in the middle of an experiment.")
        if plan.stopping.rule == "fixed":
            found.append("The plan does not stop early: what is seen now must not decide when to stop.")
    if exclusions.reused:
        found.append(f"{many(exclusions.reused, 'trial')} reused from other experiments left out.")
    return found


def _target(problems: int) -> list[str]:
    """What intervals speak of, by the number of problems."""
    found = []
    if problems < POPULATION_MIN:
        found.append(
            f"{many(problems, 'problem')}: intervals speak of these problems only. One for the population of problems "
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
    return found


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
            f"{many(left_out, 'checkpoint')} of {len(complete)} left out: a cell has no trial yet, and none is imputed."
        )
    if ceiling:
        found.append(
            f"{many(ceiling, 'checkpoint')} met this level before the trial: evidence cannot lift them, so effects are "
            "smaller than on those below it; both are shown apart where both exist."
        )
    return tuple(found)
