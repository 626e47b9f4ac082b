"""What a run may still spend, over all runs of its journal. Nothing here knows an outcome."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from cudanalyst.clients.experiment.answers import Answers
from cudanalyst.clients.experiment.journal import Record
from cudanalyst.resources.design.models import Budget

CALLS_A_TRIAL: Final = 2
"""At most: a plan and a source."""
IDLE_S: Final = 120.0
"""A journal that is silent for longer belongs to a run that has ended."""


def active_s(past: Iterable[Record]) -> float:
    """Seconds that earlier runs took: between records that follow each other closely. A killed run leaves no better trace."""
    times = [float(at) for one in past if (at := getattr(one, "at", None)) is not None]
    return sum(min(later - earlier, IDLE_S) for earlier, later in pairwise(times) if later > earlier)


@dataclass
class Allowance:
    """Lets trials be taken as long as nothing can run over the budget."""

    budget: Budget
    answers: Answers
    earlier_s: float = 0.0
    """Of earlier runs."""
    device_minutes: Callable[[], float | None] = lambda: None
    """Measured so far; None where that cannot be seen from here."""
    clock: Callable[[], float] = time.monotonic
    begun: float = field(default=-1.0)
    in_hand: int = 0
    """Trials that were taken and are not done."""

    def __post_init__(self) -> None:
        """The clock starts now."""
        self.begun = self.clock()

    @property
    def wall_minutes(self) -> float:
        """Of all runs."""
        return (self.earlier_s + self.clock() - self.begun) / 60

    def take(self) -> str | None:
        """Sets aside what one more trial can take; why that cannot be, where it cannot."""
        spent, budget = self.answers.spent, self.budget
        calls = spent.calls + (self.in_hand + 1) * CALLS_A_TRIAL
        if budget.calls is not None and calls > budget.calls:
            return f"budget of {budget.calls} calls: {spent.calls} made, and a trial takes up to {CALLS_A_TRIAL}"
        each = spent.tokens / spent.calls if spent.calls else 0.0
        tokens = spent.tokens + (self.in_hand + 1) * CALLS_A_TRIAL * each
        if budget.tokens is not None and tokens > budget.tokens:
            return f"budget of {budget.tokens} tokens: {spent.tokens} used, the next trial would go over it"
        if budget.wall_minutes is not None and self.wall_minutes >= budget.wall_minutes:
            return f"budget of {budget.wall_minutes:g} minutes is used up"
        device = self.device_minutes()
        if budget.device_minutes is not None and device is not None and device >= budget.device_minutes:
            return f"budget of {budget.device_minutes:g} device minutes is used up"
        self.in_hand += 1
        return None

    def give_back(self) -> None:
        """A trial is done with, or was not to be had."""
        self.in_hand -= 1
