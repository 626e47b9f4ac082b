"""Which trial is open where: a fold over an owner's trial events, asked before every call and so kept up to date cheaply."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.resources.events import (
    ExperimentEnded,
    Recorded,
    TrialInfrastructureFailed,
    TrialOpened,
    TrialSubmitted,
)
from cudanalyst.resources.store import Scope

KINDS: Final = ("trial_opened", "trial_submitted", "trial_infrastructure_failed", "experiment_ended")


@dataclass(slots=True)
class TrialIndex:
    """The fold of an owner's trial events up to `seq`."""

    seq: int = 0
    _open: dict[str, tuple[Recorded, TrialOpened]] = field(default_factory=dict)
    _given: dict[str | None, dict[tuple[str, str], None]] = field(default_factory=dict)

    def fold(self, events: Iterable[Recorded]) -> None:
        """Takes in committed events of `KINDS`, in order."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, TrialOpened):
                self._open[event.trial] = (recorded, event)
                self._given.setdefault(recorded.context, {})[event.problem, event.experiment] = None
            elif isinstance(event, TrialSubmitted | TrialInfrastructureFailed):
                self._open.pop(event.trial, None)
            elif isinstance(event, ExperimentEnded):
                ended = [trial for trial, (_, one) in self._open.items() if one.experiment == event.experiment]
                for trial in ended:
                    del self._open[trial]
            self.seq = recorded.seq

    def open_in(self, scope: Scope, *, anywhere_in_session: bool = False) -> TrialOpened | None:
        """The trial that is open in a context, or in any context of its session."""
        for recorded, event in tuple(self._open.values()):
            if recorded.context == scope.context or (anywhere_in_session and recorded.session == scope.session):
                return event
        return None

    def given_to(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        """Problem and experiment of every trial that a context was ever given."""
        return tuple(self._given.get(scope.context, ()))
