"""Weighted least squares on sums by cluster, with the cluster jackknife: the arithmetic under every estimate of ordinary use.

All that an estimate and its variance need of a cluster are `X'WX` and `X'WY`, so rows are summed once and any number of outcomes
and replications is solved together.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
RIDGE: Final = 1e-9
"""Least eigenvalue of a Gram matrix, scaled to ones on its diagonal, below which it has no unique solution."""


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of each cluster: axes (replication, cluster, feature, ...)."""

    gram: Floats
    """`X'WX`, (r, c, q, q)."""
    moment: Floats
    """`X'WY`, (r, c, q, outcomes)."""


@dataclass(frozen=True)
class Fit:
    """Coefficients and their standard errors, (r, q, outcomes); NaN where the rows do not determine them."""

    value: Floats
    error: Floats
    degrees: float
    """Degrees of freedom of the t distribution."""

    def part(self, first: int) -> "Fit":
        """The coefficients from `first` on."""
        return Fit(self.value[:, first:], self.error[:, first:], self.degrees)

    def where_undetermined(self, other: "Fit") -> "Fit":
        """Replications whose rows do not determine every number are taken from a fit of fewer columns."""
        lost = ~np.isfinite(self.error).all(axis=(1, 2), keepdims=True)
        return Fit(np.where(lost, other.value, self.value), np.where(lost, other.error, self.error), self.degrees)

    def half_width(self, level: float = 0.95) -> Floats:
        """Half the width of an interval."""
        return np.asarray(stdtrit(self.degrees, 0.5 + level / 2) * self.error, np.float64)


def sums_by_cluster(
    features: Floats, outcomes: Floats, weights: Floats, clusters: Ints, count: int, replications: int = 1
) -> Sums:
    """Sums rows by cluster.

    Args:
        features: (rows, q).
        outcomes: (rows, outcomes).
        weights: (rows,).
        clusters: (rows,), numbers below `replications * count`; those of one replication are contiguous.
        count: clusters of a replication.
        replications: independent data sets in the rows.
    """
    rows, width = features.shape
    order = np.argsort(clusters, kind="stable")
    x, y, w, of = features[order], outcomes[order], weights[order], clusters[order]
    weighted = x * w[:, None]
    total = replications * count
    gram = np.zeros((total, width, width))
    moment = np.zeros((total, width, y.shape[1]))
    if rows:
        starts = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
        gram[of[starts]] = np.add.reduceat(weighted[:, :, None] * x[:, None, :], starts, axis=0)
        moment[of[starts]] = np.add.reduceat(weighted[:, :, None] * y[:, None, :], starts, axis=0)
    return Sums(gram.reshape(replications, count, width, width), moment.reshape(replications, count, width, y.shape[1]))


def fit(sums: Sums) -> Fit:
    """Coefficients with the variance of leaving each cluster out.

    That variance equals the bias-corrected sandwich of Mancl and DeRouen (Biometrics 2001, 57:126) up to the factor
    `(c - 1) / c`; leaving cluster `c` out changes the coefficients by `(A - A_c)^-1 (m_c - A_c theta)`.
    """
    present = np.einsum("rcqq->rc", sums.gram) > 0
    total, moment = sums.gram.sum(axis=1), sums.moment.sum(axis=1)
    value = _solve(total, moment)
    residual = sums.moment - np.einsum("rcpq,rqk->rcpk", sums.gram, value)
    change = _solve(total[:, None] - sums.gram, residual)
    count = present.sum(axis=1)
    factor = np.where(count > 1, (count - 1) / np.maximum(count, 1), np.nan)
    error = np.sqrt(factor[:, None, None] * np.where(present[:, :, None, None], change**2, 0.0).sum(axis=1))
    return Fit(value, error, float(max(1, int(count.min()) - 1 if count.size else 1)))


def crossed(ways: list[Fit]) -> Fit:
    """Variance with clusters of two kinds that cross (Cameron, Gelbach and Miller, JBES 2011, 29:238).

    Args:
        ways: fits by the first kind, by the second, and by both together; their coefficients are the same.
    """
    first, second, both = ways
    least = np.maximum(first.error, second.error)
    variance = first.error**2 + second.error**2 - both.error**2
    return Fit(first.value, np.sqrt(np.where(variance > 0, variance, least**2)), min(first.degrees, second.degrees))


def independent(features: Floats, keep: int = 0) -> list[int]:
    """Columns that the columns before them do not already hold; the first `keep` are kept whatever."""
    kept: list[int] = []
    basis = np.empty((features.shape[0], 0))
    for column in range(features.shape[1]):
        vector = features[:, column]
        rest = vector - basis @ (basis.T @ vector)
        length = float(np.linalg.norm(rest))
        if column < keep or length > 1e-8 * max(1.0, float(np.linalg.norm(vector))):
            kept.append(column)
            if length > 0:
                basis = np.column_stack((basis, rest / length))
    return kept


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solves stacks of symmetric systems; NaN where one has no unique solution."""
    scale = np.sqrt(np.maximum(np.einsum("...qq->...q", matrix), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    scaled = matrix / safe[..., :, None] / safe[..., None, :]
    singular = np.linalg.eigvalsh(scaled)[..., 0] < RIDGE
    scaled = np.where(singular[..., None, None], np.eye(matrix.shape[-1]), scaled)
    solved = np.linalg.solve(scaled, right / safe[..., :, None]) / safe[..., :, None]
    return np.where(singular[..., None, None], np.nan, solved)
