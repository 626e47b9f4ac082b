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
    _open_in: dict[str | None, dict[str, TrialOpened]] = field(default_factory=dict)
    """The same by context."""
    _open_of: dict[str | None, dict[str, TrialOpened]] = field(default_factory=dict)
    """The same by session."""
    _given: dict[str | None, dict[tuple[str, str], None]] = field(default_factory=dict)
    _given_in: dict[str | None, dict[tuple[str, str], None]] = field(default_factory=dict)
    _defined: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)

    def fold(self, events: Iterable[Recorded]) -> None:
        """Takes in committed events of `KINDS`, in order."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, TrialOpened):
                self._close(event.trial)
                self._open[event.trial] = (recorded, event)
                self._open_in.setdefault(recorded.context, {})[event.trial] = event
                self._open_of.setdefault(recorded.session, {})[event.trial] = event
                self._given.setdefault(recorded.context, {})[event.problem, event.experiment] = None
                if event.definition is not None:
                    self._defined.setdefault(event.definition, {})[event.experiment, event.trial] = None
                self._given_in.setdefault(recorded.session, {})[event.problem, event.experiment] = None
            elif isinstance(event, TrialSubmitted):
                self._close(event.trial)
            elif isinstance(event, TrialInfrastructureFailed):
                # Where the evaluator failed within a trial of several steps, the trial goes on.
                if event.phase == "model" or event.final:
                    self._close(event.trial)
            elif isinstance(event, ExperimentEnded):
                ended = [trial for trial, (_, one) in self._open.items() if one.experiment == event.experiment]
                for trial in ended:
                    self._close(trial)
            self.seq = recorded.seq

    def _close(self, trial: str) -> None:
        opened = self._open.pop(trial, None)
        if opened is not None:
            for table, key in ((self._open_in, opened[0].context), (self._open_of, opened[0].session)):
                del table[key][trial]
                if not table[key]:
                    del table[key]

    def open_in(self, scope: Scope, *, anywhere_in_session: bool = False) -> TrialOpened | None:
        """The trial that is open in a context, or in any context of its session."""
        opened = tuple(self._open_in.get(scope.context, {}).values())
        if anywhere_in_session:
            opened += tuple(self._open_of.get(scope.session, {}).values())
        return opened[0] if opened else None

    def all_open(self) -> tuple[tuple[str | None, TrialOpened], ...]:
        """Every open trial, with the session that has it."""
        return tuple((recorded.session, event) for recorded, event in tuple(self._open.values()))

    def given_to(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        """Problem and experiment of every trial that a context was ever given."""
        return tuple(self._given.get(scope.context, ()))

    def given_in(self, session: str | None) -> tuple[tuple[str, str], ...]:
        """The same of every context of a session."""
        return tuple(self._given_in.get(session, ()))

    def defined_as(self, definition: str) -> tuple[tuple[str, str], ...]:
        """Experiment and handle of every trial that was opened under a definition, the first first."""
        return tuple(self._defined.get(definition, ()))
