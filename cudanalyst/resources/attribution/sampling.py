"""Sampled coalitions, for more players than all coalitions can be run for: maximum sample reuse.

Every trial's coalition is drawn uniformly: each player is in it with probability 1/2. Then every trial with i in its
coalition estimates E[v | i in S], every other one E[v | i not in S], and their difference is the Banzhaf value; likewise
for pairs and triples with the four and eight patterns of their members. All trials serve all effects.
Source: Wang and Jia, "Data Banzhaf: a robust data valuation framework for machine learning" (2023), for single players.
"""

from collections.abc import Sequence
from itertools import combinations
from math import isfinite
from typing import Final

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.cells import Cells, Floats, Ints
from cudanalyst.resources.attribution.effects import Row, estimate_rows
from cudanalyst.resources.attribution.frame import Frame
from cudanalyst.resources.attribution.plan import AnalysisPlan, EffectName, LevelName
from cudanalyst.resources.attribution.result import Condition, Trace, TracePoint
from cudanalyst.resources.attribution.table import Effect, Index, interval_for
from cudanalyst.values import content_id

EXACT_PLAYERS: Final = 6
"""Up to here every coalition is run."""
THIRD_ORDER_PLAYERS: Final = 8
ORDERS: Final[tuple[Index, ...]] = ("banzhaf", "banzhaf_interaction", "banzhaf_third")
TRACE_FROM: Final = 16


def is_sampled(players: Sequence[str], plan: AnalysisPlan) -> bool:
    """Whether trials are read as sampled coalitions."""
    return plan.coalitions == "sampled" or len(players) > EXACT_PLAYERS


def sample_coalitions(players: Sequence[str], number: int, *, seed: int, key: str) -> tuple[tuple[str, ...], ...]:
    """Uniform coalitions, independent of each other, members sorted.

    Args:
        players: whose coalitions.
        number: how many to draw; the same coalition may come twice.
        seed: of the experiment.
        key: what the draws belong to, a checkpoint: every checkpoint must draw on its own, or trials of different
            checkpoints would share the luck of the draw and intervals would be too narrow.

    Raises:
        BadRequest: no players, or no number.
    """
    if number < 1 or not players:
        msg = (
            f"sampling needs players and a number of coalitions of at least 1, got {len(players)} players and {number}"
        )
        raise BadRequest(msg)
    digest = content_id("draw", str(seed), key).removeprefix("draw_")
    bits = np.random.default_rng(int(digest, 16)).integers(0, 2, (number, len(players)))
    return tuple(tuple(sorted(player for player, drawn in zip(players, row, strict=True) if drawn)) for row in bits)


def team_columns(mask: Ints, team: Sequence[int]) -> Ints:
    """Which members of a team are in each coalition, as a number; shape of `mask`."""
    return np.asarray(sum((mask >> i & 1) << k for k, i in enumerate(team)), dtype=np.int64)


def team_contrast(order: int) -> Floats:
    """Weights over patterns of a team's members: the derivative in all of them."""
    return np.array([[(-1.0) ** (order - pattern.bit_count()) for pattern in range(1 << order)]])


def simulated_team(masks: Ints, outcomes: Floats, team: Sequence[int], units: Sequence[tuple[str, str]]) -> Cells:
    """Cells of one team from arrays of trials, for separate experiments at once.

    Args:
        masks: coalitions, shape `(..., units, trials)`.
        outcomes: 0 or 1, same shape.
        team: players.
        units: names.
    """
    patterns, shape = 1 << len(team), masks.shape[:-1]
    row = np.arange(int(np.prod(shape))).reshape(*shape, 1)
    index = (row * patterns + team_columns(masks, team)).reshape(-1)
    size = row.size * patterns
    return Cells(
        tuple(str(i) for i in team),
        tuple(units),
        np.rint(np.bincount(index, outcomes.reshape(-1), minlength=size)).astype(np.int64).reshape(*shape, patterns),
        np.bincount(index, minlength=size).reshape(*shape, patterns),
    )


def sampled_effects(part: Frame, level: LevelName, plan: AnalysisPlan) -> tuple[Effect, ...]:
    """Banzhaf values, pair interactions and, up to eight players, those of triples."""
    n, placebos, found = len(part.players), part.placebos(), []
    for order, index in enumerate(ORDERS[: 3 if n <= THIRD_ORDER_PLAYERS else 2], start=1):
        for team in combinations(range(n), order):
            row = _team_row(part, level, team, plan)
            if row is not None:
                found.append(row.effect(index, tuple(part.players[i] for i in team), placebos))
    return tuple(found)


def _team_row(part: Frame, level: LevelName, team: Sequence[int], plan: AnalysisPlan) -> Row | None:
    column, columns = team_columns(part.mask, team), 1 << len(team)
    # Blocks mean nothing here: they do not hold every pattern once.
    counted = part.cells(level, column, columns)
    cells = Cells(counted.players, counted.units, counted.successes, counted.trials, None, counted.squares)
    return estimate_rows(
        cells,
        team_contrast(len(team)),
        population=plan.population_interval,
        seed=plan.seed,
        lost=part.lost_cells(column, columns),
    )[0]


def traces(part: Frame, condition: Condition, level: LevelName, plan: AnalysisPlan) -> tuple[Trace, ...]:
    """How each Banzhaf value settled as trials came in, at 16, 32, 64, ... trials and at the end."""
    order = np.argsort(part.time, kind="stable")
    total = len(order)
    looks = [1 << k for k in range(TRACE_FROM.bit_length() - 1, total.bit_length()) if 1 << k < total] + [total]
    heads = []
    for look in looks:
        keep = np.zeros(total, dtype=np.bool_)
        keep[order[:look]] = True
        heads.append((look, part.select(keep)))
    found = []
    for i, player in enumerate(part.players):
        points = []
        for look, head in heads:
            row = _team_row(head, level, (i,), plan)
            if row is None or not isfinite(row.value):
                continue
            limits = interval_for(row.intervals(), "these problems")
            points.append(
                TracePoint(
                    trials=look,
                    estimate=row.value,
                    low=None if limits is None else limits.low,
                    high=None if limits is None else limits.high,
                )
            )
        effect = EffectName(index="banzhaf", players=(player,))
        found.append(Trace(condition=condition, level=level, effect=effect, points=tuple(points)))
    return tuple(found)
