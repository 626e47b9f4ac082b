"""Causal excursion effects of randomised delivery: weighted and centred least squares.

Boruvka, Almirall, Witkiewitz and Murphy, "Assessing time-varying causal effect moderation in mobile health", JASA 2018,
113:1112. A decision is a moment at which components were offered or withheld by known probabilities; its outcome comes with the
next candidate. The effect of component i is the mean, over the decisions that the logging policy leads to, of what offering it
then changes, the others being offered as the policy does. Centring each offer at its probability makes the estimate
consistent whatever the controls are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from cudanalyst.resources.randomised.regression import Fit, Floats, Ints, crossed, fit, independent, sums_by_cluster

Term = tuple[int, ...]
"""Components of an effect: one, or a pair."""


@dataclass(frozen=True)
class Decisions:
    """Randomised decisions as arrays; rows are decisions, of one data set or of several replications."""

    offered: Floats
    """0 or 1, (rows, components)."""
    propensities: Floats
    """Probability of each offer, (rows, components)."""
    joint: Floats
    """Probability of the whole draw, (rows,)."""
    outcomes: Floats
    """(rows, outcomes)."""
    controls: Floats
    """What was known before the draw, (rows, controls), without the constant."""
    clusters: Ints
    """(rows,), numbered from 0; those of one replication are contiguous."""
    count: int
    """Clusters of a replication."""
    replications: int = 1
    crossing: Ints | None = None
    """A second kind of cluster that crosses the first (problems), numbered likewise."""
    crossing_count: int = 0


def terms(components: int, *, pairs: bool = True) -> tuple[Term, ...]:
    """Effects that are estimated together."""
    singles: list[Term] = [(one,) for one in range(components)]
    return tuple(singles + (list(combinations(range(components), 2)) if pairs else []))


def excursions(data: Decisions, wanted: Sequence[Term], strata: Floats | None = None) -> Fit:
    """Excursion effects of components and pairs on every outcome.

    Args:
        data: the decisions.
        wanted: effects; the coefficients of the answer are in this order.
        strata: 0 or 1, (rows, strata), parts of the history: then every effect is estimated within each, strata varying fastest.

    Returns:
        A fit of `len(wanted)` coefficients (times strata): the constant and the controls are left out.
    """
    replication = data.clusters // data.count
    numerator = _means(data.propensities, replication, data.replications)[replication]
    centred = data.offered - numerator
    drawn = np.prod(np.where(data.offered > 0, numerator, 1 - numerator), axis=1)
    weights = drawn / data.joint
    effects = np.column_stack([np.prod(centred[:, list(term)], axis=1) for term in wanted])
    parts = np.ones((len(effects), 1)) if strata is None else strata
    effects = (effects[:, :, None] * parts[:, None, :]).reshape(len(effects), -1)
    constant, width = np.ones((len(effects), 1)), data.controls.shape[1]
    found = _fit(data, np.column_stack((constant, data.controls, effects)), weights).part(1 + width)
    if width and not np.isfinite(found.error).all():
        # A control that only one cluster has varying cannot be told without it. The estimate holds without controls.
        found = found.where_undetermined(_fit(data, np.column_stack((constant, effects)), weights).part(1))
    return found


def _fit(data: Decisions, features: Floats, weights: Floats) -> Fit:
    def by(clusters: Ints, count: int) -> Fit:
        return fit(sums_by_cluster(features, data.outcomes, weights, clusters, count, data.replications))

    one_way = by(data.clusters, data.count)
    if data.crossing is None:
        return one_way
    others = data.crossing_count
    pair = data.clusters * others + data.crossing % others
    return crossed([one_way, by(data.crossing, others), by(pair, data.count * others)])


def shape(data: Decisions) -> tuple[Decisions, tuple[Term, ...]]:
    """What the data can carry: half as many coefficients as clusters. Controls come first, then pairs.

    Returns:
        The decisions with the controls that are used (independent ones, or none), and the effects to estimate.
    """
    components, room = data.offered.shape[1], data.count // 2
    kept = independent(np.column_stack((np.ones(len(data.controls)), data.controls)), keep=1)[1:]
    controls = data.controls[:, [one - 1 for one in kept]]
    if 1 + components + controls.shape[1] > room:
        controls = controls[:, :0]
    wanted = terms(components)
    if 1 + controls.shape[1] + len(wanted) > room:
        wanted = terms(components, pairs=False)
    return replace(data, controls=controls), wanted


def effective_size(offered: Floats, joint: Floats) -> tuple[float, float]:
    """Kish's effective sample sizes, with a component and without it: of weights that are one over the draw's probability."""
    sizes = []
    for arm in (offered > 0, offered == 0):
        weights = 1 / joint[arm]
        sizes.append(float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0)
    return sizes[0], sizes[1]


def _means(values: Floats, group: Ints, groups: int) -> Floats:
    count = np.maximum(np.bincount(group, minlength=groups), 1)
    columns = [np.bincount(group, weights=column, minlength=groups) / count for column in values.T]
    return np.column_stack(columns)
