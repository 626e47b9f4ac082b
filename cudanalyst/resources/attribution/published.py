"""The published estimator, as it was, beside the corrected one: for replication tables only.

What it does, and what is wrong with it, is told in docs/attribution.md. Nothing else in the package uses it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.analysis import DEFAULT, analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan, LevelName
from cudanalyst.resources.attribution.table import Effect, Index, Interval, interval_for
from cudanalyst.resources.trial_rows import TrialRow
from cudanalyst.values import Frozen

Label = Literal["compiled", "passed", "fast_modelled", "fast"]
HIGHER: Final[Mapping[Label, tuple[LevelName, ...]]] = {
    "compiled": ("passed",),
    "passed": ("fast_modelled", "fast"),
    "fast_modelled": (),
    "fast": (),
}
"""A trial that reached one of these has lost the lower label: labels are exclusive."""


class Published(Frozen):
    """What the published estimator says at one label."""

    level: Label
    values: dict[str, float]
    """v(S) by coalition, members joined by `+`; over answered trials only."""
    called_banzhaf: dict[str, float]
    """By player: Shapley values, under the name of Banzhaf values."""
    pairs: dict[str, float]
    """By pair: v(ij) - v(i) - v(j) + v(empty)."""
    dropped: int
    """Trials of failed model calls, which left the denominator."""
    trials: int


class ReplicationRow(Frozen):
    """One effect by both estimators."""

    planner: str
    level: Label
    players: tuple[str, ...]
    published: float | None
    """None where a coalition has no answered trial left."""
    index: Index
    corrected: float
    intervals: tuple[Interval, ...]
    differs: bool
    """Whether the published number lies outside the corrected interval for these problems."""
    why: str


def published(rows: Sequence[TrialRow], level: Label) -> Published | None:
    """v(S), "Banzhaf values" and pair terms as the published implementation computes them.

    Exclusive labels; failed model calls dropped; trials pooled whatever their problem; every trial, contaminated ones
    too; Shapley weights. None where a coalition has no trial.

    Raises:
        BadRequest: rows of different players.
    """
    players = _players(rows)
    answered = [row for row in rows if row.compiled is not None and row.planner_failure is None]
    failed = sum(row.compiled is not None and row.planner_failure is not None for row in rows)
    size = 1 << len(players)
    met, tried = np.zeros(size), np.zeros(size)
    for row in answered:
        mask = game.mask_of(row.coalition, players)
        tried[mask] += 1
        met[mask] += _label(row, level)
    if not size or (tried == 0).any():
        return None
    v = met / tried
    return Published(
        level=level,
        values={"+".join(game.members(mask, players)): float(value) for mask, value in enumerate(v)},
        called_banzhaf={player: float(value) for player, value in zip(players, game.shapley(v), strict=True)},
        pairs={
            f"{players[i]}+{players[j]}": float(value)
            for (i, j), value in zip(game.pairs(len(players)), game.sigma(v), strict=True)
        },
        dropped=failed,
        trials=len(answered),
    )


def _label(row: TrialRow, level: Label) -> bool:
    return bool(getattr(row, level)) and not any(bool(getattr(row, higher)) for higher in HIGHER[level])


def _players(rows: Sequence[TrialRow]) -> tuple[str, ...]:
    sets = {row.players for row in rows}
    if len(sets) != 1:
        msg = f"the published estimator needs trials of one set of players, got {len(sets)}"
        raise BadRequest(msg)
    return sets.pop()


def replicate(
    rows: Sequence[TrialRow],
    plan: AnalysisPlan = DEFAULT,
    levels: Sequence[Label] = ("compiled", "passed", "fast_modelled", "fast"),
) -> tuple[ReplicationRow, ...]:
    """The replication table: per planner, level and effect, the published number and the corrected one with intervals.

    Only trials of the plan's primary regime at one step are compared. A level that was not measured has no row.
    """
    kept = [row for row in rows if row.regime == plan.primary_regime and row.horizon == 1 and not row.sentinel]
    wanted = plan.model_copy(update={"levels": tuple(levels), "claims": (), "contrasts": ()})
    found = []
    for planner in sorted({row.planner for row in kept}):
        mine = [row for row in kept if row.planner == planner]
        corrected = analyse(mine, wanted)
        for level in levels:
            part = corrected.slice_of(level)
            if part is None:
                continue
            old = published(mine, level)
            found += [
                _row(planner, level, effect, old)
                for effect in part.effects
                if effect.index in {"banzhaf", "banzhaf_interaction"}
            ]
    return tuple(found)


def _row(planner: str, level: Label, effect: Effect, old: Published | None) -> ReplicationRow:
    name = "+".join(effect.players)
    value = None if old is None else (old.called_banzhaf if effect.index == "banzhaf" else old.pairs).get(name)
    limits = interval_for(effect.intervals, "these problems")
    differs = value is not None and limits is not None and not limits.low <= value <= limits.high
    reasons = []
    if effect.index == "banzhaf":
        reasons.append("Shapley weights")
    else:
        reasons.append("the empty context only")
    if HIGHER[level]:
        reasons.append(f"{level} excludes {' and '.join(HIGHER[level])}")
    if old is not None and old.dropped:
        reasons.append(f"{old.dropped} failed calls dropped")
    return ReplicationRow(
        planner=planner,
        level=level,
        players=effect.players,
        published=value,
        index=effect.index,
        corrected=effect.value,
        intervals=effect.intervals,
        differs=differs,
        why="published: " + ", ".join(reasons),
    )
