"""Asks an executor for groups until the data decide, at looks that were fixed before the first block."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.timing.commands import Executor, Groups, time_groups
from cudanalyst.tools.timing.schedule import Plan, orders
from cudanalyst.tools.timing.statistics import Estimate, decide, estimate, group_log_ratio

TRIES: Final = 3
"""How often groups whose gate gave up are asked for again."""
LEAST_US: Final = 1e-3


class LeftPending(Exception):
    """Work was still going on when the timed stream was empty."""


@dataclass
class Samples:
    """Groups so far."""

    log_ratios: dict[int, list[float]] = field(default_factory=dict)
    """By pair of placements: one loaded A first, the other B first."""
    candidate_us: list[float] = field(default_factory=list)
    baseline_us: list[float] = field(default_factory=list)
    ungated: int = 0

    @property
    def groups(self) -> int:
        """How many there are."""
        return sum(len(values) for values in self.log_ratios.values())


@dataclass(frozen=True)
class Measured:
    """What the last look gave."""

    verdict: Literal["faster", "slower", "same", "inconclusive"]
    estimate: Estimate
    looks: int
    samples: Samples

    @property
    def candidate_us(self) -> float:
        """Median time of the candidate's call."""
        return statistics.median(self.samples.candidate_us)

    @property
    def baseline_us(self) -> float:
        """Median time of the baseline's call."""
        return statistics.median(self.samples.baseline_us)


class Measurement:
    """One sequential comparison: `look` by `look`, so that the caller can watch the device between."""

    def __init__(self, executor: Executor, plan: Plan, pairs: Sequence[str], chance: random.Random) -> None:
        """Starts without data.

        Args:
            executor: Who times.
            plan: Looks and patterns.
            pairs: Name of the pair of each placement.
            chance: Draws the order of patterns.
        """
        self._executor = executor
        self._plan = plan
        self._pairs = pairs
        self._chance = chance
        self._samples = Samples()
        self._looks = 0

    async def look(self) -> Measured | None:
        """Takes the groups up to the next look and decides; None once there is no further look.

        Raises:
            LeftPending: Own streams still had work after a group.
            Unavailable: The gate gave up again and again, or times are not positive.
        """
        if self._looks == len(self._plan.looks):
            return None
        wanted = self._plan.looks[self._looks] - self._samples.groups
        await self._take(wanted)
        alpha = self._plan.alphas[self._looks]
        self._looks += 1
        found = estimate(self._samples.log_ratios, alpha, by_cluster=self._plan.clustered)
        verdict = decide(found)
        return Measured(verdict, found, self._looks, self._samples)

    async def _take(self, wanted: int) -> None:
        """Deals groups to placements in turn, so that all have the same number, and each placement both orders."""
        counts = [0] * len(self._pairs)
        for index in range(wanted):
            counts[(self._samples.groups + index) % len(self._pairs)] += 1
        drawn = list(orders(self._plan, wanted, self._chance))
        turns = [index for index, count in enumerate(counts) if count]
        self._chance.shuffle(turns)
        for placement in turns:
            patterns, drawn = drawn[: counts[placement]], drawn[counts[placement] :]
            await self._groups(placement, patterns)

    async def _groups(self, placement: int, patterns: Sequence[str]) -> None:
        waiting = list(patterns)
        for _ in range(TRIES + 1):
            answer = await time_groups(self._executor, self._pairs[placement], waiting)
            waiting = self._keep(placement, answer)
            if not waiting:
                return
        raise Unavailable(
            "the gate that keeps launch latency out of the times gave up again and again; is the machine overloaded?"
        )

    def _keep(self, placement: int, answer: Groups) -> list[str]:
        again = []
        for group in answer.groups:
            if not group.drained:
                raise LeftPending
            if not group.gated and not answer.gate_given_up:
                again.append(group.pattern)
                continue
            if min(group.us) < LEAST_US:
                raise Unavailable(f"a block took {min(group.us):.4f} us, which no event can tell from nothing")
            self._samples.ungated += not group.gated
            self._samples.log_ratios.setdefault(placement // 2, []).append(group_log_ratio(group.pattern, group.us))
            for letter, us in zip(group.pattern, group.us, strict=True):
                (self._samples.candidate_us if letter == "A" else self._samples.baseline_us).append(us)
        return again
