"""What is tested or watched as a whole: the primary family, confidence sequences, sentinels."""

from typing import Final

import numpy as np

from cudanalyst.resources.attribution import sampling
from cudanalyst.resources.attribution.cells import Cells, Floats, effects_by_problem
from cudanalyst.resources.attribution.claims import limits_of
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.inference.drift import trend
from cudanalyst.resources.attribution.inference.intervals import these_problems
from cudanalyst.resources.attribution.inference.multiplicity import max_t, minimum_problems
from cudanalyst.resources.attribution.inference.sequences import METHOD, confidence_sequence
from cudanalyst.resources.attribution.plan import SCORES, AnalysisPlan, EffectName
from cudanalyst.resources.attribution.result import Drift, Family, FamilyMember, Sequence, SequencePoint

POINTS: Final = 64
SENTINELS_MIN: Final = 4


def _weights(effects: tuple[EffectName, ...], players: tuple[str, ...]) -> tuple[tuple[EffectName, ...], Floats]:
    found = [
        (effect, terms(len(players)).row(effect.index, [players.index(player) for player in effect.players]))
        for effect in effects
    ]
    kept = [(effect, row) for effect, row in found if row is not None]
    return tuple(effect for effect, _ in kept), np.array([row for _, row in kept]).reshape(-1, 1 << len(players))


def _complete(
    frame: Frame, condition: int, plan: AnalysisPlan, weights: Floats, *, blocks: bool = False
) -> Cells | None:
    part = frame.of(condition).measured(plan.primary_level)
    part = part.in_complete_blocks() if blocks else part
    if not len(weights) or part.lost.all():
        return None
    cells = part.cells(plan.primary_level, part.mask, 1 << len(frame.players))
    usable = cells.usable(np.abs(weights).sum(axis=0))
    return cells.restrict(usable) if usable.any() else None


def family(frame: Frame, condition: int, plan: AnalysisPlan) -> Family | None:
    """The primary family of one planner; None before it can be estimated."""
    if sampling.is_sampled(frame.players, plan):
        return None
    effects, weights = _weights(plan.primary_effects(frame.players), frame.players)
    cells = _complete(frame, condition, plan, weights)
    if cells is None:
        return None
    rows = effects_by_problem(cells, weights)
    problems, number = rows.shape
    value = rows.mean(axis=0)
    p: list[float | None] = [None] * number
    adjusted, refused = list(p), None
    if plan.target == "these problems":
        limits = these_problems(cells, weights, alpha=plan.alpha / number)
        low, high, method = limits.low, limits.high, f"Bonferroni over {number} effects; no p values for these problems"
    else:
        needed = minimum_problems(number, plan.alpha)
        found = max_t(rows, alpha=plan.alpha, seed=plan.seed) if problems >= needed else None
        method = f"step-down max-T over {number} effects by sign flips of problems"
        low, high = np.full(number, np.nan), np.full(number, np.nan)
        if found is None:
            refused = (
                f"{problems} problems cannot make any adjusted p as small as {plan.alpha:g} by sign flips: {number} "
                f"effects need {needed}"
            )
        else:
            method += f" ({found.flips}, {'all' if found.exact else 'drawn'})"
            low, high = found.low, found.high
            p, adjusted = [float(one) for one in found.p], [float(one) for one in found.adjusted]
    sides = limits_of(cells, weights, plan.target, plan.alpha)
    margin = plan.score_margin if plan.primary_level in SCORES else plan.margin
    where = frame.conditions[condition]
    return Family(
        planner=where.planner,
        level=plan.primary_level,
        regime=where.regime,
        target=plan.target,
        alpha=plan.alpha,
        method=method,
        problems=problems,
        members=tuple(
            FamilyMember(
                effect=effect,
                value=float(value[k]),
                p=p[k],
                adjusted_p=adjusted[k],
                low=None if np.isnan(low[k]) else float(low[k]),
                high=None if np.isnan(high[k]) else float(high[k]),
                equivalent=None if isinstance(sides, str) else -margin < sides[k].low and sides[k].high < margin,
            )
            for k, effect in enumerate(effects)
        ),
        refused=refused,
    )


def sequences(frame: Frame, condition: int, plan: AnalysisPlan) -> tuple[tuple[Sequence, ...], str | None]:
    """Confidence sequences of the watched effects, and why there are none where the plan asked for them."""
    if plan.stopping.rule != "confidence_sequence":
        return (), None
    if plan.primary_level in SCORES:
        return (), "Scores have no upper bound, so there is no confidence sequence: stop by a success level."
    watched = plan.stopping.effects or plan.primary_effects(frame.players)
    effects, weights = _weights(watched, frame.players)
    cells = _complete(frame, condition, plan, weights, blocks=True)
    if cells is None:
        return (), "No confidence sequence yet: no block has an outcome for every coalition."
    alpha = plan.alpha / max(len(effects), 1)
    found = confidence_sequence(cells, weights, alpha=alpha)
    if found is None:
        return (
            (),
            "No confidence sequence: trials are not in complete blocks (a half-run block counts once it is whole).",
        )
    estimate, low, high = found
    where, rounds = frame.conditions[condition], len(estimate)
    looks = np.unique(np.linspace(0, rounds - 1, min(POINTS, rounds)).astype(int))
    answers = []
    for k, effect in enumerate(effects):
        points = tuple(
            SequencePoint(
                rounds=int(t) + 1, estimate=float(estimate[t, k]), low=float(low[t, k]), high=float(high[t, k])
            )
            for t in looks
        )
        last = points[-1]
        narrow = plan.stopping.half_width is not None and last.high - last.low <= 2 * plan.stopping.half_width
        decided = last.low > 0 or last.high < 0 or (-plan.margin < last.low and last.high < plan.margin)
        answers.append(
            Sequence(
                planner=where.planner,
                level=plan.primary_level,
                regime=where.regime,
                effect=effect,
                alpha=alpha,
                method=METHOD,
                points=points,
                stop=rounds >= plan.stopping.min_rounds and (decided or narrow),
            )
        )
    return tuple(answers), None


def drift(sentinels: Frame, plan: AnalysisPlan) -> tuple[Drift, ...]:
    """Change of sentinel cells over time, planner by planner."""
    found = []
    for planner in sorted({one.planner for one in sentinels.conditions}):
        mine = np.array([one.planner == planner for one in sentinels.conditions], dtype=np.bool_)
        keep = mine[sentinels.condition] & ~sentinels.lost
        keep &= ~np.isnan(sentinels.outcomes[plan.primary_level])
        part = sentinels.select(keep)
        if len(part.unit) < SENTINELS_MIN:
            continue
        size = 1 << len(part.players)
        cell = (part.condition * len(part.units) + part.unit) * size + part.mask
        span = float(np.ptp(part.time))
        time = (part.time - part.time.min()) / span if span > 0 else part.time * 0
        slope, p = trend(cell, time, part.outcomes[plan.primary_level])
        found.append(
            Drift(
                planner=planner,
                level=plan.primary_level,
                trials=len(part.unit),
                cells=len(np.unique(cell)),
                change=slope,
                p=p,
            )
        )
    return tuple(found)
