"""What the template shows, worked out: rows of tables, verdicts, and which plots there are."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, Protocol

from markupsafe import Markup

from cudanalyst.resources.attribution.ground_truth import Comparison
from cudanalyst.resources.attribution.result import ClaimResult, Condition, Slice
from cudanalyst.resources.attribution.summary import findings, short_answer
from cudanalyst.resources.attribution.table import TARGETS, Effect, Interval, interval_for
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.downloads import downloads
from cudanalyst.resources.report.drawing import inline
from cudanalyst.resources.report.methods import methods
from cudanalyst.resources.report.pictures import lifts, pictures, sequences_of, traces_of, who
from cudanalyst.resources.report.plots.dots import COLOURS
from cudanalyst.resources.report.text import abbreviations, condition_title, effects_of, level_title
from cudanalyst.resources.report.view import (
    LADDER,
    SPEED,
    attribution_of,
    conditions,
    generations,
    ladder,
    leads,
    pooled,
    primary_level,
)

MOST_CARDS: Final = 4
"""Planners whose verdicts are shown as cards; the rest stand in the comparison."""


def context(data: ReportData, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Everything that the template refers to; `files` are the numbers that the page carries."""
    found = data.analysis
    drawn = {name: _safe(inline(plot)) for name, plot in pictures(data).items()}
    led = leads(found)
    first = led[0] if led else None
    slices = pooled(found, first) if first is not None else {}
    level = primary_level(data, first) if first is not None else None
    parts = ladder(slices)
    shown = list(lifts(data, level)) if level is not None else []
    return {
        "data": data,
        "analysis": found,
        "plots": defaultdict(lambda: None, drawn),
        "first": first,
        "primary": level,
        "sampled": found.plan.coalitions == "sampled",
        "answers": [(one, short_answer(attribution_of(found, one))) for one in led[:MOST_CARDS]]
        or [(None, "No trial has been evaluated yet: nothing can be said about which feedback helps.")],
        "verdicts": [(one, _verdicts(data, one)) for one in led[:MOST_CARDS]],
        "legend": [level_title(part.level) for part in parts],
        "speed_legend": [level_title(part.level) for part in ladder(slices, SPEED)],
        "singles": _singles(data, parts),
        "speeds": _singles(data, ladder(slices, SPEED)),
        "populations": any(population(e) for part in found.slices for e in part.effects),
        "levels": [_level(part) for part in parts],
        "others": [_level(part) for part in slices.values() if part.level not in LADDER],
        "abbreviations": abbreviations(found.players),
        "generations": _generations(data, first),
        "effects_by_generation": _effect_rows(data, first, level),
        "planners": [one.planner for one in led],
        "planner_rows": _planner_rows(data, led, level),
        "lift_planners": list(dict.fromkeys(who(one.condition) for one in shown)),
        "lifts": shown,
        "other_lifts": [one for one in found.contrasts if one.generation is None and one not in shown],
        "slopes": [one for one in found.slopes if (one.condition, one.level) == (first, level)],
        "other_slopes": [one for one in found.slopes if (one.condition, one.level) != (first, level)],
        "claims": _claims(data),
        "sequences": sequences_of(data, first.planner) if first is not None else (),
        "traces": traces_of(data, first) if first is not None else (),
        "conditions": [(condition_title(one), _condition_rows(data, one)) for one in conditions(found) if one != first],
        "methods": methods(data),
        "truths": _truths(data),
        "per_thousand": _per_thousand(data, slices),
        "downloads": downloads(files),
        "colours": COLOURS,
    }


def _safe(svg: str) -> Markup:
    """Marks a plot as markup: every text in it was escaped when it was drawn."""
    return Markup(svg)  # noqa: S704 - see above


