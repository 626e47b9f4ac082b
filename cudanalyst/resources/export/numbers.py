"""Every number of an analysis in one long table: a row per number and interval, the same columns for all."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from cudanalyst.resources.attribution.result import (
    Analysis,
    Condition,
    Drift,
    Family,
    RegimeContrast,
    Sequence,
    Slice,
    Slope,
    Trace,
)
from cudanalyst.resources.attribution.table import CoalitionValue, Effect, Interval
from cudanalyst.resources.export.tables import Cell, Column, ColumnType, Table
from cudanalyst.resources.export.trials import NONE

_C: Final[tuple[tuple[str, ColumnType, str], ...]] = (
    ("part", "string", "Part of the analysis that the number belongs to."),
    ("estimand", "string", "What is estimated: v (expected success with the evidence of a coalition), an index, a contrast."),
    ("statistic", "string", "Which number of it: the estimate, a bound, a test's p value, a measure of spread."),
    ("players", "string", "Coalition of v, or players of an index, joined by +; 'none' for no evidence."),
    ("level", "string", "Success level, or score, that it is about."),
    ("scale", "string", "Probability, log speedup or log odds."),
    ("planner", "string", "Whose trials; 'planner / coder' where another one codes."),
    ("regime", "string", "Regime of the trials."),
    ("against", "string", "Regime that it is compared with; contrasts only."),
    ("plan_of", "string", "Whose plans were given; regime PT only."),
    ("horizon", "integer", "Planner steps from the frozen state to the outcome."),
    ("generation", "integer", "Generation of the frozen states; empty: pooled over all."),
    ("problem", "string", "Problem; empty: all problems."),
    ("stratum", "string", "Initial status of the states; empty: all."),
    ("value", "number", "The number."),
    ("low", "number", "Lower end of the interval; empty where there is none."),
    ("high", "number", "Upper end of the interval; empty where there is none."),
    ("target", "string", "What the interval speaks of: these problems, or the population that they come from."),
    ("method", "string", "How the interval or test was made."),
    ("trials", "integer", "Trials behind the number."),
    ("successes", "integer", "Successes among them."),
    ("problems", "integer", "Problems behind the number."),
    ("checkpoints", "integer", "Frozen states behind the number."),
    ("placebo", "boolean", "Part of the evidence behind an effect was a placebo (structural cell)."),
    ("note", "string", "What the number alone does not say: a verdict, a reason for refusing."),
)  # fmt: skip
COLUMNS: Final = tuple(Column(name=name, type=kind, meaning=meaning) for name, kind, meaning in _C)
_NAMES: Final = tuple(column.name for column in COLUMNS)


def number_table(analysis: Analysis) -> Table:
    """All numbers of an analysis. A number with intervals for two targets is two rows with the same value."""
    rows = [tuple(_filled(row)) for row in _rows(analysis)]
    return Table(name="numbers", title="Every number of the analysis", columns=COLUMNS, rows=tuple(rows))


def _filled(row: dict[str, Cell]) -> Iterator[Cell]:
    yield from (row.get(name) for name in _NAMES)


def _rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    yield from _counts(analysis)
    for part in analysis.slices:
        yield from _slice(part)
    for contrast in analysis.contrasts:
        yield from _contrast(contrast)
    for slope in analysis.slopes:
        yield from _slope(slope)
    for family in analysis.families:
        yield from _family(family)
    for claim in analysis.claims:
        yield {
            "part": "claim", "estimand": claim.claim.name, "statistic": "decision", "planner": claim.planner,
            "players": _joined(claim.claim.players) if claim.claim.players else None, "level": claim.claim.level,
            "value": claim.value, "low": claim.low, "high": claim.high, "target": claim.target,
            "note": f"{claim.verdict}: {claim.text}",
        }  # fmt: skip
    for sequence in analysis.sequences:
        yield from _sequence(sequence)
    for drift in analysis.drift:
        yield from _drift(drift)
    for trace in analysis.traces:
        yield from _trace(trace)


def _counts(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    counts = {
        "trials in estimates": analysis.trials,
        "problems": analysis.problems,
        "checkpoints": analysis.checkpoints,
        **{f"excluded: {name}": number for name, number in analysis.exclusions.model_dump().items()},
    }
    for name, number in counts.items():
        yield {"part": "count", "estimand": name, "statistic": "count", "value": float(number)}


def _slice(part: Slice) -> Iterator[dict[str, Cell]]:
    base = {
        "level": part.level, "scale": part.scale, "generation": part.generation, "problems": part.problems,
        "checkpoints": part.checkpoints, **_condition(part.condition),
    }  # fmt: skip
    if part.no_op is not None:
        yield {**base, "part": "value", "estimand": "no-op", "statistic": "estimate", "value": part.no_op}
    yield from _values(part.values, base)
    yield from _effects(part.effects, base)
    for logit in part.logit:
        yield {
            **base, "part": "effect", "estimand": logit.effect.index, "statistic": "estimate on log odds", "scale": "log odds",
            "players": _joined(logit.effect.players), "value": logit.value, "low": logit.low, "high": logit.high,
            "target": "these problems",
        }  # fmt: skip
    for stratum in part.strata:
        within = {**base, "stratum": stratum.name, "problems": stratum.problems, "checkpoints": stratum.checkpoints}
        yield from _values(stratum.values, within)
        yield from _effects(stratum.effects, within)
    for problem in part.by_problem:
        within = {**base, "problem": problem.problem, "problems": 1, "checkpoints": problem.checkpoints}
        yield from _values(problem.values, within)
        yield from _effects(problem.effects, within)
    for spread in part.heterogeneity:
        told = {
            **base, "part": "heterogeneity", "estimand": spread.effect.index, "problems": spread.problems,
            "players": _joined(spread.effect.players),
        }  # fmt: skip
        yield {
            **told, "statistic": "mean", "value": spread.mean, "low": spread.low, "high": spread.high,
            "target": "population of problems", "method": "Hartung-Knapp",
        }  # fmt: skip
        if spread.prediction_low is not None:
            yield {
                **told, "statistic": "prediction for a new problem", "value": spread.mean, "low": spread.prediction_low,
                "high": spread.prediction_high, "target": "population of problems",
            }  # fmt: skip
        for name in ("tau2", "i2", "q", "q_p"):
            yield {**told, "statistic": name, "value": getattr(spread, name)}


def _values(values: Iterable[CoalitionValue], base: dict[str, Any]) -> Iterator[dict[str, Cell]]:
    for one in values:
        told = {
            **base, "part": "value", "estimand": "v", "players": _joined(one.coalition), "trials": one.trials,
            "successes": one.successes,
        }  # fmt: skip
        yield from _with_intervals({**told, "statistic": "estimate", "value": one.value}, one.intervals)
        yield from _bounds(told, one.worst, one.best)


def _effects(effects: Iterable[Effect], base: dict[str, Any]) -> Iterator[dict[str, Cell]]:
    for one in effects:
        told = {
            **base, "part": "effect", "estimand": one.index, "players": _joined(one.players), "placebo": one.structural,
        }  # fmt: skip
        yield from _with_intervals({**told, "statistic": "estimate", "value": one.value}, one.intervals)
        yield from _bounds(told, one.worst, one.best)


def _bounds(told: dict[str, Any], worst: float | None, best: float | None) -> Iterator[dict[str, Cell]]:
    for name, bound in (("worst case", worst), ("best case", best)):
        if bound is not None:
            yield {**told, "statistic": name, "value": bound}


def _with_intervals(told: dict[str, Any], intervals: tuple[Interval, ...]) -> Iterator[dict[str, Cell]]:
    if not intervals:
        yield told
    for one in intervals:
        yield {**told, "low": one.low, "high": one.high, "target": one.target, "method": one.method}


def _contrast(one: RegimeContrast) -> Iterator[dict[str, Cell]]:
    told: dict[str, Cell] = {
        "part": "contrast", "estimand": one.quantity, "statistic": "estimate", "against": one.against, "level": one.level,
        "generation": one.generation, "value": one.value, "problems": one.problems, "checkpoints": one.checkpoints,
        **_condition(one.condition),
    }  # fmt: skip
    if one.effect is not None:
        told |= {"players": _joined(one.effect.players), "estimand": f"{one.quantity}: {one.effect.index}"}
    yield from _with_intervals(told, one.intervals)


def _slope(one: Slope) -> Iterator[dict[str, Cell]]:
    told = {
        "part": "slope", "estimand": one.effect.index, "statistic": "change per generation", "level": one.level,
        "players": _joined(one.effect.players), "problems": one.problems, "scale": "probability", **_condition(one.condition),
    }  # fmt: skip
    yield from _with_intervals({**told, "value": one.value}, one.intervals)
    if one.logit_value is not None:
        yield {
            **told, "statistic": "change per generation on log odds", "scale": "log odds", "value": one.logit_value, "low": one.logit_low, "high": one.logit_high,
            "target": "these problems",
        }  # fmt: skip


def _family(family: Family) -> Iterator[dict[str, Cell]]:
    for member in family.members:
        told = {
            "part": "family", "estimand": member.effect.index, "players": _joined(member.effect.players), "level": family.level,
            "planner": family.planner, "regime": family.regime, "target": family.target, "method": family.method,
            "problems": family.problems, "note": family.refused,
        }  # fmt: skip
        yield {
            **told, "statistic": "estimate, simultaneous limits", "value": member.value, "low": member.low,
            "high": member.high,
        }  # fmt: skip
        for name, number in (("p", member.p), ("adjusted p", member.adjusted_p)):
            if number is not None:
                yield {**told, "statistic": name, "value": number}


def _sequence(one: Sequence) -> Iterator[dict[str, Cell]]:
    for point in one.points:
        yield {
            "part": "sequence", "estimand": one.effect.index, "statistic": f"after {point.rounds} rounds",
            "players": _joined(one.effect.players), "level": one.level, "planner": one.planner, "regime": one.regime,
            "value": point.estimate, "low": point.low, "high": point.high, "method": one.method,
            "note": "may stop" if one.stop else None,
        }  # fmt: skip


def _drift(one: Drift) -> Iterator[dict[str, Cell]]:
    told: dict[str, Cell] = {
        "part": "drift", "estimand": "sentinels", "planner": one.planner, "level": one.level, "trials": one.trials,
    }  # fmt: skip
    yield {**told, "statistic": "change from first to last", "value": one.change}
    yield {**told, "statistic": "p", "value": one.p}


def _trace(one: Trace) -> Iterator[dict[str, Cell]]:
    for point in one.points:
        yield {
            "part": "trace", "estimand": one.effect.index, "statistic": f"from the first {point.trials} trials",
            "players": _joined(one.effect.players), "level": one.level, "value": point.estimate, "low": point.low,
            "high": point.high, "trials": point.trials, **_condition(one.condition),
        }  # fmt: skip


def _condition(one: Condition) -> dict[str, Cell]:
    return {"planner": one.planner, "regime": one.regime, "horizon": one.horizon, "plan_of": one.plan_of}


def _joined(players: tuple[str, ...]) -> str:
    return "+".join(players) or NONE
