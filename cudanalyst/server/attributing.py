"""From an experiment's trials to its attribution, in the middle of it too."""

from collections.abc import Collection
from typing import Final

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import AttributionResult, LevelInShort
from cudanalyst.resources.attribution.attribute import attribute
from cudanalyst.resources.attribution.observe import observe
from cudanalyst.resources.attribution.table import Attribution, Effect, LevelAttribution
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.outcomes import no_op
from cudanalyst.resources.trials import Level, Trial

LEVELS: Final[tuple[Level, ...]] = ("compiled", "passed", "fast_modelled")


def attribution_of(experiments: Experiments, owner: str, experiment: str) -> AttributionResult:
    """The attribution of what has been evaluated so far.

    Raises:
        NotFound: The experiment is not this owner's.
    """
    progress = experiments.progress(owner, experiment)
    with experiments.step(owner, experiment) as state:
        trials = tuple(one.as_trial() for one in state.trials.values())
        players = state.spec.experiment.players
        checkpoints = {one: experiments.checkpoint(owner, one) for one in state.spec.experiment.checkpoints}
        missing = tuple(one for one in state.tallies() if one.evaluated < one.trials or one.contaminated)
    counted = {"experiment": experiment, "evaluated": progress.evaluated, "trials": progress.trials, "missing": missing}
    if progress.evaluated == 0:
        summary = f"Nothing has been evaluated yet: {progress.submitted} of {progress.trials} trials are submitted."
        return AttributionResult.model_validate({"status": "empty", "summary": summary, **counted})
    found = _attribute(trials, players, checkpoints)
    interim = "" if progress.ended else f"Interim, {progress.evaluated} of {progress.trials} trials: "
    return AttributionResult.model_validate(
        {
            "status": "final" if progress.ended else "interim",
            "summary": f"{interim}{in_words(found)}",
            "levels": tuple(in_short(level) for level in found.levels),
            "notes": found.notes,
            "attribution": found,
            "report": f"cudanalyst://experiments/{experiment}/report" if progress.ended else None,
            **counted,
        }
    )


def _attribute(
    trials: tuple[Trial, ...], players: tuple[Component, ...], checkpoints: dict[str, Checkpoint]
) -> Attribution:
    observed = observe(trials, LEVELS)
    ceilings: dict[str, Collection[str]] = {
        level: [name for name, one in checkpoints.items() if no_op(one, level)] for level in LEVELS
    }
    structural = {
        name: [player for player in players if one.evidence[player].structural] for name, one in checkpoints.items()
    }
    return attribute(
        observed.levels,
        players,
        no_op={level: len(met) / len(checkpoints) for level, met in ceilings.items()},
        ceilings=ceilings,
        structural={name: placebos for name, placebos in structural.items() if placebos},
        contaminated=observed.contaminated,
        infrastructure_failed=observed.infrastructure_failed,
    )


def in_short(level: LevelAttribution) -> LevelInShort:
    """A level's values, Banzhaf values and interactions, to three digits."""
    return LevelInShort(
        level=level.level,
        values={
            "+".join(one.coalition) or "none": f"{one.value:.3f} ({one.successes}/{one.trials})" for one in level.values
        },
        banzhaf={"+".join(one.players): _numbers(one) for one in level.effects if one.index == "banzhaf"},
        interactions={
            "+".join(one.players): _numbers(one) for one in level.effects if one.index == "banzhaf_interaction"
        },
        no_op=None if level.no_op is None else round(level.no_op, 3),
    )


def _numbers(effect: Effect) -> tuple[float, ...]:
    ends = next(((one.low, one.high) for one in effect.intervals if one.target == "these problems"), ())
    return tuple(round(number, 3) for number in (effect.value, *ends))


def in_words(found: Attribution) -> str:
    """The largest Banzhaf value of each level, with its interval."""
    said = [words for level in found.levels if level.level in LEVELS and (words := _level_words(level))]
    return "; ".join(said) + "." if said else "No effect can be told yet."


def _level_words(level: LevelAttribution) -> str | None:
    values = [effect for effect in level.effects if effect.index == "banzhaf"]
    if not values:
        return None
    best = max(values, key=lambda effect: effect.value)
    text = f"{level.level}: {best.players[0]} helps most, Banzhaf {best.value:+.2f}"
    interval = next((one for one in best.intervals if one.target == "these problems"), None)
    return text if interval is None else f"{text} (95 % {interval.low:+.2f} to {interval.high:+.2f}, these problems)"
