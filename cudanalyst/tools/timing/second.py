"""A second clock: the blocks of a comparison once more, their ends read by kernels and not by events."""

import math
import statistics
from typing import Final

from cudanalyst.tools.timing.commands import time_groups
from cudanalyst.tools.timing.measure import LEAST_US, LeftPending, Measured
from cudanalyst.tools.timing.models import SecondClock
from cudanalyst.tools.timing.rig import Rig
from cudanalyst.tools.timing.schedule import LONG_BLOCK_US, Plan

SECOND_MARGIN: Final = 0.02
"""Two clocks that differ by more, beyond the noise of one group, disagree: a stamp costs about 2 us of a block of at least 1 ms."""
NOISE: Final = 3.0
"""Times what the comparison resolves; at eight groups that is about four standard deviations of one group."""


async def read_second_clock(rig: Rig, plan: Plan, measured: Measured) -> SecondClock | None:
    """One group of a warm comparison; None for cold ones, whose single calls are shorter than that clock may step.

    Raises:
        LeftPending: Own streams still had work after the group.
    """
    if plan.mode != "warm":
        return None
    longest = plan.calls * max(measured.candidate_us, measured.baseline_us)
    answer = await time_groups(rig.executor, "0", ["AB" if longest > LONG_BLOCK_US else "ABBA"], stamps=True)
    group = answer.groups[0]
    if not group.drained:
        raise LeftPending
    if not group.gated or min(group.us) < LEAST_US:
        return None
    us = {
        side: statistics.fmean(us for letter, us in zip(group.pattern, group.us, strict=True) if letter == side)
        for side in "AB"
    }
    margin = SECOND_MARGIN + NOISE * measured.estimate.resolvable
    speedup = us["B"] / us["A"]
    pairs = (
        (us["A"], measured.candidate_us),
        (us["B"], measured.baseline_us),
        (speedup, measured.estimate.speedup),
    )
    return SecondClock(
        candidate_us=us["A"],
        baseline_us=us["B"],
        speedup=speedup,
        margin=margin,
        agrees=all(abs(math.log(second / first)) <= math.log1p(margin) for second, first in pairs),
    )
