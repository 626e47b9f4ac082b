"""Estimates of v(S) and of every index with their intervals, from cells."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import numpy as np

from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.cells import Bools, Cells, Floats, Ints, problem_weights, unit_weights
from cudanalyst.resources.attribution.inference.intervals import Limits, population_of_problems, these_problems
from cudanalyst.resources.attribution.table import (
    CoalitionValue,
    Effect,
    Index,
    Interval,
    PopulationMethod,
    ProblemAttribution,
)


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

    def row(self, index: Index, who: Collection[int]) -> Floats | None:
        """The weights of one effect; None where there is no such effect."""
        wanted = (index, tuple(sorted(who)))
        return self.contrasts[self.labels.index(wanted)] if wanted in self.labels else None


@cache
def terms(n: int) -> Terms:
    """Every index of a game over n players."""
    singles, pairs, triples = [(i,) for i in range(n)], list(game.pairs(n)), list(game.triples(n))
    subsets = [tuple(i for i in range(n) if mask >> i & 1) for mask in range(1, 1 << n)]
    rows: list[tuple[Index, Floats, list[tuple[int, ...]]]] = [
        ("banzhaf", game.contrast(game.banzhaf, n), [*singles]),
        ("banzhaf_interaction", game.contrast(game.banzhaf_interaction, n), [*pairs]),
        ("banzhaf_third", game.contrast(game.banzhaf_third, n), [*triples]),
        ("sigma", game.contrast(game.sigma, n), [*pairs]),
        ("shapley", game.contrast(game.shapley, n), [*singles]),
        ("shapley_interaction", game.contrast(game.shapley_interaction, n), [*pairs]),
        ("shapley_taylor", game.contrast(game.shapley_taylor, n), [*pairs]),
        ("moebius", game.contrast(game.moebius, n)[1:], subsets),
    ]
    return Terms(
        np.concatenate([weights for _, weights, _ in rows]),
        tuple((index, who) for index, _, owners in rows for who in owners),
    )


def estimate(
    cells: Cells,
    wanted: Terms,
    *,
    structural: Collection[str] = (),
    population: PopulationMethod | None = "t",
    seed: int = 0,
    lost: Ints | None = None,
) -> tuple[tuple[CoalitionValue, ...], tuple[Effect, ...]]:
    """v(S) of every coalition that was tried, and the effects that the filled cells allow.

    A row is estimated on the units that have every cell it needs. A coalition that no unit tried, and an effect that
    needs it, is absent: nothing is imputed.

    Args:
        cells: counts.
        wanted: effects to estimate.
        structural: players that were given a placebo somewhere.
        population: how intervals for the population of problems are made; None for none.
        seed: of a bootstrap.
        lost: infrastructure failures, shape `(units, 2**n)`; adds bounds where there are any.
    """
    size = cells.trials.shape[1]
    contrasts = np.concatenate([np.eye(size), wanted.contrasts])
    rows = estimate_rows(cells, contrasts, population=population, seed=seed, lost=lost)
    values = tuple(
        CoalitionValue(
            coalition=game.members(mask, cells.players),
            value=row.value,
            successes=_successes(cells, mask),
            trials=int(cells.trials[:, mask].sum()),
            intervals=row.intervals(),
            infrastructure_failed=0 if lost is None else int(lost[:, mask].sum()),
            worst=row.worst,
            best=row.best,
        )
        for mask, row in enumerate(rows[:size])
        if row is not None
    )
    effects = tuple(
        row.effect(index, tuple(cells.players[i] for i in who), structural)
        for (index, who), row in zip(wanted.labels, rows[size:], strict=True)
        if row is not None
    )
    return values, effects


def _successes(cells: Cells, column: int) -> int:
    return round(float(cells.successes[:, column].sum())) if cells.squares is None else 0


@dataclass(frozen=True)
class Row:
    """One estimate with its limits."""

    value: float
    number: int
    these: Limits
    population: Limits | None
    units: Bools
    """Which units it is over."""
    worst: float | None = None
    best: float | None = None

    def intervals(self) -> tuple[Interval, ...]:
        """Those that there are, these problems first."""
        found = self.these.interval(self.number, "these problems")
        if self.population is not None:
            found += self.population.interval(self.number, "population of problems")
        return found

    def effect(self, index: Index, players: tuple[str, ...], structural: Collection[str]) -> Effect:
        """The same as an index of some players; `structural` names those with a placebo somewhere."""
        return Effect(
            players=players,
            index=index,
            value=self.value,
            intervals=self.intervals(),
            structural=any(player in structural for player in players),
            worst=self.worst,
            best=self.best,
        )


def estimate_rows(
    cells: Cells,
    contrasts: Floats,
    *,
    population: PopulationMethod | None = "t",
    alpha: float = 0.05,
    seed: int = 0,
    lost: Ints | None = None,
) -> list[Row | None]:
    """One row per contrast; None where no unit has every cell it needs.

    Rows that share their usable units are estimated together: all of them, but in a half-run experiment.
    """
    found: list[Row | None] = [None] * len(contrasts)
    groups: dict[bytes, tuple[Bools, list[int]]] = {}
    for k, contrast in enumerate(contrasts):
        usable = cells.usable(contrast)
        groups.setdefault(usable.tobytes(), (usable, []))[1].append(k)
    for usable, rows in groups.values():
        if not usable.any():
            continue
        part = cells if usable.all() else cells.restrict(usable)
        weights = contrasts[rows]
        these = these_problems(part, weights, alpha=alpha)
        whole = None
        if population is not None:
            whole = population_of_problems(part, weights, alpha=alpha, method=population, seed=seed)
        values = weights @ (unit_weights(part.problem_of) @ np.nan_to_num(part.means))
        bounds = _bounds(part, weights, None if lost is None else lost[usable])
        for number, (k, value) in enumerate(zip(rows, values, strict=True)):
            worst, best = bounds[number] if bounds else (None, None)
            found[k] = Row(float(value), number, these, whole, usable, worst, best)
    return found


def _bounds(cells: Cells, contrasts: Floats, lost: Ints | None) -> list[tuple[float | None, float | None]] | None:
    """Worst and best case of each effect: lost trials of cells that count for it succeed or fail, and the reverse."""
    if lost is None or not lost.any() or cells.squares is not None:
        return None
    weights = unit_weights(cells.problem_of)
    total = np.maximum(cells.trials + lost, 1)
    failed, held = weights @ (cells.successes / total), weights @ ((cells.successes + lost) / total)
    gain, loss = np.maximum(contrasts, 0), np.minimum(contrasts, 0)
    worst, best = gain @ failed + loss @ held, gain @ held + loss @ failed
    touched = (contrasts != 0) @ (lost.sum(axis=0) > 0)
    return [
        (float(low), float(high)) if hit else (None, None) for low, high, hit in zip(worst, best, touched, strict=True)
    ]


def estimate_by_problem(
    cells: Cells, wanted: Terms, *, structural: Collection[str] = ()
) -> tuple[ProblemAttribution, ...]:
    """The same for each problem on its own, with intervals for its checkpoints.

    Where every cell is filled, all problems are estimated in one go.
    """
    problem_of, problems = cells.problem_of, cells.problems
    if (cells.trials == 0).any():
        rows = []
        for g, problem in enumerate(problems):
            part = cells.restrict(problem_of == g)
            values, effects = estimate(part, wanted, structural=structural, population=None)
            rows.append(
                ProblemAttribution(problem=problem, checkpoints=len(part.units), values=values, effects=effects)
            )
        return tuple(rows)
    share, size = problem_weights(problem_of), cells.trials.shape[1]
    contrasts = np.concatenate([np.eye(size), wanted.contrasts])
    limits = these_problems(cells, contrasts, weights=share)
    found = (share @ cells.means) @ contrasts.T
    tried, met = (share > 0) @ cells.trials, (share > 0) @ cells.successes
    return tuple(
        ProblemAttribution(
            problem=problem,
            checkpoints=int((share[g] > 0).sum()),
            values=tuple(
                CoalitionValue(
                    coalition=game.members(mask, cells.players),
                    value=float(found[g, mask]),
                    successes=int(met[g, mask]) if cells.squares is None else 0,
                    trials=int(tried[g, mask]),
                    intervals=limits.interval(mask, "these problems", g),
                )
                for mask in range(size)
            ),
            effects=tuple(
                Effect(
                    players=(named := tuple(cells.players[i] for i in who)),
                    index=index,
                    value=float(found[g, size + k]),
                    intervals=limits.interval(size + k, "these problems", g),
                    structural=any(player in structural for player in named),
                )
                for k, (index, who) in enumerate(wanted.labels)
            ),
        )
        for g, problem in enumerate(problems)
    )
