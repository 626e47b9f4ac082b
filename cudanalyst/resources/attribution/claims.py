"""Claims as hypotheses: one-sided tests, equivalence, and what is built from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.cells import Cells, Floats, effects_by_problem
from cudanalyst.resources.attribution.compare import lifts, matched, over_generations, regime_named, slope_contrasts
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.inference.intervals import (
    POPULATION_MIN,
    POPULATION_RELIABLE,
    t_limits,
    these_problems,
)
from cudanalyst.resources.attribution.inference.logit import logit_effects
from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.plan import SCORES, AnalysisPlan, Claim, LevelName
from cudanalyst.resources.attribution.result import ClaimResult
from cudanalyst.resources.attribution.table import Index, Target

COUNT: Final[dict[Index, int]] = {
    "banzhaf": 1,
    "shapley": 1,
    "banzhaf_interaction": 2,
    "sigma": 2,
    "shapley_interaction": 2,
    "shapley_taylor": 2,
    "banzhaf_third": 3,
}


@dataclass(frozen=True)
class Limits:
    """An estimate with one-sided limits: each holds with 1 - alpha, both with 1 - 2 alpha."""

    value: float
    low: float
    high: float


def check_plan(plan: AnalysisPlan, players: Sequence[str]) -> None:
    """Refuses effects and claims that speak of nothing.

    Raises:
        BadRequest: an unknown player, a wrong number of them, or a comparison without `against`.
    """
    for effect in (*plan.primary, *plan.stopping.effects):
        needed = COUNT.get(effect.index, len(effect.players))
        if not set(effect.players) <= set(players) or len(set(effect.players)) != needed:
            msg = (
                f"{effect.index} of {', '.join(effect.players) or 'nobody'} is no effect here: name {needed} distinct of "
                f"{', '.join(players)}"
            )
            raise BadRequest(msg)
    for claim in plan.claims:
        if unknown := sorted(set(claim.players) - set(players)):
            msg = f"claim {claim.name!r}: {unknown[0]!r} is no player; the players are {', '.join(players)}"
            raise BadRequest(msg)
        if claim.kind.startswith("regime"):
            if claim.against is None:
                msg = f"claim {claim.name!r}: name the regime to compare with in `against`"
                raise BadRequest(msg)
            continue
        count = 1 if claim.kind == "only_through_interactions" else COUNT.get(claim.index)
        if len(set(claim.players)) != len(claim.players) or len(claim.players) != (count or len(claim.players) or 1):
            msg = f"claim {claim.name!r}: {claim.kind} of {claim.index} needs {count or 'some'} distinct players"
            raise BadRequest(msg)


def judge(claim: Claim, planner: str, frame: Frame, plan: AnalysisPlan) -> ClaimResult:
    """What the trials say of one claim for one planner."""
    level = claim.level or plan.primary_level
    margin = claim.margin or (plan.score_margin if level in SCORES else plan.margin)
    found = _limits(claim, planner, frame, plan, level)
    common = {"claim": claim, "planner": planner, "target": plan.target}
    if isinstance(found, str):
        return ClaimResult(**common, verdict="cannot be tested", text=found)
    main, others, said = found
    shown = _holds(claim, main, others, margin)
    sides = f"{100 * (1 - 2 * plan.alpha):g} % limits {main.low:+.3f} to {main.high:+.3f}"
    bound = (
        f", margin {margin:g}" if claim.kind in {"equivalent", "regime_equivalent", "only_through_interactions"} else ""
    )
    text = f"{title(level)}: {main.value:+.3f}, {sides} ({plan.target}){bound}{said}"
    return ClaimResult(
        **common, verdict="shown" if shown else "not shown", text=text, value=main.value, low=main.low, high=main.high
    )


def _holds(claim: Claim, main: Limits, others: Sequence[Limits], margin: float) -> bool:
    within = -margin < main.low and main.high < margin
    if claim.kind in {"equivalent", "regime_equivalent"}:
        return within
    if claim.kind == "only_through_interactions":
        return within and any(other.low > 0 for other in others)
    return main.high < 0 if claim.kind == "negative" else main.low > 0


def _limits(
    claim: Claim, planner: str, frame: Frame, plan: AnalysisPlan, level: LevelName
) -> tuple[Limits, list[Limits], str] | str:
    """Limits of what a claim is about, of its interactions, and a remark; or why there are none."""
    condition = regime_named(frame, planner, claim.regime or plan.primary_regime, claim.plan_of)
    if condition is None:
        return f"{planner} has no trial under {claim.regime or plan.primary_regime}"
    n = len(frame.players)
    if claim.kind.startswith("regime"):
        return _lift(claim, planner, condition, frame, plan, level)
    who = [frame.players.index(player) for player in claim.players]
    contrast = terms(n).row(claim.index, who)
    if contrast is None:
        return f"{claim.index} is not estimated"
    if claim.kind == "growing":
        found = over_generations(frame, condition, level)
        if found is None:
            return "no problem was tried at two generations or more, in every coalition"
        cells, generations = found
        slope = slope_contrasts(generations, contrast[None])
        limits = limits_of(cells, slope, plan.target, plan.alpha)
        if isinstance(limits, str):
            return limits
        said = f"; per generation over {generations[0]} to {generations[-1]}"
        if level not in SCORES:
            value, low, high = (float(part[0]) for part in logit_effects(cells, slope, alpha=2 * plan.alpha))
            said += f"; on log odds {value:+.3f}, {low:+.3f} to {high:+.3f} (these problems)"
        return limits[0], [], said
    part = frame.of(condition).measured(level)
    cells = part.cells(level, part.mask, 1 << n)
    usable = cells.usable(contrast)
    if not usable.any():
        return "no checkpoint has a trial in every coalition that this needs"
    cells = cells.restrict(usable)
    main = limits_of(cells, contrast[None], plan.target, plan.alpha)
    if isinstance(main, str):
        return main
    if claim.kind != "only_through_interactions":
        return main[0], [], ""
    partners = [i for i in range(n) if i != who[0]]
    rows = [terms(n).row("banzhaf_interaction", (who[0], other)) for other in partners]
    weights: Floats = np.array([row for row in rows if row is not None]).reshape(-1, 1 << n)
    # One of several interactions is to be positive: Holm's first step for the strongest, the only one that counts.
    pairs = limits_of(cells, weights, plan.target, plan.alpha / max(len(partners), 1))
    if isinstance(pairs, str):
        return pairs
    said = "; interactions " + ", ".join(
        f"with {frame.players[other]} {pair.value:+.3f} (above {pair.low:+.3f})"
        for other, pair in zip(partners, pairs, strict=True)
    )
    return main[0], pairs, said


def _lift(
    claim: Claim, planner: str, condition: int, frame: Frame, plan: AnalysisPlan, level: LevelName
) -> tuple[Limits, list[Limits], str] | str:
    other = None if claim.against is None else regime_named(frame, planner, claim.against, claim.against_plan_of)
    if other is None or other == condition:
        return f"{planner} has no trial under {claim.against} to compare with"
    found = matched(frame, condition, other, level, None)
    if found is None:
        return "no checkpoint was tried under both regimes"
    weights, _ = lifts(found, "mean lift", terms(len(frame.players)).only("banzhaf"))
    if not len(weights):
        return "the regimes share no coalition"
    usable = found.cells.usable(weights[0])
    if not usable.any():
        return "no checkpoint has every coalition under both regimes"
    limits = limits_of(found.cells.restrict(usable), weights, plan.target, plan.alpha)
    return limits if isinstance(limits, str) else (limits[0], [], f"; lift over {claim.against}")


def limits_of(cells: Cells, contrasts: Floats, target: Target, alpha: float) -> list[Limits] | str:
    """One-sided limits of several effects for a target, or why there are none.

    Two one-sided tests at alpha are the 1 - 2 alpha interval within the margin: Schuirmann, "A comparison of the two
    one-sided tests procedure and the power approach for assessing the equivalence of average bioavailability" (1987).
    """
    effects = effects_by_problem(cells, contrasts)
    if target == "these problems":
        found = these_problems(cells, contrasts, alpha=2 * alpha)
        low, high = found.low, found.high
    else:
        problems = len(effects)
        if problems < POPULATION_MIN:
            return (
                f"{problems} problems say nothing about a population of them: {POPULATION_MIN} are the least, and "
                f"{POPULATION_RELIABLE} make it reliable"
            )
        low, high = t_limits(effects, 2 * alpha)
        if not np.isfinite(low).all():
            return "every problem shows the same effect, so that nothing is known of its spread"
    return [
        Limits(float(value), float(down), float(up))
        for value, down, up in zip(effects.mean(axis=0), low, high, strict=True)
    ]
