"""Cells of an experiment, and the pooling that turns them into v(S).

Pooling, stated once: v(S) is the mean over problems of the mean over a problem's checkpoints of the cell mean, so every
problem weighs the same, and within it every checkpoint, however many trials each got.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.levels import LADDERS
from cudanalyst.resources.attribution.table import Observation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Blocks:
    """Complete blocks: runs that hold every coalition exactly once, close in time."""

    outcomes: Floats
    """Shape `(blocks, 2**n)`, 0 or 1."""
    unit: Ints
    """Shape `(blocks,)`: the row of `Cells.units` that each block belongs to."""


@dataclass(frozen=True)
class Cells:
    """Counts per unit (a checkpoint of a problem) and coalition."""

    players: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    """`(problem, checkpoint)`, sorted."""
    successes: Ints
    """Shape `(units, 2**n)`."""
    trials: Ints
    blocks: Blocks | None
    """None unless every trial belongs to a complete block."""

    @property
    def means(self) -> Floats:
        """Cell means; NaN where a cell is empty, so that nothing can be imputed by accident."""
        means = np.full(self.trials.shape, np.nan)
        np.divide(self.successes, self.trials, out=means, where=self.trials > 0)
        return means

    @property
    def problem_of(self) -> Ints:
        """Index of each unit's problem, in sorted order of problems."""
        names = sorted({problem for problem, _ in self.units})
        return np.array([names.index(problem) for problem, _ in self.units], dtype=np.int64)

    def usable(self, contrast: Floats) -> Bools:
        """Units with trials in every cell that a contrast gives weight to."""
        return np.asarray((self.trials[:, contrast != 0] > 0).all(axis=1), dtype=np.bool_)

    def restrict(self, keep: Bools) -> "Cells":
        """The same experiment on some of its units."""
        blocks = None
        if self.blocks is not None:
            within = keep[self.blocks.unit]
            renumbered = np.cumsum(keep) - 1
            blocks = Blocks(self.blocks.outcomes[within], renumbered[self.blocks.unit[within]])
        units = tuple(unit for unit, kept in zip(self.units, keep, strict=True) if kept)
        return Cells(self.players, units, self.successes[keep], self.trials[keep], blocks)


def tabulate(observations: Sequence[Observation], players: Sequence[str]) -> Cells:
    """Counts observations per problem, checkpoint and coalition.

    Raises:
        BadRequest: a coalition names something that is not a player.
    """
    size = 1 << len(players)
    masks: dict[tuple[str, ...], int] = {}
    for coalition in {seen.coalition for seen in observations}:
        masks[coalition] = game.mask_of(coalition, players)
    units = tuple(sorted({(seen.problem, seen.checkpoint) for seen in observations}))
    rows = {unit: row for row, unit in enumerate(units)}
    blocks: dict[tuple[int, int], int] = {}
    unit_of, mask_of, block_of, success = (np.empty(len(observations), dtype=np.int64) for _ in range(4))
    for k, seen in enumerate(observations):
        row = rows[seen.problem, seen.checkpoint]
        unit_of[k], mask_of[k], success[k] = row, masks[seen.coalition], seen.success
        block_of[k] = blocks.setdefault((row, seen.block), len(blocks))
    trials = np.bincount(unit_of * size + mask_of, minlength=len(units) * size).reshape(len(units), size)
    successes = _weighted(unit_of * size + mask_of, success, (len(units), size))
    in_block = np.bincount(block_of * size + mask_of, minlength=len(blocks) * size)
    complete = None
    if blocks and (in_block == 1).all():
        outcomes = _weighted(block_of * size + mask_of, success, (len(blocks), size))
        complete = Blocks(outcomes.astype(np.float64), np.array([row for row, _ in blocks], dtype=np.int64))
    return Cells(tuple(players), units, successes, trials.astype(np.int64), complete)


def _weighted(index: Ints, weights: Ints, shape: tuple[int, int]) -> Ints:
    counts = np.bincount(index, weights=weights, minlength=shape[0] * shape[1])
    return np.rint(counts).astype(np.int64).reshape(shape)


def unit_weights(problem_of: Ints) -> Floats:
    """Weight of each unit: equal per problem, then equal per checkpoint of the problem. Sums to 1."""
    if not len(problem_of):
        return np.zeros(0)
    per_problem = np.bincount(problem_of)
    weights: Floats = 1.0 / (np.count_nonzero(per_problem) * per_problem[problem_of])
    return weights


def pooled(cells: Cells) -> Floats:
    """v(S) over all units, shape `(2**n,)`; NaN where any unit lacks the cell."""
    value: Floats = unit_weights(cells.problem_of) @ cells.means
    return value


def by_problem(cells: Cells) -> Floats:
    """v(S) of each problem, shape `(problems, 2**n)`, in sorted order of problems; NaN where a cell is missing."""
    problem_of = cells.problem_of
    counts = np.bincount(problem_of)
    total = np.zeros((len(counts), cells.trials.shape[1]))
    np.add.at(total, problem_of, cells.means)
    means: Floats = total / counts[:, None]
    return means


def check_nested(levels: Mapping[str, Cells]) -> None:
    """Refuses labels that are not nested: every trial must be counted at every rung, and a higher rung implies a lower.

    Raises:
        BadRequest: a higher level has more successes than a lower one in some cell, or another number of trials. Both
            are how exclusive labels, or selection on a lower level, show.
    """
    for ladder in LADDERS:
        rungs = [level for level in ladder if level in levels]
        for low, high in pairwise(rungs):
            below, above = levels[low], levels[high]
            if below.units != above.units or (below.trials != above.trials).any():
                msg = (
                    f"{low!r} and {high!r} count different trials; give every evaluated trial at every level "
                    f"(a trial that failed {low!r} is a failure at {high!r}, not a missing one)"
                )
                raise BadRequest(msg)
            bad = np.argwhere(above.successes > below.successes)
            if len(bad):
                unit, mask = below.units[bad[0][0]], game.members(int(bad[0][1]), below.players)
                msg = (
                    f"levels must be nested, but checkpoint {unit[1]} of {unit[0]} with evidence {mask or 'none'} has "
                    f"more successes at {high!r} than at {low!r}; count a {high!r} trial as a {low!r} one too"
                )
                raise BadRequest(msg)
