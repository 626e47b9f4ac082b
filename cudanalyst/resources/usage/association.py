"""How often what followed was good where a component had been seen, against where it had not: observed, not caused."""

import numpy as np

from cudanalyst.resources.randomised.regression import Fit, Floats, Ints, fit, sums_by_cluster


def associations(
    seen: Floats, outcomes: Floats, status: Ints, clusters: Ints, count: int, replications: int = 1
) -> Fit:
    """Differences of outcomes between decisions with and without each component, with the base status before held equal where it can be.

    Nothing here removes confounding: an agent asks for what it thinks it needs.

    Args:
        seen: 0 or 1, (rows, components).
        outcomes: (rows, outcomes).
        status: number of the base status before the decision, (rows,).
        clusters: (rows,), contiguous within a replication.
        count: clusters of a replication.
        replications: independent data sets in the rows.

    Returns:
        A fit of one coefficient per component.
    """
    standings = np.column_stack([(status == one) for one in np.unique(status)]).astype(np.float64)
    ones = np.ones(len(seen))

    def fitted(before: Floats) -> Fit:
        features = np.column_stack((before, seen))
        return fit(sums_by_cluster(features, outcomes, ones, clusters, count, replications)).part(before.shape[1])

    found = fitted(standings)
    if not np.isfinite(found.error).all():  # a status that only one cluster had
        found = found.where_undetermined(fitted(ones[:, None]))
    return found
