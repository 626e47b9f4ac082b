"""Cells of an experiment, and the pooling that turns them into v(S).

Pooling, stated once: v(S) is the mean over problems of the mean over a problem's checkpoints of the cell mean, so every
problem weighs the same, and within it every checkpoint, however many trials each got.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Blocks:
    """Complete blocks: runs that hold every column exactly once, close in time."""

    outcomes: Floats
    """Shape `(..., blocks, columns)`."""
    unit: Ints
    """Shape `(blocks,)`: the row of `Cells.units` that each block belongs to."""


@dataclass(frozen=True)
class Cells:
    """Sums of outcomes per unit and column.

    A unit is what is compared with itself: a checkpoint of a problem. A column is a coalition; where conditions are
    compared, one coalition under one condition. Leading axes of outcomes are separate experiments of one design.
    """

    players: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    """`(problem, checkpoint)`, sorted."""
    successes: NDArray[np.int64] | Floats
    """Shape `(..., units, columns)`: sums of outcomes; counts where outcomes are 0 or 1."""
    trials: Ints
    """Shape `(units, columns)`."""
    blocks: Blocks | None = None
    """None unless every trial belongs to a complete block."""
    squares: Floats | None = None
    """Sums of squared outcomes; None where outcomes are 0 or 1."""

    @property
    def means(self) -> Floats:
        """Cell means; NaN where a cell is empty, so that nothing can be imputed by accident."""
        means = np.full(self.successes.shape, np.nan)
        np.divide(self.successes, self.trials, out=means, where=self.trials > 0)
        return means

    @property
    def problems(self) -> tuple[str, ...]:
        """Names of problems, sorted."""
        return tuple(sorted({problem for problem, _ in self.units}))

    @property
    def problem_of(self) -> Ints:
        """Index of each unit's problem, in sorted order of problems."""
        return positions([problem for problem, _ in self.units])

    def usable(self, contrast: Floats) -> Bools:
        """Units with trials in every cell that a contrast gives weight to."""
        return np.asarray((self.trials[:, contrast != 0] > 0).all(axis=1), dtype=np.bool_)

    def restrict(self, keep: Bools) -> "Cells":
        """The same experiment on some of its units."""
        blocks = None
        if self.blocks is not None:
            within = keep[self.blocks.unit]
            renumbered = np.cumsum(keep) - 1
            blocks = Blocks(self.blocks.outcomes[..., within, :], renumbered[self.blocks.unit[within]])
        return Cells(
            self.players,
            tuple(unit for unit, kept in zip(self.units, keep, strict=True) if kept),
            self.successes[..., keep, :],
            self.trials[keep],
            blocks,
            None if self.squares is None else self.squares[..., keep, :],
        )


def count(
    players: Sequence[str],
    units: tuple[tuple[str, str], ...],
    columns: int,
    *,
    unit: Ints,
    column: Ints,
    block: Ints,
    outcome: Floats,
    binary: bool = True,
) -> Cells:
    """Adds outcomes up per unit and column.

    Blocks are kept where each column that occurs at all occurs exactly once in every block.

    Args:
        players: names, for the coalitions behind columns.
        units: all of them, sorted.
        columns: how many there are.
        unit: row of `units`, per trial.
        column: per trial.
        block: any number, equal for the trials of one block; a block lies within one unit.
        outcome: per trial.
        binary: whether outcomes are 0 or 1.
    """
    shape = (len(units), columns)
    trials = _add(unit * columns + column, None, shape)
    sums = _add(unit * columns + column, outcome, shape)
    ids, block = np.unique(block, return_inverse=True)
    held = _add(block * columns + column, None, (len(ids), columns))
    occurring = held.any(axis=0)
    blocks = None
    if len(ids) and (held[:, occurring] == 1).all():
        unit_of = np.zeros(len(ids), dtype=np.int64)
        unit_of[block] = unit
        blocks = Blocks(_add(block * columns + column, outcome, held.shape), unit_of)
    return Cells(
        tuple(players),
        units,
        np.rint(sums).astype(np.int64) if binary else sums,
        trials.astype(np.int64),
        blocks,
        None if binary else _add(unit * columns + column, outcome**2, shape),
    )


def _add(index: Ints, weights: Floats | None, shape: tuple[int, ...]) -> Floats:
    return np.bincount(index, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def positions(names: Sequence[str]) -> Ints:
    """Index of each name in the sorted order of all."""
    row = {name: k for k, name in enumerate(sorted(set(names)))}
    return np.array([row[name] for name in names], dtype=np.int64)


def unit_weights(problem_of: Ints) -> Floats:
    """Weight of each unit: equal per problem, then equal per checkpoint of the problem. Sums to 1."""
    if not len(problem_of):
        return np.zeros(0)
    per_problem = np.bincount(problem_of)
    weights: Floats = 1.0 / (np.count_nonzero(per_problem) * per_problem[problem_of])
    return weights


def problem_weights(problem_of: Ints) -> Floats:
    """The same problem by problem, shape `(problems, units)`: each row sums to 1."""
    if not len(problem_of):
        return np.zeros((0, 0))
    belongs = problem_of == np.arange(problem_of.max() + 1)[:, None]
    weights: Floats = belongs / belongs.sum(axis=1, keepdims=True)
    return weights


def pooled(cells: Cells) -> Floats:
    """v(S) over all units, shape `(..., columns)`; NaN where any unit lacks the cell."""
    value: Floats = unit_weights(cells.problem_of) @ cells.means
    return value


def by_problem(cells: Cells) -> Floats:
    """v(S) of each problem, shape `(..., problems, columns)`, in sorted order; NaN where a cell is missing."""
    means = cells.means
    empty = np.isnan(means)
    weights = problem_weights(cells.problem_of)
    values: Floats = weights @ np.where(empty, 0.0, means)
    if empty.any():
        values[(weights > 0) @ empty.astype(np.float64) > 0] = np.nan
    return values


def effects_by_problem(cells: Cells, contrasts: Floats) -> Floats:
    """Effects of each problem, shape `(..., problems, effects)`; every cell that a contrast needs must be filled."""
    found: Floats = np.nan_to_num(by_problem(cells)) @ contrasts.T
    return found
