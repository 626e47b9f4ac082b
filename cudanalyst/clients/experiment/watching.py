"""How far an experiment is, by the store that its server writes: from this process or another terminal, and blind to outcomes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.store import Store
from cudanalyst.resources.trial_rows import TrialRow, rows_of
from cudanalyst.resources.trial_state import Progress

OWNER: Final = "local"
"""Whose handles a server on standard input and output gives out."""


@dataclass(frozen=True)
class Watcher:
    """Looks into a store."""

    experiments: Experiments
    owner: str = OWNER

    def progress(self, experiment: str) -> Progress:
        """Counts by state."""
        return self.experiments.progress(self.owner, experiment)

    def rows(self, experiment: str) -> tuple[TrialRow, ...]:
        """Every trial."""
        return rows_of(self.experiments, self.owner, experiment)

    def device_minutes(self, experiment: str) -> float | None:
        """Measured so far; None where no trial has been evaluated."""
        known = [one.device_s for one in self.rows(experiment) if one.device_s is not None]
        return sum(known) / 60 if known else None


@contextmanager
def watching(store: Path) -> Iterator[Watcher]:
    """Opens the store of a run.

    Raises:
        BadRequest: There is none.
        StoreError: It cannot be used.
    """
    if not (store / "store.sqlite").exists():
        raise BadRequest(
            f"There is no store in {store}: it was moved or removed, or is on another machine. Name it with --store."
        )
    with Store.open(store) as opened:
        yield Watcher(Experiments(opened))


def by_condition(rows: tuple[TrialRow, ...]) -> dict[tuple[str, str], Counter[str]]:
    """States of trials by planner and regime; nothing of outcomes or coalitions."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        found.setdefault((row.planner, row.regime), Counter())[row.state] += 1
    return found
