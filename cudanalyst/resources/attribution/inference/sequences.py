"""Confidence sequences: intervals that hold at every look at once, so that one may stop at any."""

from typing import Final

import numpy as np
from scipy.special import gammainc, gammaln

from cudanalyst.resources.attribution.cells import Cells, Floats, Ints, unit_weights
from cudanalyst.resources.attribution.inference.intervals import clip

METHOD: Final = "empirical-Bernstein confidence sequence over complete blocks"
TUNED_AT: Final = 50.0
"""Intrinsic time at which limits are tightest: about 50 / (0.2 columns) blocks, 30 of eight coalitions."""
_STEPS: Final = 40


def confidence_sequence(
    cells: Cells, contrasts: Floats, *, alpha: float = 0.05
) -> tuple[Floats, Floats, Floats] | None:
    """Estimate and limits after each round, which all hold together with probability 1 - alpha.

    A round is one block of every unit; blocks count in the order in which they stand. Non-asymptotic: outcomes between 0
    and 1 may have any distribution, cells may differ, and effects may change from trial to trial, in which case the limits
    are for the mean effect so far. Empirical-Bernstein bound with the gamma-exponential mixture boundary: Howard, Ramdas,
    McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences" (2021), theorem 4 and
    proposition 9. Increments are single trials times their weight, each predicted by its cell's mean before it; whole
    block contrasts have a range far beyond their spread, which such a bound pays for (limits three times as wide).

    Args:
        cells: 0-or-1 outcomes in complete blocks.
        contrasts: shape `(effects, columns)`.
        alpha: error, two-sided.

    Returns:
        Estimates, lower and upper limits, shape `(..., rounds, effects)`; None where trials are not in complete blocks.
    """
    if cells.blocks is None or not len(cells.blocks.unit):
        return None
    unit, units = cells.blocks.unit, len(cells.units)
    rounds = int(np.bincount(unit, minlength=units).min())
    rows: Ints = np.array([np.flatnonzero(unit == row)[:rounds] for row in range(units)], dtype=np.int64)
    y = cells.blocks.outcomes[..., rows, :]  # (..., units, rounds, columns)
    so_far = np.cumsum(y, axis=-2)
    predicted = (so_far - y + 0.5) / (np.arange(rounds)[:, None] + 1.0)
    weight = unit_weights(cells.problem_of)[:, None, None] * contrasts.T
    largest = np.abs(weight).max(axis=(0, 1))
    scaled = (weight / np.maximum(largest, 1e-300)) ** 2
    number = np.arange(1, rounds + 1)[:, None]
    intrinsic = np.cumsum(np.einsum("...urc,uce->...re", (y - predicted) ** 2, scaled), axis=-2)
    estimate = np.einsum("...urc,uce->...re", so_far, weight) / number
    half = boundary(intrinsic, alpha / 2) * largest / number
    low, high = clip(estimate - half, estimate + half, contrasts)
    return estimate, low, high


def boundary(intrinsic: Floats, alpha: float) -> Floats:
    """Uniform boundary of a sub-exponential process of scale 1, crossed with probability alpha at most.

    Solves m(s, v) = 1/alpha for s, m being the gamma-exponential mixture (proposition 9 of Howard et al.), by bisection.
    """
    rho = TUNED_AT / (2 * np.log(1 / alpha) + np.log1p(2 * np.log(1 / alpha)))
    low: Floats = np.zeros_like(intrinsic)
    high: Floats = np.maximum(4 * np.sqrt(intrinsic), 1.0)
    for _ in range(_STEPS):
        short = _log_mixture(high, intrinsic, rho) < np.log(1 / alpha)
        if not short.any():
            break
        high = np.where(short, 2 * high, high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inside = _log_mixture(middle, intrinsic, rho) < np.log(1 / alpha)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _log_mixture(s: Floats, v: Floats, rho: float) -> Floats:
    total = s + v + rho
    found: Floats = (
        rho * np.log(rho)
        - gammaln(rho)
        - np.log(gammainc(rho, rho))
        + gammaln(v + rho)
        + np.log(gammainc(v + rho, total))
        - (v + rho) * np.log(total)
        + s
        + v
    )
    return found
