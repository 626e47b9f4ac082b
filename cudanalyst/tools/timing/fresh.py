"""What times on fresh values say, beside times on values that were met, and beside what was timed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.timing.measure import LEAST_US, Measured

SAVED_SHARE: Final = 0.04
SAVED_US: Final = 0.3
"""Fresh values may take this much longer than the same values met again, which differ in nothing else."""
SHORT_SHARE: Final = 0.08
SHORT_US: Final = 1.5
"""Fresh values may take this much longer than a timed call before the timed speedup does not count: a short block begins with a launch that a long one
hides, and what lies in the L2 is not quite the same."""
FAR_SHARE: Final = 0.3
FAR_US: Final = 3.0
"""From here on nothing but work that was not done in timed calls explains the difference."""
MOST_CONTROL: Final = 1.5
"""How much longer calls of the baseline may make those of the candidate's seem that must be allowed for."""
CONTROL_US: Final = 1.0
"""Of the baseline's block that is launch, whatever its length."""


@dataclass
class Rounds:
    """Times of a call by round, in microseconds."""

    measured: Measured
    overhead_us: float
    """Contained in all of them, and not in what was timed."""
    fresh: list[float] = field(default_factory=list)
    known: list[float] = field(default_factory=list)
    control: list[float] = field(default_factory=list)
    """The baseline's, which keeps nothing."""
    timed: list[tuple[float, float]] = field(default_factory=list)
    """Of candidate and baseline, on the same values, in blocks as long as those that were timed; none where that makes no difference."""

    def add(
        self, fresh: float, known: Sequence[float], control: Sequence[float], timed: tuple[float, float] | None
    ) -> None:
        """One round."""
        self.timed.extend([timed] if timed else [])
        self.fresh.append(fresh)
        self.known.extend(known)
        self.control.extend(control)

    @property
    def _saved_us(self) -> float:
        return SAVED_SHARE * max(0.0, statistics.median(self.known) - self.overhead_us) + SAVED_US

    @property
    def _expected_us(self) -> float:
        """A timed call, had it been made now: calls of the baseline tell what else has changed."""
        if not self.timed:
            return max(LEAST_US, statistics.median(self.known) - self.overhead_us)
        candidate_us = max(LEAST_US, statistics.median(one[0] for one in self.timed))
        baseline_us = max(LEAST_US, statistics.median(one[1] for one in self.timed))
        longer = (statistics.median(self.control) - self.overhead_us - CONTROL_US) / baseline_us
        return candidate_us * min(max(1.0, longer), MOST_CONTROL)

    def _over(self, us: float, share: float, extra_us: float) -> bool:
        return us - self.overhead_us > self._expected_us * (1.0 + share) + extra_us

    @property
    def slower(self) -> bool:
        """Whether fresh values took longer than the same values met again, on the whole."""
        return statistics.median(self.fresh) - statistics.median(self.known) > self._saved_us

    @property
    def kept(self) -> bool:
        """Whether every block on fresh values took longer than any on known ones: of honest blocks, every order is equally likely."""
        return min(self.fresh) - max(self.known) > self._saved_us

    @property
    def far(self) -> bool:
        """Whether every block on fresh values took far longer than what was timed."""
        return self._over(min(self.fresh), FAR_SHARE, FAR_US)

    @property
    def short(self) -> bool:
        """Whether what was timed does not hold on fresh values."""
        return self.slower or self._over(statistics.median(self.fresh), SHORT_SHARE, SHORT_US)

    @property
    def speedup(self) -> float:
        """The ratio that holds on fresh values, and never more than was timed."""
        fresh_us = max(LEAST_US, statistics.median(self.fresh) - self.overhead_us)
        return self.measured.estimate.speedup * min(1.0, self._expected_us / fresh_us)

    @property
    def _readings(self) -> str:
        return (
            f"a call on fresh values took {statistics.median(self.fresh):.3g} us, on values met before {statistics.median(self.known):.3g} us, "
            f"and {self.measured.candidate_us:.3g} us when it was timed"
        )

    @property
    def accusation(self) -> str:
        """Why a timing is suspicious."""
        return (
            f"{self._readings}: results seem to be kept from call to call; on fresh values {self.speedup:.2f} x the baseline's speed holds, "
            f"not {self.measured.estimate.speedup:.2f} x"
        )

    @property
    def shortfall(self) -> str:
        """Why a timing does not count in full."""
        return f"{self._readings}: {self.speedup:.2f} x the baseline's speed holds there, and counts, not {self.measured.estimate.speedup:.2f} x"
