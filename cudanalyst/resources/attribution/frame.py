"""Rows as columns: what every estimate of an analysis is counted from."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from types import MappingProxyType
from typing import Final

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.cells import Bools, Cells, Floats, Ints, count
from cudanalyst.resources.attribution.plan import SCORES, AnalysisPlan, LevelName
from cudanalyst.resources.attribution.result import Condition, Exclusions
from cudanalyst.resources.trial_rows import TrialRow, pooled


def _share(value: bool | None) -> float:  # noqa: FBT001 - a column of booleans that may be unknown
    return np.nan if value is None else float(value)


def _score(speedup: float | None) -> float:
    return log(max(1.0, speedup)) if speedup is not None and isfinite(speedup) else np.nan


OUTCOMES: Final[Mapping[LevelName, Callable[[TrialRow], float]]] = MappingProxyType(
    {
        "compiled": lambda row: _share(row.compiled),
        "passed": lambda row: _share(row.passed),
        "fast_modelled": lambda row: _share(row.fast_modelled),
        "fast": lambda row: _share(row.fast),
        "improved": lambda row: _share(row.improved),
        "regressed": lambda row: _share(row.regressed),
        "score_modelled": lambda row: _score(row.modelled_speedup),
        "score": lambda row: _score(row.speedup),
    }
)
"""How a row is read at each level; NaN where it is not known."""


@dataclass(frozen=True)
class Unit:
    """A checkpoint, and what is known of it before any trial."""

    problem: str
    checkpoint: str
    generation: int
    backbone: str
    status: str | None
    structural: frozenset[str]
    no_op: Mapping[str, bool]


@dataclass(frozen=True)
class Frame:
    """Valid trials. Columns of trials have one entry per trial; `lost` trials have no outcome."""

    players: tuple[str, ...]
    conditions: tuple[Condition, ...]
    units: tuple[Unit, ...]
    """Sorted by problem and checkpoint."""
    condition: Ints
    unit: Ints
    mask: Ints
    block: Ints
    """Block number within the unit."""
    time: Floats
    """When it was evaluated, else its place in the experiment."""
    lost: Bools
    outcomes: Mapping[LevelName, Floats]

    @property
    def generations(self) -> tuple[int, ...]:
        """Of checkpoints, ascending."""
        return tuple(sorted({unit.generation for unit in self.units}))

    def select(self, keep: Bools) -> "Frame":
        """Some of the trials, and only the units that they belong to."""
        rows = np.unique(self.unit[keep])
        renumbered = np.full(len(self.units), -1)
        renumbered[rows] = np.arange(len(rows))
        return replace(
            self,
            units=tuple(self.units[row] for row in rows),
            condition=self.condition[keep],
            unit=renumbered[self.unit[keep]],
            mask=self.mask[keep],
            block=self.block[keep],
            time=self.time[keep],
            lost=self.lost[keep],
            outcomes={level: column[keep] for level, column in self.outcomes.items()},
        )

    def of(self, condition: int, generation: int | None = None) -> "Frame":
        """Trials under one condition, at one generation or at all."""
        keep = self.condition == condition
        if generation is not None:
            keep &= np.array([unit.generation == generation for unit in self.units], dtype=np.bool_)[self.unit]
        return self.select(keep)

    def in_complete_blocks(self) -> "Frame":
        """Trials of blocks that have an outcome for every coalition that occurs; half-run ones wait."""
        occurring = len(np.unique(self.mask[~self.lost]))
        key = self.unit * (int(self.block.max(initial=0)) + 1) + self.block
        _, index, number = np.unique(key, return_inverse=True, return_counts=True)
        lost = np.bincount(index, self.lost, minlength=len(number))
        return self.select(((number == occurring) & (lost == 0))[index])

    def measured(self, level: LevelName) -> "Frame":
        """Units on which a level is known of every evaluated trial: knowing it of some would select among them."""
        unknown = np.isnan(self.outcomes[level]) & ~self.lost
        dropped = np.zeros(len(self.units), dtype=np.bool_)
        dropped[self.unit[unknown]] = True
        return self.select(~dropped[self.unit]) if dropped.any() else self

    def cells(self, level: LevelName, column: Ints, columns: int) -> Cells:
        """Outcomes at one level, added up per unit and column."""
        seen = ~self.lost
        outcome = self.outcomes[level][seen]
        span = int(self.block.max(initial=0)) + 1
        return count(
            self.players,
            tuple((unit.problem, unit.checkpoint) for unit in self.units),
            columns,
            unit=self.unit[seen],
            column=column[seen],
            block=self.unit[seen] * span + self.block[seen],
            outcome=outcome,
            binary=level not in SCORES,
        )

    def lost_cells(self, column: Ints, columns: int) -> Ints | None:
        """Infrastructure failures per unit and column; None where there is none."""
        if not self.lost.any():
            return None
        index = self.unit[self.lost] * columns + column[self.lost]
        return np.bincount(index, minlength=len(self.units) * columns).reshape(len(self.units), columns)

    def placebos(self) -> frozenset[str]:
        """Players whose evidence was a placebo somewhere."""
        return frozenset(player for unit in self.units for player in unit.structural)


def frame_of(rows: Sequence[TrialRow], plan: AnalysisPlan) -> tuple[Frame, Frame, Exclusions]:
    """Valid trials, sentinels, and what is left out. A trial that is there twice counts once (`trial_rows.pooled`).

    A planner that refused, was cut off or gave up has an outcome, and that is a failure: it stays in the denominator.

    Raises:
        BadRequest: rows of experiments with different players; a coalition of others.
    """
    sets = {row.players for row in rows}
    if len(sets) > 1:
        msg = f"rows have different players ({' and '.join(', '.join(one) for one in sorted(sets)[:2])}): analyse one set at a time"
        raise BadRequest(msg)
    players = sets.pop() if sets else ()
    left: Counter[str] = Counter()
    kept: list[TrialRow] = []
    sentinels: list[TrialRow] = []
    for row in pooled(rows):
        if reason := _excluded(row, plan):
            left[reason] += 1
        elif row.sentinel:
            left["sentinels"] += 1
            sentinels.append(row)
        else:
            left["infrastructure_failed"] += row.state == "infrastructure_failed"
            left["open"] += row.open
            kept.append(row)
    return _columns(kept, players), _columns(sentinels, players), Exclusions(**left)


def _excluded(row: TrialRow, plan: AnalysisPlan) -> str | None:
    if row.contaminated:
        return "contaminated"
    if row.reused_from is not None and plan.exclude_reused:
        return "reused"
    return None if row.state == "infrastructure_failed" or row.compiled is not None else "pending"


def _columns(rows: Sequence[TrialRow], players: tuple[str, ...]) -> Frame:
    # By the design, whatever order they come in: sums of the same numbers in another order differ in their last digits.
    rows = sorted(rows, key=lambda row: (row.block, row.order, row.trial))
    units = {
        (row.problem, row.checkpoint): Unit(
            row.problem,
            row.checkpoint,
            row.generation,
            row.backbone or "",
            row.base_status_before,
            frozenset(row.structural),
            row.no_op,
        )
        for row in rows
    }
    names = sorted(units)
    unit_row = {name: k for k, name in enumerate(names)}
    masks = {coalition: game.mask_of(coalition, players) for coalition in {row.coalition for row in rows}}
    keys = [_condition(row) for row in rows]
    order = sorted(set(keys), key=str)
    condition_row = {key: k for k, key in enumerate(order)}
    return Frame(
        players,
        tuple(Condition(planner=who, regime=regime, horizon=steps, plan_of=of) for who, regime, steps, of in order),
        tuple(units[name] for name in names),
        _ints(condition_row[key] for key in keys),
        _ints(unit_row[row.problem, row.checkpoint] for row in rows),
        _ints(masks[row.coalition] for row in rows),
        _ints(row.block for row in rows),
        np.array([_time(row, k) for k, row in enumerate(rows)], dtype=np.float64),
        np.array([row.state == "infrastructure_failed" for row in rows], dtype=np.bool_),
        {level: np.array([read(row) for row in rows], dtype=np.float64) for level, read in OUTCOMES.items()},
    )


def _condition(row: TrialRow) -> tuple[str, str, int, str | None]:
    who = row.planner if row.coder == row.planner else f"{row.planner} / {row.coder}"
    return who, row.regime, row.horizon, row.plan_of


def _time(row: TrialRow, place: int) -> float:
    known = (row.submitted_at, row.evaluated_at, row.opened_at)
    return next((time for time in known if time is not None), float(place))


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
