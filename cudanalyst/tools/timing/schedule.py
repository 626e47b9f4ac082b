"""When the data are looked at, and how much of the allowed error each look may spend. Fixed before the first block is timed.

A comparison may stop at any look, so the error of all looks together has to be bounded. By Bonferroni's inequality it is at most the
sum of what the looks spend, whatever the dependence between them: the first look spends half of the total, each later one half of
what is left, and the last one the rest (an alpha-spending function in the sense of Lan and DeMets, Biometrika 1983, that favours early
looks, since nearly all comparisons end at the first one).
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cudanalyst.tools.timing.models import TimingMode

ALPHA: Final = 0.01
"""Probability, at most, that the final interval misses the true ratio."""
AGAIN_ALPHA: Final = 0.002
"""Of it, what a second measurement may spend, where the first one was too noisy to say anything: both together miss the truth in at most `ALPHA`."""
WARM_LOOKS: Final[tuple[int, ...]] = (8, 16, 32, 64, 128)
LONG_LOOKS: Final[tuple[int, ...]] = (4, *WARM_LOOKS)
"""Of blocks longer than `LONG_BLOCK_US`: they vary by less than 0.1 %, so four groups decide, and eight would hold the device for long."""
LONG_BLOCK_US: Final = 2000.0
COLD_LOOKS: Final[tuple[int, ...]] = (24, 48, 96, 192)
WARM_PLACEMENTS: Final = 2
COLD_PLACEMENTS: Final = 24
"""Copies of each module in cold mode. A cold call fetches its code, and how long that takes depends on where the code lies and on
what was loaded before it: 3.6 % at 5 us on an H200, always to the disadvantage of the same side. So copies are loaded in pairs, A B and
B A: what the order does falls out of a pair's mean; and every pair draws other addresses, so that what they do varies within a
comparison, where the interval sees it, and not only from one comparison to the next."""
WARM_PATTERNS: Final = ("ABBA", "BAAB")
COLD_PATTERNS: Final = ("ABBABAAB", "BAABABBA")
"""Thue-Morse order: a drift that is linear or quadratic in time falls out of the difference."""
PAIR_PATTERNS: Final = ("AB", "BA")
"""Of calls so long that four groups do not fit: four of these take two thirds of three longer ones, and tell more. As many begin with
either side, so a drift widens the interval and does not move it."""
LEAST_PAIRS: Final = 4
BLOCK_US: Final = 1100.0
"""Least length of a warm block: event steps of 32 ns and launch effects are then below 0.01 %."""
LEAST_GROUPS: Final = 3
LEAST_CLUSTERED: Final = 8
MOST_CALLS: Final = 4096
GROUP_US: Final = 20_000.0
"""Length of a group beyond which no calls are added for the faster side's sake."""
COLD_EXTRA_US: Final = 200.0
"""About what flushing adds to each cold call; only for planning."""


@dataclass(frozen=True)
class Plan:
    """What is done to compare one pair."""

    mode: TimingMode
    calls: int
    patterns: tuple[str, str]
    looks: tuple[int, ...]
    alphas: tuple[float, ...]
    placements: int
    clustered: bool
    """Whether each pair of placements, loaded in either order, is one observation; otherwise each group is."""

    @property
    def again(self) -> "Plan":
        """The same once more, without what was measured before."""
        return replace(self, alphas=spend(len(self.looks), AGAIN_ALPHA))


def spend(looks: int, alpha: float = ALPHA) -> tuple[float, ...]:
    """Error that each look may spend; the sum is `alpha`."""
    shares = [alpha / 2 ** (index + 1) for index in range(looks)]
    shares[-1] = alpha - sum(shares[:-1])
    return tuple(shares)


def calls_for(us: float, sets: int) -> int:
    """Calls in a warm block: long enough, and round the sets a whole number of times where it goes round at all."""
    calls = max(1, math.ceil(BLOCK_US / max(us, 0.05)))
    return calls if calls < sets else min(-(-calls // sets), MOST_CALLS // sets) * sets


def plan_for(mode: TimingMode, fast_us: float, slow_us: float, sets: int, budget_ms: float) -> Plan:
    """Plans by the times of calls alone: how many and how long, never which side is which.

    Args:
        mode: How the caches are treated.
        fast_us: Rough time of the faster side's call, in microseconds.
        slow_us: The same of the slower side.
        sets: Buffer sets.
        budget_ms: Device time that the blocks may take. Calls so long that the first look would not fit get fewer groups.
    """
    warm = mode == "warm"
    # Blocks of the faster side are long enough, unless the other's would then be far too long: where they differ that much, less will do.
    calls = (
        max(calls_for(slow_us, sets), min(calls_for(fast_us, sets), int(GROUP_US / (2 * (fast_us + slow_us)))))
        if warm
        else 1
    )
    # In a long call, what its code costs to fetch is lost.
    clustered = not warm and fast_us <= BLOCK_US
    warm_looks = LONG_LOOKS if warm and calls * fast_us > LONG_BLOCK_US else WARM_LOOKS
    patterns, looks, placements = (
        (COLD_PATTERNS, COLD_LOOKS, COLD_PLACEMENTS) if clustered else (WARM_PATTERNS, warm_looks, WARM_PLACEMENTS)
    )
    call_us = (fast_us + slow_us) / 2
    block_us = calls * call_us if warm else COLD_EXTRA_US + call_us * (2 if mode == "cold_data" else 1)
    affordable = int(budget_ms * 1e3 / (len(patterns[0]) * block_us))
    least = LEAST_CLUSTERED if clustered else LEAST_GROUPS
    if warm and affordable < looks[0]:
        patterns, least = PAIR_PATTERNS, LEAST_PAIRS
        affordable = int(budget_ms * 1e3 / (len(patterns[0]) * block_us))
    within = tuple(look for look in looks if look <= affordable) or (min(looks[0], max(least, affordable)),)
    return Plan(
        mode=mode,
        calls=calls,
        patterns=patterns,
        looks=within,
        alphas=spend(len(within), ALPHA - AGAIN_ALPHA if warm else ALPHA),
        placements=min(placements, within[0] // 2 * 2),
        clustered=clustered,
    )


def orders(plan: Plan, count: int, chance: random.Random) -> Sequence[str]:
    """Patterns of `count` groups: as many begin with A as with B (one more of either where the count is odd), in random order."""
    first = chance.randrange(2)
    drawn = [plan.patterns[(index + first) % 2] for index in range(count)]
    chance.shuffle(drawn)
    return drawn
