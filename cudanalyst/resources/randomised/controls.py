"""What was known before a decision, as columns: they make an estimate sharper and cannot bias it."""

from typing import Final, get_args

import numpy as np

from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.randomised.regression import Floats, Ints

STATUSES: Final[tuple[BaseStatus, ...]] = get_args(BaseStatus)
"""From the lowest standing to the highest."""


def controls_of(status: Ints, number: Ints, earlier: Floats) -> Floats:
    """Columns for the standing before the decision, how far the session is, and what was offered before.

    Args:
        status: position of the base status in `STATUSES`; -1 where it is not known, (rows,).
        number: the decision's number in its session, from 1, (rows,).
        earlier: offers of each component before, (rows, components).
    """
    broken = (status < STATUSES.index("wrong")).astype(np.float64)
    passed = (status == STATUSES.index("passed")).astype(np.float64)
    shares = earlier.mean(axis=1) / np.maximum(number - 1, 1)
    return np.column_stack((broken, passed, np.log(number), shares))
