"""The HTML report: a pure function of its data."""

import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from cudanalyst.errors import StoreError
from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.summary import findings, short_answer
from cudanalyst.resources.attribution.table import TARGETS, Effect, LevelAttribution, interval_for
from cudanalyst.resources.report import plots
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.methods import methods
from cudanalyst.resources.report.text import (
    abbreviations,
    effects_of,
    evidence,
    one_line,
    share,
    signed,
    span,
)

HTML_NAME = "report.html"
JSON_NAME = "report.json"


def render_html(data: ReportData) -> str:
    """One self-contained page: no script, no network, everything from outside escaped."""
    attribution = data.attribution
    return _template().render(
        data=data,
        attribution=attribution,
        answer=short_answer(attribution),
        verdicts=_verdicts(data),
        levels=[_level(level, data) for level in attribution.levels],
        forest=_safe(plots.forest(attribution, data.ground_truth)) if _any_effect(data) else None,
        legend=[title(level.level) for level in attribution.levels],
        populations=any(_population(effect) for level in attribution.levels for effect in level.effects),
        abbreviations=abbreviations(attribution.players),
        methods=methods(data),
        truths=_truths(data),
        per_thousand=_per_thousand(data),
        style=Markup(_resource("style.css")),  # noqa: S704 - package data, no outside text
    )


def write_report(data: ReportData, folder: Path) -> tuple[Path, Path]:
    """Writes `report.html` and `report.json`, each whole or not at all.

    Raises:
        StoreError: the folder cannot be written.
    """
    numbers = json.dumps(data.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((HTML_NAME, render_html(data)), (JSON_NAME, numbers)):
            draft = folder / f".{name}.new"
            draft.write_text(text, encoding="utf-8", errors="replace")
            written.append(draft.replace(folder / name))
    except OSError as error:
        msg = f"the report cannot be written to {folder} ({error.strerror}): free space or choose another folder"
        raise StoreError(msg) from error
    return written[0], written[1]


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_clean
    )
    environment.filters.update(
        signed=signed, share=share, span=span, evidence=evidence, level_title=title, one_line=one_line, these=_these,
        population=_population,
    )  # fmt: skip
    return environment.from_string(_resource("template.html.j2"))


def _clean(shown: Any) -> Any:
    """Text of others without control characters, which HTML does not allow; markup of this package as it is."""
    return one_line(shown) if isinstance(shown, str) and not isinstance(shown, Markup) else shown


def _resource(name: str) -> str:
    return files("cudanalyst.resources.report").joinpath(name).read_text(encoding="utf-8")


def _safe(svg: str | None) -> Markup | None:
    """Marks a plot as markup: every text in it was escaped when it was drawn."""
    return None if svg is None else Markup(svg)  # noqa: S704 - see above


def _these(row: Any) -> Any:
    return interval_for(row.intervals, TARGETS[0])


def _population(row: Any) -> Any:
    return interval_for(row.intervals, TARGETS[1])


def _any_effect(data: ReportData) -> bool:
    return any(effects_of(level, "banzhaf") for level in data.attribution.levels)


def _verdicts(data: ReportData) -> list[dict[str, Any]]:
    """Rows of the headline: one per component, a cell per level."""
    found = {(finding.player, finding.level): finding for finding in findings(data.attribution)}
    return [
        {"player": player, "cells": [found.get((player, level.level)) for level in data.attribution.levels]}
        for player in data.attribution.players
    ]


def _level(level: LevelAttribution, data: ReportData) -> dict[str, Any]:
    players = data.attribution.players
    sigma, shapley, beside = (effects_of(level, index) for index in ("sigma", "shapley", "shapley_interaction"))
    return {
        "level": level,
        "values": sorted(level.values, key=lambda value: (len(value.coalition), value.coalition)),
        "bounded": any(value.worst is not None for value in level.values),
        "singles": [(effect, shapley[who]) for who, effect in effects_of(level, "banzhaf").items()],
        "pairs": [
            {"effect": effect, "sigma": sigma.get(who), "shapley": beside.get(who), "reading": _reading(effect)}
            for who, effect in effects_of(level, "banzhaf_interaction").items()
        ],
        "lattice": _safe(plots.lattice(level, players)),
        "graph": _safe(plots.interactions(level, players)),
        "problems": _safe(plots.problems(level, players)),
        "by_problem": [
            (row, {effect.players[0]: effect for effect in row.effects}, {v.coalition: v for v in row.values})
            for row in level.by_problem
        ],
        "strata": [(stratum, [e for e in stratum.effects if e.index == "banzhaf"]) for stratum in level.strata],
    }


def _reading(effect: Effect) -> str:
    interval = _these(effect)
    if interval is None or interval.low <= 0 <= interval.high:
        return "unclear"
    return "synergy" if interval.low > 0 else "redundancy"


def _truths(data: ReportData) -> list[Any]:
    """v(S), Banzhaf values and interactions; the other indices are in the JSON file."""
    rows = data.ground_truth.comparisons if data.ground_truth else ()
    return [row for row in rows if row.index in {"value", "banzhaf", "banzhaf_interaction"}]


def _per_thousand(data: ReportData) -> dict[tuple[str, str], float]:
    """Banzhaf value per 1,000 tokens of evidence, by component and level."""
    tokens = {cost.component: cost.evidence_tokens for cost in data.costs if cost.evidence_tokens}
    return {
        (player, level.level): 1000 * effect.value / spent
        for level in data.attribution.levels
        for (player,), effect in effects_of(level, "banzhaf").items()
        if (spent := tokens.get(player))
    }
