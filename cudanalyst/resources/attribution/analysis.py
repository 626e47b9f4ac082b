"""The whole analysis of an experiment: from rows and a plan to every number that is reported."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cudanalyst.resources.attribution import notes, sampling
from cudanalyst.resources.attribution.claims import check_plan, judge
from cudanalyst.resources.attribution.compare import contrast_regimes, pairs_of, slopes
from cudanalyst.resources.attribution.families import drift, family, sequences
from cudanalyst.resources.attribution.frame import Frame, frame_of
from cudanalyst.resources.attribution.plan import AnalysisPlan, LevelName
from cudanalyst.resources.attribution.result import Analysis, ClaimResult, RegimeContrast, Slice, Trace
from cudanalyst.resources.attribution.result import Sequence as ConfidenceSequence
from cudanalyst.resources.attribution.slices import slice_of
from cudanalyst.resources.trial_rows import TrialRow

DEFAULT: Final = AnalysisPlan()
MEASURED: Final[frozenset[LevelName]] = frozenset({"fast", "score"})


def analyse(rows: Sequence[TrialRow], plan: AnalysisPlan = DEFAULT) -> Analysis:
    """Estimates everything that a plan asks for. Works in the middle of an experiment; nothing is imputed.

    Args:
        rows: one per trial, of experiments with the same players.
        plan: levels, primary family, margins, claims.

    Raises:
        BadRequest: rows of different players, or a claim that speaks of nothing.
    """
    frame, sentinels, exclusions = frame_of(rows, plan)
    if frame.players:
        check_plan(plan, frame.players)
    levels = tuple(level for level in plan.levels if _known(frame, level))
    sampled = sampling.is_sampled(frame.players, plan)
    primary = [
        k
        for k, one in enumerate(frame.conditions)
        if one.regime == plan.primary_regime and one.horizon == min(other.horizon for other in frame.conditions)
    ]
    said: list[str] = []
    watched: list[ConfidenceSequence] = []
    for condition in primary if not sampled else ():
        new, reason = sequences(frame, condition, plan)
        watched += new
        if reason is not None and reason not in said:
            said.append(reason)
    drifts = drift(sentinels, plan)
    return Analysis(
        plan=plan,
        players=frame.players,
        trials=int((~frame.lost).sum()),
        problems=len({unit.problem for unit in frame.units}),
        checkpoints=len(frame.units),
        generations=frame.generations,
        slices=_slices(frame, levels, plan),
        contrasts=() if sampled else _contrasts(frame, levels, plan),
        slopes=()
        if sampled
        else tuple(row for condition in primary for level in levels for row in slopes(frame, condition, level, plan)),
        families=tuple(found for condition in primary if (found := family(frame, condition, plan)) is not None),
        claims=() if sampled else _claims(frame, plan),
        sequences=tuple(watched),
        drift=drifts,
        traces=_traces(frame, primary, plan) if sampled and plan.primary_level in levels else (),
        exclusions=exclusions,
        notes=(*notes.of_analysis(frame, plan, exclusions, drifts, levels, sampled=sampled), *said),
    )


def _known(frame: Frame, level: LevelName) -> bool:
    """Whether a level was looked at: a failure is one at measured levels too, so it alone says nothing of measuring."""
    known = ~np.isnan(frame.outcomes[level])
    return bool((known & (frame.outcomes["passed"] == 1)).any() if level in MEASURED else known.any())


def _contrasts(frame: Frame, levels: Sequence[LevelName], plan: AnalysisPlan) -> tuple[RegimeContrast, ...]:
    """Of every pair of conditions that is compared; generation by generation at the primary level only."""
    return tuple(
        row
        for left, right in pairs_of(frame, plan)
        for level in levels
        for generation in (_looks(frame) if level == plan.primary_level else [None])
        for row in contrast_regimes(frame, left, right, level, generation, plan)
    )


def _claims(frame: Frame, plan: AnalysisPlan) -> tuple[ClaimResult, ...]:
    planners = sorted({one.planner for one in frame.conditions})
    return tuple(
        judge(claim, planner, frame, plan)
        for claim in plan.claims
        for planner in ([claim.planner] if claim.planner is not None else planners)
    )


def _traces(frame: Frame, primary: Sequence[int], plan: AnalysisPlan) -> tuple[Trace, ...]:
    level = plan.primary_level
    return tuple(
        trace
        for condition in primary
        for trace in sampling.traces(frame.of(condition).measured(level), frame.conditions[condition], level, plan)
    )


def _looks(frame: Frame) -> list[int | None]:
    """Pooled, then each generation where there are several."""
    return [None] if len(frame.generations) < 2 else [None, *frame.generations]


def _slices(frame: Frame, levels: Sequence[LevelName], plan: AnalysisPlan) -> tuple[Slice, ...]:
    """Pooled ones of every condition, then each generation's where there are several."""
    found = []
    for condition in range(len(frame.conditions)):
        for generation in _looks(frame.of(condition)):
            for level in levels:
                one = slice_of(frame, condition, generation, level, plan)
                if one is not None:
                    found.append(one)
    return tuple(found)
