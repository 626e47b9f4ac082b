"""From an experiment's trials to its attribution, in the middle of it too: the one path to results, for whoever may see them."""

from typing import Final

from cudanalyst.resources.answers import AttributionResult, LevelInShort
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.attribution.result import Analysis, Condition, Slice
from cudanalyst.resources.attribution.table import Effect, interval_for
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.report.view import attribution_of as attribution_under
from cudanalyst.resources.report.view import conditions, ladder, leads, pooled
from cudanalyst.resources.trial_rows import rows_of

_PEEKING: Final = "to stop at a look, go by `sequences`, as intervals hold for one look only."


def attribution_of(experiments: Experiments, owner: str, experiment: str) -> AttributionResult:
    """The attribution of what has been evaluated so far. Who may see it when is the caller's to check.

    Raises:
        NotFound: The experiment is not this owner's.
    """
    progress = experiments.progress(owner, experiment)
    with experiments.step(owner, experiment) as state:
        spec = state.spec
        missing = tuple(one for one in state.tallies() if one.evaluated < one.trials or one.contaminated)
    counted = {"experiment": experiment, "evaluated": progress.evaluated, "trials": progress.trials, "missing": missing}
    if progress.evaluated == 0:
        summary = f"Nothing has been evaluated yet: {progress.submitted} of {progress.trials} trials are submitted."
        return AttributionResult.model_validate({"status": "empty", "summary": summary, **counted})
    plan = spec.design.analysis_plan if spec.design is not None else AnalysisPlan()
    found = analyse(rows_of(experiments, owner, experiment), plan)
    lead = leads(found)
    interim = "" if progress.ended else f"Interim, {progress.evaluated} of {progress.trials} trials; {_PEEKING} "
    return AttributionResult.model_validate(
        {
            "status": "final" if progress.ended else "interim",
            "summary": f"{interim}{in_words(found, interim=not progress.ended)}",
            "levels": _levels(found),
            "notes": found.notes,
            "attribution": attribution_under(found, lead[0]) if lead else None,
            "analysis": found if spec.design is not None else None,
            "report": f"cudanalyst://experiments/{experiment}/report" if progress.ended else None,
            **counted,
        }
    )


def _levels(found: Analysis) -> tuple[LevelInShort, ...]:
    """Each condition's levels, the primary regime's first; conditions are named where there are several."""
    every = conditions(found)
    order = [*leads(found), *(one for one in every if one not in leads(found))]
    return tuple(
        in_short(part, one if len(every) > 1 else None) for one in order for part in ladder(pooled(found, one))
    )


def in_short(part: Slice, condition: Condition | None) -> LevelInShort:
    """A level's values, Banzhaf values and interactions, to three digits."""
    return LevelInShort(
        level=part.level,
        values={
            "+".join(one.coalition) or "none": f"{one.value:.3f} ({one.successes}/{one.trials})" for one in part.values
        },
        banzhaf={"+".join(one.players): _numbers(one) for one in part.effects if one.index == "banzhaf"},
        interactions={
            "+".join(one.players): _numbers(one) for one in part.effects if one.index == "banzhaf_interaction"
        },
        no_op=None if part.no_op is None else round(part.no_op, 3),
        planner=None if condition is None else condition.planner,
        regime=None if condition is None else condition.regime,
    )


def _numbers(effect: Effect) -> tuple[float, ...]:
    interval = interval_for(effect.intervals, "these problems")
    ends = () if interval is None else (interval.low, interval.high)
    return tuple(round(number, 3) for number in (effect.value, *ends))


def in_words(found: Analysis, *, interim: bool = False) -> str:
    """The largest Banzhaf value of each level, with its interval, under each planner's lead condition.

    It helps only where its interval lies above 0; in the middle of an experiment it leads at most.
    """
    several = len(leads(found)) > 1
    said = []
    for lead in leads(found):
        parts = [words for part in ladder(pooled(found, lead)) if (words := _level_words(part, interim=interim))]
        if parts:
            said.append(f"{f'{lead.planner}: ' if several else ''}{'; '.join(parts)}.")
    return " ".join(said) or "No effect can be told yet."


def _level_words(part: Slice, *, interim: bool) -> str | None:
    values = [effect for effect in part.effects if effect.index == "banzhaf"]
    if not values:
        return None
    best = max(values, key=lambda effect: effect.value)
    name, size = best.players[0], f"Banzhaf {best.value:+.2f}"
    interval = interval_for(best.intervals, "these problems")
    if interval is None:
        return f"{part.level}: {name} is largest, {size}, with no interval to judge it by"
    size = f"{size} (95 % {interval.low:+.2f} to {interval.high:+.2f}, these problems)"
    if interval.low > 0:
        return f"{part.level}: {name} {'leads so far' if interim else 'helps most'}, {size}"
    return f"{part.level}: nothing clearly helps, {name} is largest, {size}"
