"""All plots of a report by name, drawn in whatever palette is in use."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Final

from cudanalyst.resources.attribution.ground_truth import GroundTruth
from cudanalyst.resources.attribution.result import Condition, RegimeContrast, Sequence, Trace
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.drawing import Plot, completed, slug, to_png, to_svg
from cudanalyst.resources.report.palette import LIGHT, drawn_in
from cudanalyst.resources.report.plots.bands import Band, bands
from cudanalyst.resources.report.plots.cost import cost_benefit
from cudanalyst.resources.report.plots.dots import Dot, Group, dots
from cudanalyst.resources.report.plots.graph import interactions
from cudanalyst.resources.report.plots.lattice import lattice
from cudanalyst.resources.report.plots.problems import problems
from cudanalyst.resources.report.plots.trajectory import effects_by_generation, trajectory
from cudanalyst.resources.report.text import effect_title, effects_of, level_title
from cudanalyst.resources.report.view import LADDER, SPEED, generations, ladder, leads, pooled, primary_level

PROBABILITY: Final = "Banzhaf value: gain in probability of success"
LOG_SPEEDUP: Final = "Banzhaf value: gain in log speedup"
MOST_PLANNERS: Final = 6
"""Planners side by side in one plot."""


def pictures(data: ReportData) -> dict[str, Plot]:
    """Every plot that the data can give, by name."""
    return {plot.name: plot for plot in _drawn(data) if plot is not None}


def picture_files(data: ReportData, formats: tuple[str, ...]) -> dict[str, bytes]:
    """Plots as files of their own, light: `plots/<name>.svg` and `.png`, by what is asked for."""
    files: dict[str, bytes] = {}
    with drawn_in(LIGHT):
        for name, plot in pictures(data).items() if formats else ():
            completed(plot)
            if "svg" in formats:
                files[f"plots/{name}.svg"] = to_svg(plot)
            if "png" in formats:
                files[f"plots/{name}.png"] = to_png(plot)
    return files


def _drawn(data: ReportData) -> Iterator[Plot | None]:
    found = data.analysis
    first = next(iter(leads(found)), None)
    if first is None:
        return
    slices = pooled(found, first)
    truths = _truths(data.ground_truth)
    yield _forest("forest", data, first, LADDER, PROBABILITY, truths)
    yield _forest("forest-speed", data, first, SPEED, LOG_SPEEDUP, {})
    for part in ladder(slices):
        yield lattice(f"lattice-{slug(part.level)}", part, found.players)
        yield interactions(f"graph-{slug(part.level)}", part, found.players)
        yield problems(f"problems-{slug(part.level)}", part, found.players)
    level = primary_level(data, first)
    yield trajectory({name: generations(found, first, name) for name in (*LADDER, *SPEED)})
    if level is not None:
        yield effects_by_generation(generations(found, first, level), found.players)
        yield _planners(data, level)
        yield _regimes(data, level)
        tokens, label = coalition_tokens(data, first)
        yield cost_benefit(slices[level], found.players, tokens, label)
    yield _sequences(data, first.planner)
    yield _traces(data, first)


def _forest(
    name: str,
    data: ReportData,
    condition: Condition,
    levels: tuple[str, ...],
    label: str,
    truths: Mapping[tuple[str, tuple[str, ...]], float],
) -> Plot | None:
    parts = ladder(pooled(data.analysis, condition), levels)
    groups = [
        Group(
            player,
            tuple(
                Dot(k, level_title(part.level), e.value, e.intervals, truths.get((part.level, (player,))))
                for k, part in enumerate(parts)
                if (e := effects_of(part, "banzhaf").get((player,))) is not None
            ),
        )
        for player in data.analysis.players
    ]
    return dots(name, "Banzhaf value of each component with 95 % intervals", label, groups)


def _planners(data: ReportData, level: str) -> Plot | None:
    """The same effects for each planner; None for one planner."""
    found = [(one, pooled(data.analysis, one).get(level)) for one in leads(data.analysis)][:MOST_PLANNERS]
    if len(found) < 2:
        return None
    groups = [
        Group(
            player,
            tuple(
                Dot(k, one.planner, e.value, e.intervals)
                for k, (one, part) in enumerate(found)
                if part is not None and (e := effects_of(part, "banzhaf").get((player,))) is not None
            ),
        )
        for player in data.analysis.players
    ]
    title = f"Banzhaf values by planner, {level_title(level)}"
    return dots("planners", title, PROBABILITY, groups, role="who")


def lifts(data: ReportData, level: str) -> tuple[RegimeContrast, ...]:
    """Mean lifts of one regime over another at a level, pooled."""
    return tuple(
        one
        for one in data.analysis.contrasts
        if one.level == level and one.generation is None and one.quantity == "mean lift"
    )


def who(condition: Condition) -> str:
    """The planner, and whose plans it was given."""
    return condition.planner if condition.plan_of is None else f"{condition.planner}, plans of {condition.plan_of}"


def _regimes(data: ReportData, level: str) -> Plot | None:
    grouped: dict[str, list[RegimeContrast]] = defaultdict(list)
    for one in lifts(data, level):
        where = one.condition
        steps = "" if where.horizon == 1 else f" h{where.horizon}"
        grouped[f"{where.regime} − {one.against}{steps}"].append(one)  # noqa: RUF001 - minus sign
    planners = list(dict.fromkeys(who(one.condition) for some in grouped.values() for one in some))[:MOST_PLANNERS]
    groups = [
        Group(
            name,
            tuple(
                Dot(planners.index(who(one.condition)), who(one.condition), one.value, one.intervals)
                for one in some
                if who(one.condition) in planners
            ),
        )
        for name, some in grouped.items()
    ]
    title = f"Mean lift of one regime over another, {level_title(level)}"
    return dots("regimes", title, "mean lift in probability of success", groups, role="who")


def sequences_of(data: ReportData, planner: str) -> tuple[Sequence, ...]:
    """A planner's confidence sequences."""
    return tuple(one for one in data.analysis.sequences if one.planner == planner)


