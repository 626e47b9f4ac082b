"""How much effects differ between problems: random-effects summaries."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import chdtrc, chdtri, ndtr, stdtrit

from cudanalyst.resources.attribution.cells import Cells, Floats, problem_weights
from cudanalyst.resources.attribution.inference.intervals import ALPHA, within_variance

SMALLEST_VARIANCE: Final = 1e-9
MIXTURE: Final = 200
_HALVINGS: Final = 40


@dataclass(frozen=True)
class RandomEffects:
    """Shape `(..., effects)` each."""

    mean: Floats
    low: Floats
    high: Floats
    tau2: Floats
    i2: Floats
    q: Floats
    q_p: Floats
    prediction_low: Floats
    prediction_high: Floats
    """NaN below 3 problems."""


def random_effects(
    effects: Floats, variances: Floats, weighing: Floats | None = None, *, alpha: float = ALPHA
) -> RandomEffects:
    """Variance between problems by moments, Hartung-Knapp interval of the mean, prediction interval.

    Sources: DerSimonian and Laird, "Meta-analysis in clinical trials" (1986), in the form for any weights of DerSimonian
    and Kacker, "Random-effects model for meta-analysis of clinical trials: an update" (2007); Hartung and Knapp, "A refined method for
    the meta-analysis of controlled clinical trials with binary outcome" (2001); Higgins and Thompson, "Quantifying
    heterogeneity in a meta-analysis" (2002) for I^2; Nagashima, Noma and Furukawa, "Prediction intervals for random-effects
    meta-analysis: a confidence distribution approach" (2019) for the prediction interval (the usual one, with a plug-in
    tau^2 and t of G - 2 degrees of freedom, holds 85 % in simulation where problems differ little).

    Args:
        effects: one per problem, shape `(..., problems, effects)`, two problems or more.
        variances: unbiased estimates of their sampling variances, same shape.
        weighing: variances above 0 that weights are made from; `variances` by default.
        alpha: error.
    """
    groups = effects.shape[-2]
    steady = variances if weighing is None else weighing
    weight = 1 / steady
    total = weight.sum(axis=-2)
    fixed = (weight * effects).sum(axis=-2) / total
    q = (weight * (effects - fixed[..., None, :]) ** 2).sum(axis=-2)
    expected = (weight * variances).sum(axis=-2) - (weight**2 * variances).sum(axis=-2) / total
    tau2 = np.maximum(0, (q - expected) / (total - (weight**2).sum(axis=-2) / total))
    weight = 1 / (steady + tau2[..., None, :])
    total = weight.sum(axis=-2)
    mean = (weight * effects).sum(axis=-2) / total
    error2 = (weight * (effects - mean[..., None, :]) ** 2).sum(axis=-2) / ((groups - 1) * total)
    half = stdtrit(groups - 1, 1 - alpha / 2) * np.sqrt(error2)
    ahead = _prediction(effects, variances, alpha) if groups >= 3 else np.full_like(mean, np.nan)
    i2 = np.divide(q - (groups - 1), q, out=np.zeros_like(q), where=q > groups - 1)
    return RandomEffects(mean, mean - half, mean + half, tau2, i2, q, chdtrc(groups - 1, q), mean - ahead, mean + ahead)


def _prediction(effects: Floats, variances: Floats, alpha: float) -> Floats:
    """Half-width of the prediction interval, by the confidence distribution of the variance between problems.

    (G-1) S^2 / (tau^2 + s^2) is taken as chi-squared, S^2 the observed and s^2 the mean sampling variance; the new effect
    is a mixture of normals over the values of tau^2 that this leaves plausible, cut at 0.
    """
    groups = effects.shape[-2]
    spread, noise = effects.var(axis=-2, ddof=1)[..., None], variances.mean(axis=-2)[..., None]
    plausible = chdtri(groups - 1, (np.arange(MIXTURE) + 0.5) / MIXTURE)
    tau2 = np.maximum(0, (groups - 1) * spread / plausible - noise)
    deviation = np.sqrt(np.maximum(tau2 + (tau2 + noise) / groups, SMALLEST_VARIANCE))
    low, high = np.zeros(spread.shape), 10 * deviation.max(axis=-1, keepdims=True)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = ndtr(middle / deviation).mean(axis=-1, keepdims=True) < 1 - alpha / 2
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(high[..., 0], dtype=np.float64)


def per_problem(cells: Cells, contrasts: Floats) -> tuple[Floats, Floats, Floats]:
    """Each problem's effects, their sampling variances, and variances to weigh by; shape `(..., problems, effects)`.

    Those to weigh by have half a success and half a failure added to each cell, so that no problem gets an infinite
    weight for having been lucky in every trial; they are never 0.
    """
    share = problem_weights(cells.problem_of)
    effects = (share @ np.nan_to_num(cells.means)) @ contrasts.T
    plain, smooth = (
        (share**2 @ within_variance(cells, smoothed=smoothed)) @ (contrasts**2).T for smoothed in (False, True)
    )
    return effects, plain, np.maximum(smooth, SMALLEST_VARIANCE)
