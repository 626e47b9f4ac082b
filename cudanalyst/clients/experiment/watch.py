"""How a run works, what it tells of itself while it goes on, and how it ended."""

from dataclasses import dataclass
from typing import Protocol

from cudanalyst.clients.experiment.answers import Spent
from cudanalyst.clients.experiment.budget import Allowance
from cudanalyst.clients.experiment.pipeline import End, Gauge
from cudanalyst.resources.trial_state import Progress


class Watch(Protocol):
    """Is told what a run does; a screen, or nobody."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins: `server`, `backbones`, `trials`."""

    def step(self, words: str) -> None:
        """Something of the phase is done or under way."""

    def done(self, count: int) -> None:
        """So much of the phase's total is done."""

    def trials(self, progress: Progress | None, gauge: Gauge, spent: Spent, allowance: Allowance) -> None:
        """Where trials are; `progress` is None where the server's store cannot be seen from here."""


class Quiet:
    """Tells nobody."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Nothing."""

    def step(self, words: str) -> None:
        """Nothing."""

    def done(self, count: int) -> None:
        """Nothing."""

    def trials(self, progress: Progress | None, gauge: Gauge, spent: Spent, allowance: Allowance) -> None:
        """Nothing."""


@dataclass(frozen=True)
class RunOptions:
    """How a run works; nothing here changes what it finds."""

    workers: int = 4
    """Answers asked for at once, of plans and of sources each."""
    url: str | None = None
    """Of a server over HTTP; None: start one over stdio."""
    toolchain: str | None = None
    server: tuple[str, ...] = ()
    """Command that starts a server over stdio, in place of this package's own."""
    resume: bool = False


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    how: End
    reason: str | None
    experiment: str
    external: tuple[str, ...]
    """Planners that are agents of their own, over MCP."""
    spent: Spent
    replayed: int
    submitted: int
    progress: Progress | None
