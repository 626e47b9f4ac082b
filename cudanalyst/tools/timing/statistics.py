"""From times of alternating blocks to a verdict: t intervals on log ratios."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scipy.special import stdtrit

from cudanalyst.tools.timing.models import MARGIN

LOG_MARGIN: Final = math.log1p(MARGIN)
LONGEST_LOG: Final = 60.0
"""Wider intervals say nothing more, and their exponentials would not be finite."""


@dataclass(frozen=True)
class Estimate:
    """An interval of the log of baseline's time over candidate's."""

    log_ratio: float
    half_width: float
    groups: int

    @property
    def speedup(self) -> float:
        """The ratio itself."""
        return math.exp(self.log_ratio)

    @property
    def low(self) -> float:
        """Lower end, as a ratio."""
        return math.exp(max(-LONGEST_LOG, self.log_ratio - self.half_width))

    @property
    def high(self) -> float:
        """Upper end, as a ratio."""
        return math.exp(min(LONGEST_LOG, self.log_ratio + self.half_width))

    @property
    def resolvable(self) -> float:
        """Half the interval's width as a share of the time."""
        return math.expm1(min(LONGEST_LOG, self.half_width))


def group_log_ratio(pattern: str, times_us: Sequence[float]) -> float:
    """Mean log time of the B blocks less that of the A blocks: the log of the candidate's speedup in one group.

    Raises:
        ValueError: A time is not positive, or a side has no block.
    """
    if len(pattern) != len(times_us):
        raise ValueError("a group has one time for each block")
    logs = {
        side: [math.log(us) for letter, us in zip(pattern, times_us, strict=True) if letter == side] for side in "AB"
    }
    if not logs["A"] or not logs["B"]:
        raise ValueError("a group needs blocks of both sides")
    return sum(logs["B"]) / len(logs["B"]) - sum(logs["A"]) / len(logs["A"])


def estimate(clusters: Mapping[int, Sequence[float]], alpha: float, *, by_cluster: bool) -> Estimate:
    """A two-sided t interval with error `alpha`.

    Args:
        clusters: Log ratios of groups, by pair of placements of the code.
        alpha: Probability that the interval misses the truth.
        by_cluster: Take the mean of each pair as one observation: then what places of code do to all groups there widens the interval
            as it must. Otherwise every group is an observation.

    Raises:
        ValueError: Fewer than two observations.
    """
    groups = [value for values in clusters.values() for value in values]
    observed = [sum(values) / len(values) for values in clusters.values() if values] if by_cluster else groups
    count = len(observed)
    if count < 2:
        raise ValueError("an interval needs two observations")
    mean = sum(observed) / count
    variance = sum((value - mean) ** 2 for value in observed) / (count - 1)
    quantile = float(stdtrit(count - 1, 1.0 - alpha / 2.0))
    return Estimate(mean, quantile * math.sqrt(variance / count), len(groups))


def decide(found: Estimate, margin: float = LOG_MARGIN) -> Literal["faster", "slower", "same", "inconclusive"]:
    """Beyond the margin, within it, or neither."""
    low, high = found.log_ratio - found.half_width, found.log_ratio + found.half_width
    if low > margin:
        return "faster"
    if high < -margin:
        return "slower"
    return "same" if low > -margin and high < margin else "inconclusive"
