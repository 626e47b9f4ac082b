"""Confidence intervals for linear effects, for two targets that are never mixed up.

*These problems*: problems and checkpoints are fixed, chance is in the trials. Between-block or within-cell variance,
stratified by checkpoint, with t limits at Satterthwaite's degrees of freedom. Where a cell is 0, 1 or has fewer than
`SPARSE` trials, each limit is the wider of that and MOVER with Jeffreys limits. Neither does alone: the variance is
unbiased but collapses in cells at 0 or 1, and MOVER fills those but is too narrow for few trials in mid-range cells
(85 % at 3 repeats in simulation). A cell with one trial counts with the largest variance that it can have, 1/4.

*Population of problems*: problems are a sample. t(G-1) on one contrast per problem, or on request a bootstrap of problems
(`bootstrap.py`).

Leading axes of the outcomes are separate experiments: what is simulated in proofs is what is used.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincinv, stdtrit

from cudanalyst.resources.attribution.cells import Bools, Cells, Floats, Ints, effects_by_problem, unit_weights
from cudanalyst.resources.attribution.inference.bootstrap import bootstrap_limits
from cudanalyst.resources.attribution.table import Interval, PopulationMethod, Target

ALPHA: Final = 0.05
SPARSE: Final = 5
"""A cell with fewer trials than this is treated like one at 0 or 1."""
POPULATION_MIN: Final = 5
"""No interval for the population from fewer problems."""
POPULATION_RELIABLE: Final = 12
"""From so many problems on it covers 94-96 % in simulation where effects are spread over problems. Where 1 problem in 5
gains, single effects fall to 91 % here and 87 % at 5 problems (docs/attribution.md)."""

BLOCK_FREEDOM: Final = 12
"""Block contrasts are used from so many degrees of freedom on; below, their t quantile costs more width than blocks save.
Variance within cells stays valid then: it counts differences between blocks as noise."""

NO_SPREAD: Final = 1e-15
BLOCKS: Final = "block contrasts within checkpoints, t"
WITHIN: Final = "within-cell variance stratified by checkpoint, t"
MOVER: Final = "wider of MOVER with Jeffreys limits and {}"


@dataclass(frozen=True)
class Limits:
    """Limits of several effects; NaN where there is no interval."""

    low: Floats
    high: Floats
    """Shape `(..., effects)`."""
    base: str
    """How variances were got."""
    sparse: Bools | None = None
    """Where MOVER was asked, too."""

    @property
    def method(self) -> tuple[str, ...]:
        """In words, per effect of one experiment."""
        rare = np.zeros(self.low.shape, dtype=np.bool_) if self.sparse is None else self.sparse
        return tuple(MOVER.format(self.base) if one else self.base for one in rare)

    def interval(self, k: int, target: Target, row: int | None = None) -> tuple[Interval, ...]:
        """The k-th interval (of a problem, where limits are by problem); empty where there is none."""
        where = (k,) if row is None else (row, k)
        if not np.isfinite(self.low[where]):
            return ()
        method = MOVER.format(self.base) if self.sparse is not None and self.sparse[where] else self.base
        return (Interval(low=float(self.low[where]), high=float(self.high[where]), target=target, method=method),)


def jeffreys(successes: Ints, trials: Ints, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """Equal-tailed Jeffreys limits of a proportion, 0 and 1 kept at the ends.

    Source: Brown, Cai and DasGupta, "Interval estimation for a binomial proportion" (2001). An empty cell
    gives (0, 1).
    """
    successes, trials = np.broadcast_arrays(successes, trials)
    base = int(trials.max(initial=0)) + 1
    code = trials * base + successes
    distinct = np.flatnonzero(np.bincount(code.reshape(-1))) if code.size else np.zeros(0, dtype=np.int64)
    n, x = np.divmod(distinct, base)
    low = np.where(x == 0, 0.0, betaincinv(x + 0.5, n - x + 0.5, alpha / 2))
    high = np.where(x == n, 1.0, betaincinv(x + 0.5, n - x + 0.5, 1 - alpha / 2))
    table = np.zeros((2, int(distinct.max(initial=0)) + 1))
    table[0, distinct], table[1, distinct] = low, high
    return table[0, code], table[1, code]


def these_problems(cells: Cells, contrasts: Floats, *, alpha: float = ALPHA, weights: Floats | None = None) -> Limits:
    """Limits of `contrasts @ v` over exactly these units, shape `(..., effects)`.

    Every cell that a contrast needs must be filled (`Cells.usable`).

    Args:
        cells: sums of outcomes.
        contrasts: shape `(effects, columns)`.
        alpha: error.
        weights: of units, shape `(units,)` or `(groups, units)` for one interval per group; the pooling by default.

    Sources: Satterthwaite (1946); Zou and Donner, "Construction of confidence limits about effect measures: a general
    approach" (2008) for MOVER. MOVER takes cells as independent; trials of one block resemble each other, which makes
    contrasts between them less variable, so that it errs on the wide side.
    """
    given = unit_weights(cells.problem_of) if weights is None else weights
    share = np.atleast_2d(given)
    value = (share @ np.nan_to_num(cells.means)) @ contrasts.T
    variance, freedom, base = variance_of(cells, contrasts, share)
    half = stdtrit(np.maximum(freedom, 1.0), 1 - alpha / 2) * np.sqrt(variance)
    low, high = value - half, value + half
    sparse = None
    if cells.squares is None:
        # Contrasts that are equal in every block (copies, as at temperature 0) show no spread, and prove none absent.
        sparse = _sparse(cells, contrasts, share) | (variance <= NO_SPREAD)
        if sparse.any():
            down, up = _mover(cells, contrasts, share, alpha)
            low = np.where(sparse, np.minimum(low, value - down), low)
            high = np.where(sparse, np.maximum(high, value + up), high)
        low, high = clip(low, high, contrasts)
    if given.ndim == 1:
        low, high = low[..., 0, :], high[..., 0, :]
        sparse = None if sparse is None else sparse[..., 0, :]
    return Limits(low, high, base, sparse)


def _sparse(cells: Cells, contrasts: Floats, share: Floats) -> Bools:
    rare = (cells.trials < SPARSE) | (cells.successes == 0) | (cells.successes == cells.trials)
    counted = (share > 0).astype(np.float64) @ rare.astype(np.float64)
    return np.asarray(counted @ (contrasts != 0).T.astype(np.float64) > 0, dtype=np.bool_)


def variance_of(cells: Cells, contrasts: Floats, share: Floats) -> tuple[Floats, Floats, str]:
    """Variance of each effect, its Satterthwaite degrees of freedom, and how it was got.

    Args:
        cells: sums of outcomes.
        contrasts: shape `(effects, columns)`.
        share: weights of units, shape `(groups, units)`; results have shape `(..., groups, effects)`.
    """
    if cells.blocks is not None:
        unit, number = cells.blocks.unit, np.bincount(cells.blocks.unit, minlength=len(cells.units))
        if (number >= 2).all() and (number - 1).sum() >= BLOCK_FREEDOM:
            belongs = (unit == np.arange(len(cells.units))[:, None]).astype(np.float64)
            per_block = cells.blocks.outcomes @ contrasts.T
            mean = (belongs / number[:, None]) @ per_block
            squares = belongs @ (per_block - mean[..., unit, :]) ** 2
            parts = squares / ((number - 1) * number)[:, None]
            return share**2 @ parts, _freedom(parts, share, (number - 1)[:, None]), BLOCKS
    spare = np.maximum(cells.trials - 1, 1)
    within = within_variance(cells)
    variance = (share**2 @ within) @ (contrasts**2).T
    spread = (share**4 @ (within**2 / spare)) @ (contrasts**4).T
    return variance, _ratio(variance**2, spread), WITHIN


def within_variance(cells: Cells, *, smoothed: bool = False) -> Floats:
    """Variance of each cell's mean, shape `(..., units, columns)`.

    One trial tells of no variance: 1/4 stands in for outcomes 0 or 1, else the unit's mean one.

    Args:
        cells: sums of outcomes.
        smoothed: adds half a success and half a failure to each cell, so that none is 0; for weights.
    """
    spare = np.maximum(cells.trials - 1, 1)
    if cells.squares is None and smoothed:
        rate = (cells.successes + 0.5) / (cells.trials + 1)
        return np.asarray(rate * (1 - rate) / np.maximum(cells.trials, 1), dtype=np.float64)
    means = np.nan_to_num(cells.means)
    if cells.squares is None:
        return np.where(cells.trials == 1, 0.25, means * (1 - means) / spare)
    many = cells.trials > 1
    of_one = np.maximum(cells.squares - cells.trials * means**2, 0) / spare
    typical = of_one.sum(axis=-1, keepdims=True) / np.maximum(many.sum(axis=-1, keepdims=True), 1)
    # A cell of equal outcomes (all failures) is as likely to be luck as to be certain: it counts with the unit's mean.
    of_one = np.where(of_one > 0, of_one, typical)
    return np.asarray(of_one / np.maximum(cells.trials, 1), dtype=np.float64)


def _freedom(parts: Floats, share: Floats, spare: Ints) -> Floats:
    return _ratio((share**2 @ parts) ** 2, share**4 @ (parts**2 / spare))


def _ratio(squared: Floats, spread: Floats) -> Floats:
    """Degrees of freedom; 1 where nothing varies (MOVER takes over there)."""
    freedom = np.ones_like(squared)
    np.divide(squared, spread, out=freedom, where=spread > 0)
    return freedom


def _mover(cells: Cells, contrasts: Floats, share: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Distances below and above the estimates."""
    low, high = jeffreys(np.asarray(cells.successes, dtype=np.int64), cells.trials, alpha)
    means = np.nan_to_num(cells.means)
    below, above = share**2 @ (means - low) ** 2, share**2 @ (high - means) ** 2
    gain, loss = (np.maximum(contrasts, 0) ** 2).T, (np.minimum(contrasts, 0) ** 2).T
    return np.sqrt(below @ gain + above @ loss), np.sqrt(above @ gain + below @ loss)


