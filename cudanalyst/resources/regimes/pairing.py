"""Which trials wait for which other trial's plan, so that one that is answered wakes only those that it concerns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cudanalyst.resources.trials import Coalition, Trial

Cell = tuple[str, str, Coalition]
"""Planner, checkpoint and coalition."""


@dataclass(slots=True)
class Pairing:
    """PT trials and the P+F trials whose plans they are given (`transfer.source_of` says which one)."""

    written: dict[Cell, dict[int, str]] = field(default_factory=dict)
    """Handles of P+F trials by repeat."""
    to_settle: dict[str, None] = field(default_factory=dict)
    """PT trials that wait and of which something has changed: whether there is a plan for them is to be looked at."""
    without: dict[str, None] = field(default_factory=dict)
    """PT trials that wait and will never have a plan."""
    _readers: dict[tuple[Cell, int], list[str]] = field(default_factory=dict)
    _orphans: dict[Cell, dict[str, None]] = field(default_factory=dict)
    """PT trials that wait and whose own pair came to no plan: any other repeat's may do."""

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> "Pairing":
        """The pairs of a design."""
        pairing = cls()
        for trial in trials:
            if trial.plan_of is not None:
                pairing._readers.setdefault((_read(trial), trial.repeat), []).append(trial.id)
                pairing.to_settle[trial.id] = None
            elif _writes(trial):
                pairing.written.setdefault(_cell(trial), {}).setdefault(trial.repeat, trial.id)
        return pairing

    def of_trial(self, trial: Trial) -> dict[int, str]:
        """The P+F trials, by repeat, whose plans a PT trial may be given."""
        return self.written.get(_read(trial), {})

    def moved(self, trial: Trial, *, waits: bool) -> None:
        """Something happened to a trial."""
        if trial.plan_of is not None:
            self._forget(trial)
            if waits:
                self.to_settle[trial.id] = None
        elif self._readers and _writes(trial):
            cell = _cell(trial)
            self.to_settle |= dict.fromkeys(self._readers.get((cell, trial.repeat), ()))
            self.to_settle |= self._orphans.get(cell, {})

    def settled(self, trial: Trial, *, never: bool, orphan: bool) -> None:
        """It was looked at whether there is a plan for a PT trial."""
        self._forget(trial)
        if never:
            self.without[trial.id] = None
        elif orphan:
            self._orphans.setdefault(_read(trial), {})[trial.id] = None

    def _forget(self, trial: Trial) -> None:
        self.without.pop(trial.id, None)
        self._orphans.get(_read(trial), {}).pop(trial.id, None)


def _writes(trial: Trial) -> bool:
    return trial.regime == "P+F" and not trial.sentinel


def _cell(trial: Trial) -> Cell:
    return trial.planner, trial.checkpoint, trial.coalition


def _read(trial: Trial) -> Cell:
    return str(trial.plan_of), trial.checkpoint, trial.coalition
