"""Comparisons across slices: regimes on the same checkpoints, and effects over generations of the same problems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cudanalyst.resources.attribution.cells import Bools, Cells, Floats
from cudanalyst.resources.attribution.effects import Row, Terms, estimate_rows, terms
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.inference.logit import logit_effects
from cudanalyst.resources.attribution.plan import SCORES, AnalysisPlan, EffectName, LevelName, RegimePair
from cudanalyst.resources.attribution.result import RegimeContrast, Slope
from cudanalyst.resources.attribution.table import interval_for
from cudanalyst.resources.trials import Regime

Quantity = Literal["mean lift", "lift with all evidence", "lift without evidence", "difference of effects"]


@dataclass(frozen=True)
class Matched:
    """Two conditions side by side: columns of `regime`, then columns of `against`."""

    cells: Cells
    tried: Bools
    """Columns that anything was tried in, over all of its units."""


def pairs_of(frame: Frame, plan: AnalysisPlan) -> tuple[tuple[int, int], ...]:
    """Conditions to compare: same planner, coder and horizon, regimes as planned."""
    found = []
    for left, one in enumerate(frame.conditions):
        for right, other in enumerate(frame.conditions):
            if (one.planner, one.horizon) != (other.planner, other.horizon) or left == right:
                continue
            wanted = RegimePair(regime=one.regime, against=other.regime)
            if wanted in plan.contrasts or (
                not plan.contrasts and one.regime == plan.primary_regime and other.regime != plan.primary_regime
            ):
                found.append((left, right))
    return tuple(found)


def matched(frame: Frame, left: int, right: int, level: LevelName, generation: int | None) -> Matched | None:
    """Both conditions on the checkpoints that both were run on; None where there is none."""
    keep = (frame.condition == left) | (frame.condition == right)
    if generation is not None:
        keep &= np.array([unit.generation == generation for unit in frame.units], dtype=np.bool_)[frame.unit]
    part = frame.select(keep).measured(level)
    seen = ~part.lost
    both = np.ones(len(part.units), dtype=np.bool_)
    for condition in (left, right):
        here = np.zeros(len(part.units), dtype=np.bool_)
        here[part.unit[seen & (part.condition == condition)]] = True
        both &= here
    if not both.any():
        return None
    part = part.select(both[part.unit])
    size = 1 << len(frame.players)
    cells = part.cells(level, part.mask + size * (part.condition == right), 2 * size)
    return Matched(cells, np.asarray((cells.trials > 0).any(axis=0), dtype=np.bool_))


def lifts(found: Matched, quantity: Quantity, wanted: Terms) -> tuple[Floats, list[EffectName | None]]:
    """Contrasts over both conditions' columns; empty where coalitions that a quantity needs were not planned.

    A regime without feedback has one cell, which is compared with every coalition.
    """
    size, n = found.cells.trials.shape[1] // 2, len(found.cells.players)
    left, right = found.tried[:size], found.tried[size:]
    nothing: tuple[Floats, list[EffectName | None]] = (np.zeros((0, 2 * size)), [])
    row = np.zeros(2 * size)
    lone = [int(side.sum()) == 1 and bool(side[0]) for side in (left, right)]
    if quantity == "difference of effects":
        if not (left.all() and right.all()):
            return nothing
        both = np.concatenate([wanted.contrasts, -wanted.contrasts], axis=1)
        players = found.cells.players
        return both, [EffectName(index=index, players=tuple(players[i] for i in who)) for index, who in wanted.labels]
    if quantity == "mean lift":
        shared = left & right
        for side, sign, alone in ((0, 1.0, lone[0]), (1, -1.0, lone[1])):
            if alone:
                row[side * size] = sign
            else:
                columns = (left, right)[side] if lone[1 - side] else shared
                if not columns.any():
                    return nothing
                row[side * size : (side + 1) * size] = sign * columns / columns.sum()
        return row[None], [None]
    want = size - 1 if quantity == "lift with all evidence" else 0
    at = [0 if alone else want for alone in lone]
    if n == 0 or not (left[at[0]] and right[at[1]]):
        return nothing
    row[at[0]], row[size + at[1]] = 1.0, -1.0
    return row[None], [None]


def contrast_regimes(
    frame: Frame, left: int, right: int, level: LevelName, generation: int | None, plan: AnalysisPlan
) -> tuple[RegimeContrast, ...]:
    """Every quantity of one matched comparison."""
    found = matched(frame, left, right, level, generation)
    if found is None:
        return ()
    quantities: tuple[Quantity, ...] = (
        "mean lift",
        "lift with all evidence",
        "lift without evidence",
        "difference of effects",
    )
    answers = []
    for quantity in quantities:
        weights, effects = lifts(found, quantity, terms(len(frame.players)).only("banzhaf", "banzhaf_interaction"))
        rows = estimate_rows(found.cells, weights, population=plan.population_interval, seed=plan.seed)
        for effect, row in zip(effects, rows, strict=True):
            if row is None:
                continue
            decisive = interval_for(row.intervals(), plan.target)
            units = [unit for unit, used in zip(found.cells.units, row.units, strict=True) if used]
            answers.append(
                RegimeContrast(
                    condition=frame.conditions[left],
                    against=frame.conditions[right].regime,
                    against_plan_of=frame.conditions[right].plan_of,
                    level=level,
                    generation=generation,
                    quantity=quantity,
                    effect=effect,
                    value=row.value,
                    intervals=row.intervals(),
                    problems=len({problem for problem, _ in units}),
                    checkpoints=len(units),
                    blocked=found.cells.blocks is not None,
                    excludes_zero=None if decisive is None else decisive.low > 0 or decisive.high < 0,
                )
            )
    return tuple(answers)


def over_generations(frame: Frame, condition: int, level: LevelName) -> tuple[Cells, tuple[int, ...]] | None:
    """Columns are coalitions generation by generation; a unit is a problem's backbone, its checkpoints added up.

    None unless some problem was tried at two generations or more; only units that were tried at every one are kept.
    """
    part = frame.of(condition).measured(level)
    generations = part.generations
    if len(generations) < 2:
        return None
    lineages = tuple(sorted({(unit.problem, unit.backbone) for unit in part.units}))
    row = {lineage: k for k, lineage in enumerate(lineages)}
    lineage = np.array([row[unit.problem, unit.backbone] for unit in part.units], dtype=np.int64)
    place = np.array([generations.index(unit.generation) for unit in part.units], dtype=np.int64)
    size = 1 << len(frame.players)
    # A block lies within one checkpoint, so none holds every generation: blocks are not used here.
    merged = replace(
        part,
        units=tuple(replace(part.units[0], problem=problem, checkpoint=backbone) for problem, backbone in lineages),
        unit=lineage[part.unit],
    )
    cells = merged.cells(level, part.mask + size * place[part.unit], size * len(generations))
    cells = replace(cells, blocks=None)
    full = np.asarray((cells.trials > 0).all(axis=1), dtype=np.bool_)
    return (cells.restrict(full), generations) if full.any() else None


def slope_contrasts(generations: Sequence[int], contrasts: Floats) -> Floats:
    """Least-squares slope of effects per generation, as weights over the columns of `over_generations`."""
    centred = np.asarray(generations, dtype=np.float64) - np.mean(generations)
    weights: Floats = np.asarray(np.kron(centred / (centred**2).sum(), contrasts), dtype=np.float64)
    return weights


def slopes(frame: Frame, condition: int, level: LevelName, plan: AnalysisPlan) -> tuple[Slope, ...]:
    """Change per generation of Banzhaf values and interactions."""
    found = over_generations(frame, condition, level)
    if found is None:
        return ()
    cells, generations = found
    wanted = terms(len(frame.players)).only("banzhaf", "banzhaf_interaction")
    contrasts = slope_contrasts(generations, wanted.contrasts)
    rows: list[Row | None] = estimate_rows(cells, contrasts, population=plan.population_interval, seed=plan.seed)
    logit = None if level in SCORES else logit_effects(cells, contrasts)
    answers = []
    for k, ((index, who), row) in enumerate(zip(wanted.labels, rows, strict=True)):
        if row is not None:
            value, low, high = (None, None, None) if logit is None else (float(part[k]) for part in logit)
            answers.append(
                Slope(
                    condition=frame.conditions[condition],
                    level=level,
                    effect=EffectName(index=index, players=tuple(frame.players[i] for i in who)),
                    generations=generations,
                    problems=len(cells.problems),
                    value=row.value,
                    intervals=row.intervals(),
                    logit_value=value,
                    logit_low=low,
                    logit_high=high,
                )
            )
    return tuple(answers)


def regime_named(frame: Frame, planner: str, regime: Regime, plan_of: str | None = None) -> int | None:
    """The condition of a planner under a regime, at the shortest horizon; of regime PT with one planner's plans."""
    wanted = [
        (one.horizon, k)
        for k, one in enumerate(frame.conditions)
        if (one.planner, one.regime) == (planner, regime) and (regime != "PT" or plan_of in {None, one.plan_of})
    ]
    return min(wanted)[1] if wanted else None