def traces_of(data: ReportData, condition: Condition) -> tuple[Trace, ...]:
    """A condition's convergence traces of single components, at the primary level where there are any."""
    found = [one for one in data.analysis.traces if one.condition == condition and one.effect.index == "banzhaf"]
    primary = [one for one in found if one.level == data.analysis.plan.primary_level]
    return tuple(primary or found)


def _sequences(data: ReportData, planner: str) -> Plot | None:
    shown = [
        Band(effect_title(one.effect), tuple((p.rounds, p.estimate, p.low, p.high) for p in one.points))
        for one in sequences_of(data, planner)
    ]
    return bands("sequences", "Confidence sequences over rounds", "rounds", shown)


def _traces(data: ReportData, condition: Condition) -> Plot | None:
    shown = [
        Band(effect_title(one.effect), tuple((p.trials, p.estimate, p.low, p.high) for p in one.points))
        for one in traces_of(data, condition)
    ]
    return bands("traces", "Estimates from more and more sampled coalitions", "trials", shown)


def coalition_tokens(data: ReportData, condition: Condition) -> tuple[dict[tuple[str, ...], float], str]:
    """Mean tokens of a trial by coalition: all that the models read and wrote where clients told, else the evidence's."""
    names = {condition.planner, *condition.planner.split(" / ")}
    rows = [
        row
        for row in data.rows
        if (row.regime, row.horizon) == (condition.regime, condition.horizon)
        and row.planner in names
        and not row.sentinel
    ]
    told = [row for row in rows if row.input_tokens is not None and row.output_tokens is not None]
    whole = bool(told) and len(told) == len(rows)
    by_coalition: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in rows:
        spent = (row.input_tokens or 0) + (row.output_tokens or 0) if whole else sum(row.evidence_tokens.values())
        by_coalition[row.coalition].append(spent)
    label = "tokens of a trial, read and written" if whole else "tokens of evidence in a trial (estimated)"
    return {coalition: fmean(spent) for coalition, spent in by_coalition.items()}, label


def _truths(truth: GroundTruth | None) -> dict[tuple[str, tuple[str, ...]], float]:
    found = {}
    for row in truth.comparisons if truth else ():
        value = row.enumerated if row.enumerated is not None else row.planted
        if row.index == "banzhaf" and value is not None:
            found[row.level, row.players] = value
    return found
