"""One slice of an analysis: a level under one condition, at one generation or pooled."""

import numpy as np

from cudanalyst.resources.attribution import notes, sampling
from cudanalyst.resources.attribution.cells import Bools, Cells, Floats, positions, unit_weights
from cudanalyst.resources.attribution.effects import Terms, estimate, estimate_by_problem, terms
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.inference.heterogeneity import per_problem, random_effects
from cudanalyst.resources.attribution.inference.logit import logit_effects
from cudanalyst.resources.attribution.plan import SCORES, AnalysisPlan, EffectName, LevelName
from cudanalyst.resources.attribution.result import Heterogeneity, LogitEffect, Slice, StratumResult


def slice_of(
    frame: Frame, condition: int, generation: int | None, level: LevelName, plan: AnalysisPlan
) -> Slice | None:
    """Estimates of one slice; None where no trial has an outcome at this level."""
    asked = frame.of(condition, generation)
    part = asked.measured(level)
    columns = 1 << len(frame.players)
    if part.lost.all():
        return None
    cells = part.cells(level, part.mask, columns) if not sampling.is_sampled(frame.players, plan) else None
    score, pooled = level in SCORES, generation is None
    said = list(notes.of_slice(len(asked.units) - len(part.units), score=score, level=level))
    met = np.array([unit.no_op.get(level, False) for unit in part.units], dtype=np.bool_)
    known = all(level in unit.no_op for unit in part.units)
    weights = unit_weights(positions([unit.problem for unit in part.units]))
    common = {
        "condition": frame.conditions[condition],
        "generation": generation,
        "level": level,
        "scale": "log speedup" if score else "probability",
        "trials": int((~part.lost).sum()),
        "problems": len({unit.problem for unit in part.units}),
        "checkpoints": len(part.units),
        "no_op": 0.0 if score else float(weights @ met) if known else None,
        "ceiling_checkpoints": int(met.sum()),
    }
    if cells is None:
        effects = sampling.sampled_effects(part, level, plan)
        return Slice(**common, blocks=None, values=(), effects=effects, notes=(*said, notes.SAMPLED))
    filled = cells.usable(_tried(cells))
    whole = cells.restrict(filled) if filled.any() else cells
    full = bool((whole.trials > 0).all())
    wanted, lost = terms(len(frame.players)), part.lost_cells(part.mask, columns)
    if filled.any() and lost is not None:
        lost = lost[filled]
    placebos = part.placebos()
    values, effects = estimate(
        whole, wanted, structural=placebos, population=plan.population_interval, seed=plan.seed, lost=lost
    )
    said += notes.of_level(cells, filled, {effect.players for effect in effects}, int(met.sum()))
    main = wanted.only("banzhaf", "banzhaf_interaction")
    return Slice(
        **common,
        blocks=None if whole.blocks is None else len(whole.blocks.unit),
        values=values,
        effects=effects,
        logit=_logit(whole, main) if full and not score else (),
        strata=_strata(part, cells, main, placebos, known=known, met=met) if pooled else (),
        by_problem=estimate_by_problem(whole, main, structural=placebos) if pooled else (),
        heterogeneity=_heterogeneity(whole, main) if pooled and full else (),
        notes=tuple(said),
    )


def _tried(cells: Cells) -> Floats:
    """1 for coalitions that anything was tried with; a regime without feedback knows one only."""
    return np.asarray((cells.trials > 0).any(axis=0), dtype=np.float64)


def _names(found: Terms, players: tuple[str, ...]) -> list[EffectName]:
    return [EffectName(index=index, players=tuple(players[i] for i in who)) for index, who in found.labels]


def _logit(cells: Cells, found: Terms) -> tuple[LogitEffect, ...]:
    value, low, high = logit_effects(cells, found.contrasts)
    return tuple(
        LogitEffect(effect=name, value=float(value[k]), low=float(low[k]), high=float(high[k]))
        for k, name in enumerate(_names(found, cells.players))
    )


def _heterogeneity(cells: Cells, found: Terms) -> tuple[Heterogeneity, ...]:
    """Random-effects summaries, from two problems on."""
    problems = len(cells.problems)
    if problems < 2:
        return ()
    summary = random_effects(*per_problem(cells, found.contrasts))
    rows = []
    for k, name in enumerate(_names(found, cells.players)):
        ahead = problems >= 3
        rows.append(
            Heterogeneity(
                effect=name,
                problems=problems,
                mean=float(summary.mean[k]),
                low=float(summary.low[k]),
                high=float(summary.high[k]),
                tau2=float(summary.tau2[k]),
                i2=float(summary.i2[k]),
                q=float(summary.q[k]),
                q_p=float(summary.q_p[k]),
                prediction_low=float(summary.prediction_low[k]) if ahead else None,
                prediction_high=float(summary.prediction_high[k]) if ahead else None,
            )
        )
    return tuple(rows)


def _strata(
    part: Frame, cells: Cells, found: Terms, placebos: frozenset[str], *, known: bool, met: Bools
) -> tuple[StratumResult, ...]:
    """By base status, and by whether the level was met before, where checkpoints differ in it."""
    groups: list[tuple[str, Bools]] = []
    statuses = sorted({unit.status for unit in part.units if unit.status is not None})
    if len(statuses) > 1:
        groups += [
            (status, np.array([unit.status == status for unit in part.units], dtype=np.bool_)) for status in statuses
        ]
    if known and met.any() and not met.all():
        groups += [("below the level before", ~met), ("at the level before", met)]
    rows = []
    for name, keep in groups:
        stratum = cells.restrict(keep)
        values, effects = estimate(stratum, found, structural=placebos)
        rows.append(
            StratumResult(
                name=name,
                problems=len(stratum.problems),
                checkpoints=len(stratum.units),
                values=values,
                effects=effects,
            )
        )
    return tuple(rows)
