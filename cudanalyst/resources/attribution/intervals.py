"""95 % intervals for linear effects, for two targets that are never mixed up.

*These problems*: problems and checkpoints are fixed, chance is in the trials. Between-block or within-cell variance,
stratified by checkpoint, with t limits at Satterthwaite's degrees of freedom. Where a cell is 0, 1 or has fewer than
`SPARSE` trials, each limit is the wider of that and MOVER with Jeffreys limits. Neither does alone: the variance is
unbiased but collapses in cells at 0 or 1, and MOVER fills those but is too narrow for few trials in mid-range cells
(85 % at 3 repeats in simulation). A cell with one trial counts with the largest variance that it can have, 1/4.

*Population of problems*: problems are a sample. t(G-1) on one contrast per problem. A percentile bootstrap by problem
undercovers at any G that is affordable here, so there is none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincinv, stdtrit

from cudanalyst.resources.attribution.estimate import Bools, Cells, Floats, Ints, by_problem, unit_weights
from cudanalyst.resources.attribution.table import Interval, Target

ALPHA: Final = 0.05
SPARSE: Final = 5
"""A cell with fewer trials than this is treated like one at 0 or 1."""
POPULATION_MIN: Final = 5
"""No interval for the population from fewer problems."""
POPULATION_RELIABLE: Final = 12
"""From so many problems on it covers 94-95.5 % in simulation where effects are spread over problems. Where 1 problem in 5
gains it is 92 % here and 86 % at 5 problems (benchmarks/attribution.py)."""

BLOCKS: Final = "block contrasts within checkpoints, t"
WITHIN: Final = "within-cell variance stratified by checkpoint, t"
MOVER: Final = "wider of MOVER with Jeffreys limits and {}"


@dataclass(frozen=True)
class Limits:
    """Limits of several effects; NaN where there is no interval."""

    low: Floats
    high: Floats
    method: tuple[str, ...]

    def interval(self, k: int, target: Target) -> tuple[Interval, ...]:
        """The k-th interval as a result value; empty where there is none."""
        if not np.isfinite(self.low[k]):
            return ()
        return (Interval(low=float(self.low[k]), high=float(self.high[k]), target=target, method=self.method[k]),)


def jeffreys(successes: Ints, trials: Ints) -> tuple[Floats, Floats]:
    """Equal-tailed Jeffreys limits of a proportion, 0 and 1 kept at the ends.

    Source: Brown, Cai and DasGupta, "Interval estimation for a binomial proportion" (2001). An empty cell
    gives (0, 1).
    """
    base = int(trials.max(initial=0)) + 1
    distinct, inverse = np.unique(trials * base + successes, return_inverse=True)
    n, x = np.divmod(distinct, base)
    low = np.where(x == 0, 0.0, betaincinv(x + 0.5, n - x + 0.5, ALPHA / 2))
    high = np.where(x == n, 1.0, betaincinv(x + 0.5, n - x + 0.5, 1 - ALPHA / 2))
    inverse = inverse.reshape(-1)
    return low[inverse].reshape(trials.shape), high[inverse].reshape(trials.shape)


def these_problems(cells: Cells, contrasts: Floats) -> Limits:
    """Limits of `contrasts @ v` over exactly these units, shape `(effects,)`.

    Every cell that a contrast needs must be filled (`Cells.usable`).

    Sources: Satterthwaite (1946); Zou and Donner, "Construction of confidence limits about effect measures: a general
    approach" (2008) for MOVER. MOVER takes cells as independent; trials of one block resemble each other, which makes
    contrasts between them less variable, so that it errs on the wide side.
    """
    weights = unit_weights(cells.problem_of)
    value = contrasts @ (weights @ np.nan_to_num(cells.means))
    variance, freedom, method = _variance(cells, contrasts, weights)
    half = stdtrit(np.maximum(freedom, 1.0), 1 - ALPHA / 2) * np.sqrt(variance)
    low, high = value - half, value + half
    sparse = _sparse(cells, contrasts)
    if sparse.any():
        down, up = _mover(cells, contrasts[sparse], weights)
        low[sparse] = np.minimum(low[sparse], value[sparse] - down)
        high[sparse] = np.maximum(high[sparse], value[sparse] + up)
    low, high = _clip(low, high, contrasts)
    return Limits(low, high, tuple(MOVER.format(method) if rare else method for rare in sparse))


def _sparse(cells: Cells, contrasts: Floats) -> Bools:
    rare = (cells.trials < SPARSE) | (cells.successes == 0) | (cells.successes == cells.trials)
    needed: Bools = contrasts != 0
    return np.asarray((needed & rare.any(axis=0)).any(axis=1), dtype=np.bool_)


def _variance(cells: Cells, contrasts: Floats, weights: Floats) -> tuple[Floats, Floats, str]:
    """Variance of each effect, its Satterthwaite degrees of freedom, and how it was got."""
    if cells.blocks is not None:
        unit, count = cells.blocks.unit, np.bincount(cells.blocks.unit, minlength=len(cells.units))
        if (count >= 2).all():
            per_block = cells.blocks.outcomes @ contrasts.T
            mean = _sum_by(unit, per_block, len(cells.units)) / count[:, None]
            squares = _sum_by(unit, (per_block - mean[unit]) ** 2, len(cells.units))
            parts = weights[:, None] ** 2 * squares / ((count - 1) * count)[:, None]
            return parts.sum(axis=0), _freedom(parts, (count - 1)[:, None]), BLOCKS
    spare = np.maximum(cells.trials - 1, 1)
    within = np.where(cells.trials == 1, 0.25, np.nan_to_num(cells.means * (1 - cells.means)) / spare)
    scaled = weights[:, None] ** 2 * within
    variance = contrasts**2 @ scaled.sum(axis=0)
    spread = contrasts**4 @ (scaled**2 / spare).sum(axis=0)
    return variance, _ratio(variance**2, spread), WITHIN


def _sum_by(group: Ints, rows: Floats, groups: int) -> Floats:
    total = np.zeros((groups, rows.shape[1]))
    np.add.at(total, group, rows)
    return total


def _freedom(parts: Floats, spare: Ints) -> Floats:
    spread = (parts**2 / spare).sum(axis=0)
    return _ratio(parts.sum(axis=0) ** 2, spread)


def _ratio(squared: Floats, spread: Floats) -> Floats:
    """Degrees of freedom; 1 where nothing varies (MOVER takes over there)."""
    freedom = np.ones_like(squared)
    np.divide(squared, spread, out=freedom, where=spread > 0)
    return freedom


def _mover(cells: Cells, contrasts: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Distances below and above the estimates."""
    low, high = jeffreys(cells.successes, cells.trials)
    means = np.nan_to_num(cells.means)
    squared = weights[:, None] ** 2
    below, above = (squared * (means - low) ** 2).sum(axis=0), (squared * (high - means) ** 2).sum(axis=0)
    gain, loss = np.maximum(contrasts, 0) ** 2, np.minimum(contrasts, 0) ** 2
    return np.sqrt(gain @ below + loss @ above), np.sqrt(gain @ above + loss @ below)


