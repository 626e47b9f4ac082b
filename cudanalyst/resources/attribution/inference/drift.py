"""Drift: whether cells that are repeated through an experiment change over its time."""

import numpy as np
from scipy.special import ndtr

from cudanalyst.resources.attribution.cells import Floats, Ints


def trend(cell: Ints, time: Floats, outcome: Floats) -> tuple[float, float]:
    """Change per unit of time common to all cells, and its two-sided p value.

    sum over cells of the covariance of time and outcome, against its exact variance under permutation within cells
    (Mantel, "Chi-square tests with one degree of freedom: extensions of the Mantel-Haenszel procedure" (1963)).

    Args:
        cell: which repeated cell, shape `(trials,)`.
        time: of each trial; any increasing scale.
        outcome: of each trial.

    Returns:
        Slope and p value; (0, 1) where times or outcomes do not vary within any cell.
    """
    score = spread = variance = 0.0
    for one in np.unique(cell):
        t, y = time[cell == one], outcome[cell == one]
        if len(t) < 2:
            continue
        t, y = t - t.mean(), y - y.mean()
        score += float(t @ y)
        spread += float(t @ t)
        variance += float(t @ t) * float(y @ y) / (len(t) - 1)
    if spread <= 0 or variance <= 0:
        return 0.0, 1.0
    return score / spread, float(2 * ndtr(-abs(score) / np.sqrt(variance)))
