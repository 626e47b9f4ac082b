"""Where the trials of an experiment are, kept up to date event by event: nobody has to look through all of them.

Every question of a step is answered in constant or logarithmic time in the number of trials; an experiment of fifty thousand is
handed out as fast as a small one.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cudanalyst.resources.trials import OVER, Trial, TrialState

_Group = tuple[str, str, str | None]
"""Planner, checkpoint and donor: whether a context is fresh for a trial depends on no more."""


class Place(NamedTuple):
    """Where one trial is."""

    state: TrialState = "waiting"
    context: str | None = None
    """The conversation that has it, while it is open."""
    deadline_at: float | None = None
    """While it is open and a planner's turn."""
    unjudged: bool = False
    """It has a candidate that the evaluator has to look at."""


class Line:
    """Positions in order. The first is taken, and one near the front is put back, without moving the others."""

    def __init__(self, positions: Iterable[int] = ()) -> None:
        """A line of these positions."""
        self._negated = sorted(-position for position in positions)

    def add(self, position: int) -> None:
        """Puts a position in its place."""
        if not self._at(position)[1]:
            insort(self._negated, -position)

    def discard(self, position: int) -> None:
        """Takes a position out, if it is there."""
        index, there = self._at(position)
        if there:
            del self._negated[index]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._negated)

    def __iter__(self) -> Iterator[int]:
        """Positions, the first first."""
        return (-one for one in reversed(self._negated))

    def first(self) -> int:
        """The first position; there must be one."""
        return -self._negated[-1]

    def _at(self, position: int) -> tuple[int, bool]:
        index = bisect_left(self._negated, -position)
        return index, index < len(self._negated) and self._negated[index] == -position


class Waiting:
    """Trials that could be given out now, in the order of the design."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        """All trials, of which those wait that give no other trial's plan."""
        self._trials = trials
        self._positions = {trial.id: position for position, trial in enumerate(trials)}
        own = [position for position, trial in enumerate(trials) if trial.plan_of is None]
        by_planner: dict[str, list[int]] = {trial.planner: [] for trial in trials}
        by_group: dict[_Group, list[int]] = {_group(trial): [] for trial in trials}
        for position in own:
            by_planner[trials[position].planner].append(position)
            by_group[_group(trials[position])].append(position)
        self._planners = {planner: Line(positions) for planner, positions in by_planner.items()}
        self._groups = {group: Line(positions) for group, positions in by_group.items()}

    @property
    def planners(self) -> tuple[str, ...]:
        """Names of all planners, those too of whom nothing waits."""
        return tuple(sorted(self._planners))

    def add(self, trial: Trial) -> None:
        """A trial can be given out."""
        position = self._positions[trial.id]
        self._planners[trial.planner].add(position)
        self._groups[_group(trial)].add(position)

    def discard(self, trial: Trial) -> None:
        """A trial cannot be given out."""
        position = self._positions[trial.id]
        self._planners[trial.planner].discard(position)
        self._groups[_group(trial)].discard(position)

    def of(self, planner: str | None) -> Iterator[str]:
        """Handles of a planner's waiting trials, or of anybody's, in order; nothing is copied."""
        lines = [line for name, line in self._planners.items() if planner in {None, name}]
        return (self._trials[position].id for position in heapq.merge(*lines))

    def first_of_groups(self, planner: str | None) -> list[str]:
        """Of every checkpoint (and donor) the first trial that waits, in order: who may not have it may have no other of them."""
        lines = (line for (name, _, _), line in self._groups.items() if planner in {None, name} and line)
        return [self._trials[position].id for position in sorted(line.first() for line in lines)]


@dataclass(slots=True)
class Queues:
    """Counts and queues over an experiment's trials."""

    waiting: Waiting
    counts: Counter[TrialState]
    open: dict[str, None]
    """Handles in the order of opening."""
    unjudged: dict[str, None]
    """Handles of trials whose candidate the evaluator has to look at, in the order of their answers."""
    _contexts: dict[str | None, dict[str, None]]
    _deadlines: list[tuple[float, str]]
    """A heap; what it holds of trials that moved on is passed over."""
    _places: dict[str, Place]

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> "Queues":
        """Every trial waits."""
        return cls(Waiting(trials), Counter({"waiting": len(trials)}), {}, {}, {}, [], {})

    @property
    def done(self) -> bool:
        """Whether every trial is over."""
        return sum(self.counts[state] for state in OVER) == self.counts.total()

    def move(self, trial: Trial, place: Place) -> None:
        """A trial is somewhere now; one that gives another's plan waits only once that is known (`waiting.add`)."""
        before = self._places.get(trial.id, Place())
        if before == place:
            return
        self._places[trial.id] = place
        self.counts[before.state] -= 1
        self.counts[place.state] += 1
        if place.state != "waiting":
            self.waiting.discard(trial)
        elif trial.plan_of is None:
            self.waiting.add(trial)
        if (before.state, before.context) != (place.state, place.context):
            if before.state == "open":
                del self.open[trial.id]
                del self._contexts[before.context][trial.id]
                if not self._contexts[before.context]:
                    del self._contexts[before.context]
            if place.state == "open":
                self.open[trial.id] = None
                self._contexts.setdefault(place.context, {})[trial.id] = None
        if place.unjudged:
            self.unjudged.setdefault(trial.id)
        else:
            self.unjudged.pop(trial.id, None)
        if place.deadline_at is not None:
            heapq.heappush(self._deadlines, (place.deadline_at, trial.id))

    def open_in(self, context: str | None) -> str | None:
        """The trial that a conversation has in hand: the first that it was given."""
        return next(iter(self._contexts.get(context, ())), None)

    def any_late(self, now: float) -> bool:
        """Whether an open trial's time is over."""
        while self._deadlines:
            deadline, trial = self._deadlines[0]
            if self._places[trial].deadline_at == deadline:
                return deadline <= now
            heapq.heappop(self._deadlines)
        return False


def _group(trial: Trial) -> _Group:
    return trial.planner, trial.checkpoint, trial.donor