class Estimated(Protocol):
    """Any row of an analysis with intervals."""

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Those that there are."""


def these(row: Estimated) -> Interval | None:
    """Interval for these problems."""
    return interval_for(row.intervals, TARGETS[0])


def population(row: Estimated) -> Interval | None:
    """Interval for the population of problems."""
    return interval_for(row.intervals, TARGETS[1])


def _verdicts(data: ReportData, condition: Condition) -> list[dict[str, Any]]:
    """Rows of the headline: one per component, a cell per level."""
    attribution = attribution_of(data.analysis, condition)
    found = {(finding.player, finding.level): finding for finding in findings(attribution)}
    return [
        {"player": player, "cells": [found.get((player, level.level)) for level in attribution.levels]}
        for player in data.analysis.players
    ]


def _singles(data: ReportData, parts: tuple[Slice, ...]) -> list[tuple[str, list[tuple[Slice, Effect, Effect | None]]]]:
    """By component, its Banzhaf and Shapley value at every level."""
    return [
        (
            player,
            [
                (part, effect, effects_of(part, "shapley").get((player,)))
                for part in parts
                if (effect := effects_of(part, "banzhaf").get((player,))) is not None
            ],
        )
        for player in data.analysis.players
    ]


def _level(part: Slice) -> dict[str, Any]:
    sigma, beside, taylor = (effects_of(part, index) for index in ("sigma", "shapley_interaction", "shapley_taylor"))
    return {
        "level": part,
        "values": sorted(part.values, key=lambda value: (len(value.coalition), value.coalition)),
        "bounded": any(value.worst is not None for value in part.values),
        "pairs": [
            {
                "effect": e,
                "sigma": sigma.get(who),
                "shapley": beside.get(who),
                "taylor": taylor.get(who),
                "reading": _reading(e),
            }
            for who, e in effects_of(part, "banzhaf_interaction").items()
        ],
        "thirds": list(effects_of(part, "banzhaf_third").values()),
        "by_problem": [
            (row, {e.players[0]: e for e in row.effects if e.index == "banzhaf"}, {v.coalition: v for v in row.values})
            for row in part.by_problem
        ],
        "strata": [(one, _banzhaf(one.effects)) for one in part.strata],
        "spread": [one for one in part.heterogeneity if one.effect.index == "banzhaf"],
    }


def _banzhaf(effects: tuple[Effect, ...]) -> dict[str, Effect]:
    """Banzhaf values by component."""
    return {e.players[0]: e for e in effects if e.index == "banzhaf"}


def _reading(effect: Effect) -> str:
    interval = these(effect)
    if interval is None or interval.low <= 0 <= interval.high:
        return "unclear"
    return "synergy" if interval.low > 0 else "redundancy"


def _generations(data: ReportData, condition: Condition | None) -> list[tuple[str, list[dict[str, Any]]]]:
    """By level, v with all and with no evidence at each generation."""
    if condition is None:
        return []
    everyone = tuple(sorted(data.analysis.players))
    rows = []
    for level in (*LADDER, *SPEED):
        parts = generations(data.analysis, condition, level)
        if len(parts) < 2:
            continue
        cells = []
        for part in parts:
            values = {tuple(sorted(value.coalition)): value for value in part.values}
            cells.append({"part": part, "none": values.get(()), "all": values.get(everyone)})
        rows.append((level, cells))
    return rows


def _effect_rows(
    data: ReportData, condition: Condition | None, level: str | None
) -> list[tuple[int, Slice, list[Effect]]]:
    if condition is None or level is None:
        return []
    parts = generations(data.analysis, condition, level)
    if len(parts) < 2:
        return []
    return [
        (
            part.generation or 0,
            part,
            [*effects_of(part, "banzhaf").values(), *effects_of(part, "banzhaf_interaction").values()],
        )
        for part in parts
    ]


def _planner_rows(
    data: ReportData, led: tuple[Condition, ...], level: str | None
) -> list[tuple[str, list[Effect | None]]]:
    if len(led) < 2 or level is None:
        return []
    parts = [pooled(data.analysis, one).get(level) for one in led]
    return [
        (player, [None if part is None else effects_of(part, "banzhaf").get((player,)) for part in parts])
        for player in data.analysis.players
    ]


def _claims(data: ReportData) -> list[tuple[str, list[ClaimResult]]]:
    """By claim, what became of it for each planner."""
    found: dict[str, list[ClaimResult]] = defaultdict(list)
    for one in data.analysis.claims:
        found[one.claim.name].append(one)
    return list(found.items())


def _condition_rows(data: ReportData, condition: Condition) -> list[tuple[Slice, dict[str, Effect]]]:
    return [(part, _banzhaf(part.effects)) for part in pooled(data.analysis, condition).values()]


def _truths(data: ReportData) -> list[Comparison]:
    """v(S), Banzhaf values and interactions; the other indices are in the JSON file."""
    rows = data.ground_truth.comparisons if data.ground_truth else ()
    return [row for row in rows if row.index in {"value", "banzhaf", "banzhaf_interaction"}]


def _per_thousand(data: ReportData, slices: dict[str, Slice]) -> dict[tuple[str, str], float]:
    """Banzhaf value per 1,000 tokens of evidence, by component and level."""
    tokens = {cost.component: cost.evidence_tokens for cost in data.costs if cost.evidence_tokens}
    return {
        (player, part.level): 1000 * effect.value / spent
        for part in ladder(slices)
        for (player,), effect in effects_of(part, "banzhaf").items()
        if (spent := tokens.get(player))
    }
