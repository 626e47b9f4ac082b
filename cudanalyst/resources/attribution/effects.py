"""Estimates of v(S) and of every index with their intervals, from cells."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.estimate import Bools, Cells, Floats, unit_weights
from cudanalyst.resources.attribution.intervals import Limits, population_of_problems, these_problems
from cudanalyst.resources.attribution.table import CoalitionValue, Effect, Interval

Index = Literal["banzhaf", "banzhaf_interaction", "sigma", "shapley", "shapley_interaction"]


@dataclass(frozen=True)
class Terms:
    """Effects to estimate: weights over coalitions, and what each row is."""

    contrasts: Floats
    """Shape `(effects, 2**n)`."""
    labels: tuple[tuple[Index, tuple[int, ...]], ...]

    def only(self, *indices: Index) -> "Terms":
        """The terms of some indices."""
        keep = [k for k, (index, _) in enumerate(self.labels) if index in indices]
        return Terms(self.contrasts[keep], tuple(self.labels[k] for k in keep))


@cache
def terms(n: int) -> Terms:
    """Every index of a game over n players."""
    singles, pairs = [(i,) for i in range(n)], list(game.pairs(n))
    rows: list[tuple[Index, Floats, list[tuple[int, ...]]]] = [
        ("banzhaf", game.contrast(game.banzhaf, n), [*singles]),
        ("banzhaf_interaction", game.contrast(game.banzhaf_interaction, n), [*pairs]),
        ("sigma", game.contrast(game.sigma, n), [*pairs]),
        ("shapley", game.contrast(game.shapley, n), [*singles]),
        ("shapley_interaction", game.contrast(game.shapley_interaction, n), [*pairs]),
    ]
    return Terms(
        np.concatenate([weights for _, weights, _ in rows]),
        tuple((index, who) for index, _, owners in rows for who in owners),
    )


def estimate(
    cells: Cells, wanted: Terms, *, structural: Collection[str] = (), population: bool = True
) -> tuple[tuple[CoalitionValue, ...], tuple[Effect, ...]]:
    """v(S) of every coalition that was tried, and the effects that the filled cells allow.

    A row is estimated on the units that have every cell it needs. A coalition that no unit tried, and an effect that
    needs it, is absent: nothing is imputed.

    Args:
        cells: counts.
        wanted: effects to estimate.
        structural: players that were given a placebo somewhere.
        population: whether to add intervals for the population of problems.
    """
    size = cells.trials.shape[1]
    contrasts = np.concatenate([np.eye(size), wanted.contrasts])
    rows = _estimate(cells, contrasts, population=population)
    values = tuple(
        CoalitionValue(
            coalition=game.members(mask, cells.players),
            value=row.value,
            successes=int(cells.successes[:, mask].sum()),
            trials=int(cells.trials[:, mask].sum()),
            intervals=row.intervals(),
        )
        for mask, row in enumerate(rows[:size])
        if row is not None
    )
    effects = []
    for (index, who), row in zip(wanted.labels, rows[size:], strict=True):
        if row is not None:
            named = tuple(cells.players[i] for i in who)
            effects.append(
                Effect(
                    players=named,
                    index=index,
                    value=row.value,
                    intervals=row.intervals(),
                    structural=any(player in structural for player in named),
                )
            )
    return values, tuple(effects)


@dataclass(frozen=True)
class _Row:
    value: float
    number: int
    these: Limits
    population: Limits | None

    def intervals(self) -> tuple[Interval, ...]:
        found = self.these.interval(self.number, "these problems")
        if self.population is not None:
            found += self.population.interval(self.number, "population of problems")
        return found


def _estimate(cells: Cells, contrasts: Floats, *, population: bool) -> list[_Row | None]:
    """Rows that share their usable units are estimated together: all of them, but in a half-run experiment."""
    found: list[_Row | None] = [None] * len(contrasts)
    groups: dict[bytes, tuple[Bools, list[int]]] = {}
    for k, contrast in enumerate(contrasts):
        usable = cells.usable(contrast)
        groups.setdefault(usable.tobytes(), (usable, []))[1].append(k)
    for usable, rows in groups.values():
        if not usable.any():
            continue
        part = cells if usable.all() else cells.restrict(usable)
        weights = contrasts[rows]
        these = these_problems(part, weights)
        whole = population_of_problems(part, weights) if population else None
        values = weights @ (unit_weights(part.problem_of) @ np.nan_to_num(part.means))
        for number, (k, value) in enumerate(zip(rows, values, strict=True)):
            found[k] = _Row(float(value), number, these, whole)
    return found
