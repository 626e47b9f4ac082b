"""Planted = enumerated = inside the interval: the three-way test of tools, planner and estimator.

The first equality checks the tools (the text they wrote led a scripted planner where the planted fault says it should);
the second comparison checks trials and estimator.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.cells import unit_weights
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.table import Attribution, Index, Interval, interval_for
from cudanalyst.values import Frozen

Tables = Mapping[tuple[str, str], game.Table]
"""True v(S) by `(problem, checkpoint)`."""
TOLERANCE = 1e-9


class Comparison(Frozen):
    """One number, known in up to three ways. None: not known that way."""

    level: str
    index: Index | Literal["value"]
    players: tuple[str, ...]
    planted: float | None
    enumerated: float | None
    estimated: float | None
    interval: Interval | None
    """For these problems."""
    planted_is_enumerated: bool | None
    inside_interval: bool | None
    """Whether the enumerated truth (else the planted one) lies in the interval."""


class GroundTruth(Frozen):
    """Every comparison, and how many hold."""

    comparisons: tuple[Comparison, ...]
    equal: int
    """Comparisons in which planted = enumerated."""
    equal_of: int
    inside: int
    """Comparisons in which the truth is inside the interval; about 95 % is what to expect, not all."""
    inside_of: int


def compare(
    attribution: Attribution,
    *,
    planted: Mapping[str, Tables] | None = None,
    enumerated: Mapping[str, Tables] | None = None,
) -> GroundTruth:
    """Compares an attribution with the truth, pooled over checkpoints as the estimate is.

    Args:
        attribution: estimates.
        planted: by level, tables over `attribution.players` (`planted_values`).
        enumerated: by level, tables of the same checkpoints (`enumerated_values`).

    Raises:
        BadRequest: a table of the wrong size.
    """
    rows: list[Comparison] = []
    for level in attribution.levels:
        truths = [_indices((given or {}).get(level.level), attribution.players) for given in (planted, enumerated)]
        shown: list[tuple[str, tuple[str, ...], float, tuple[Interval, ...]]] = [
            ("value", found.coalition, found.value, found.intervals) for found in level.values
        ]
        shown += [(found.index, found.players, found.value, found.intervals) for found in level.effects]
        for index, who, estimated, intervals in shown:
            name = (index, who)
            known, listed = (truth.get(name) for truth in truths)
            if known is None and listed is None:
                continue
            interval = interval_for(intervals, "these problems")
            truth = listed if listed is not None else known
            rows.append(
                Comparison.model_validate(
                    {
                        "level": level.level,
                        "index": index,
                        "players": who,
                        "planted": known,
                        "enumerated": listed,
                        "estimated": estimated,
                        "interval": interval,
                        "planted_is_enumerated": None
                        if known is None or listed is None
                        else abs(known - listed) < TOLERANCE,
                        "inside_interval": None
                        if interval is None or truth is None
                        else interval.low - TOLERANCE <= truth <= interval.high + TOLERANCE,
                    }
                )
            )
    equal = [row.planted_is_enumerated for row in rows if row.planted_is_enumerated is not None]
    inside = [row.inside_interval for row in rows if row.inside_interval is not None]
    return GroundTruth(
        comparisons=tuple(rows), equal=sum(equal), equal_of=len(equal), inside=sum(inside), inside_of=len(inside)
    )


def pool(tables: Tables) -> game.Table:
    """Mean table with the weights of the estimate: equal per problem, then per checkpoint."""
    units = sorted(tables)
    problems = sorted({problem for problem, _ in units})
    weights = unit_weights(np.array([problems.index(problem) for problem, _ in units], dtype=np.int64))
    table: game.Table = weights @ np.stack([tables[unit] for unit in units])
    return table


def _indices(tables: Tables | None, players: Sequence[str]) -> dict[tuple[str, tuple[str, ...]], float]:
    if not tables:
        return {}
    pooled, wanted = pool(tables), terms(len(players))
    if pooled.shape != (1 << len(players),):
        msg = f"a true table must hold {1 << len(players)} values for {len(players)} players, got {pooled.shape}"
        raise BadRequest(msg)
    found = {("value", game.members(mask, players)): float(value) for mask, value in enumerate(pooled)}
    for (index, who), value in zip(wanted.labels, wanted.contrasts @ pooled, strict=True):
        found[index, tuple(players[i] for i in who)] = float(value)
    return found