def population_of_problems(cells: Cells, contrasts: Floats) -> Limits:
    """Limits of the mean effect over a population that these problems are a sample of; shape `(effects,)`.

    NaN below `POPULATION_MIN` problems, and where every problem shows the same effect: a width of zero would be a lie.
    """
    per_problem = by_problem(cells) if len(cells.units) else np.zeros((0, contrasts.shape[1]))
    groups = len(per_problem)
    if groups < POPULATION_MIN:
        nothing = np.full(len(contrasts), np.nan)
        return Limits(nothing, nothing.copy(), ("",) * len(contrasts))
    effects = np.nan_to_num(per_problem) @ contrasts.T
    spread = effects.std(axis=0, ddof=1)
    half = stdtrit(groups - 1, 1 - ALPHA / 2) * spread / np.sqrt(groups)
    half = np.where(spread > 1e-12, half, np.nan)
    low, high = _clip(effects.mean(axis=0) - half, effects.mean(axis=0) + half, contrasts)
    method = f"t({groups - 1}) on per-problem contrasts"
    if groups < POPULATION_RELIABLE:
        method += f"; fewer than {POPULATION_RELIABLE} problems: covers 86 to 95 % in simulation, least where few gain"
    return Limits(low, high, (method,) * len(contrasts))


def _clip(low: Floats, high: Floats, contrasts: Floats) -> tuple[Floats, Floats]:
    """An effect on probabilities cannot leave the range that its weights allow."""
    least, most = np.minimum(contrasts, 0).sum(axis=1), np.maximum(contrasts, 0).sum(axis=1)
    return np.clip(low, least, most), np.clip(high, least, most)
