"""Effects on the log odds of success: a sensitivity analysis, since risk differences move with base rates."""

import numpy as np
from scipy.special import ndtri

from cudanalyst.resources.attribution.cells import Cells, Floats, unit_weights
from cudanalyst.resources.attribution.inference.intervals import ALPHA


def logit_effects(cells: Cells, contrasts: Floats, *, alpha: float = ALPHA) -> tuple[Floats, Floats, Floats]:
    """Effects on empirical log odds with normal limits for these problems; shape `(..., effects)` each.

    log((x + 1/2) / (n - x + 1/2)) and its variance 1/(x + 1/2) + 1/(n - x + 1/2), cell by cell.
    Sources: Haldane (1956); Gart and Zweifel, "On the bias of various estimators of the logit and its variance" (1967).
    """
    met, missed = cells.successes + 0.5, cells.trials - cells.successes + 0.5
    weights = unit_weights(cells.problem_of)
    value = (weights @ np.log(met / missed)) @ contrasts.T
    variance = (weights**2 @ (1 / met + 1 / missed)) @ (contrasts**2).T
    half = ndtri(1 - alpha / 2) * np.sqrt(variance)
    return value, value - half, value + half