def population_of_problems(
    cells: Cells, contrasts: Floats, *, alpha: float = ALPHA, method: PopulationMethod = "t", seed: int = 0
) -> Limits:
    """Limits of the mean effect over a population that these problems are a sample of; shape `(..., effects)`.

    NaN below `POPULATION_MIN` problems, where every problem shows the same effect (a width of zero would be a lie), and
    where the method needs more problems than there are.
    """
    groups = len(cells.problems)
    if groups < POPULATION_MIN:
        nothing = np.full((*cells.successes.shape[:-2], len(contrasts)), np.nan)
        return Limits(nothing, nothing.copy(), "")
    effects = effects_by_problem(cells, contrasts)
    if method == "t":
        low, high = t_limits(effects, alpha)
        base = f"t({groups - 1}) on per-problem contrasts"
    else:
        low, high = bootstrap_limits(effects, alpha, method=method, seed=seed)
        base = f"{method} of problems"
    if cells.squares is None:
        low, high = clip(low, high, contrasts)
    if groups < POPULATION_RELIABLE:
        base += f"; fewer than {POPULATION_RELIABLE} problems: covers 86 to 95 % in simulation, least where few gain"
    return Limits(low, high, base)


def t_limits(effects: Floats, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """T limits of the mean over the axis before the last; NaN where nothing varies."""
    groups = effects.shape[-2]
    spread = effects.std(axis=-2, ddof=1)
    half = stdtrit(groups - 1, 1 - alpha / 2) * spread / np.sqrt(groups)
    half = np.where(spread > 1e-12, half, np.nan)
    mean = effects.mean(axis=-2)
    return mean - half, mean + half


def clip(low: Floats, high: Floats, contrasts: Floats) -> tuple[Floats, Floats]:
    """An effect on probabilities cannot leave the range that its weights allow."""
    least, most = np.minimum(contrasts, 0).sum(axis=1), np.maximum(contrasts, 0).sum(axis=1)
    return np.clip(low, least, most), np.clip(high, least, most)
