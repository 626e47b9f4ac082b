"""Who calls, in which context, and how the caller is told that work goes on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from cudanalyst.errors import CudanalystError
from cudanalyst.resources.randomised.delivery import Offer
from cudanalyst.resources.store import Scope
from cudanalyst.tools.source import Source

Report = Callable[[float, str], Awaitable[None]]
"""Tells a client (seconds so far, words)."""


async def _unheard(_seconds: float, _words: str) -> None:
    return None


class Progress:
    """What the work is at, and the way to say so."""

    def __init__(self, report: Report = _unheard) -> None:
        """Progress that `report` carries to the caller."""
        self._report = report
        self._words: str | Callable[[], str] = "working"

    @property
    def words(self) -> str:
        """What the work is at."""
        return self._words() if callable(self._words) else self._words

    def say(self, words: str | Callable[[], str]) -> None:
        """Sets what the next beat says; a function is asked at that moment."""
        self._words = words

    async def beat(self, seconds: float) -> None:
        """Tells the caller that the work goes on."""
        await self._report(seconds, self.words)

    def detach(self) -> Self:
        """Stops reporting, once the caller has been answered; the words stay readable."""
        self._report = _unheard
        return self


@dataclass
class Submitted:
    """The source that a call is about, looked up together with the record of its start: one wait for the store less."""

    source: Source | None = None
    error: CudanalystError | None = None
    """Why there is none."""
    offer: Offer | None = None
    """What a draw of randomised delivery means for this call; None where nothing is randomised."""


@dataclass(frozen=True)
class Call:
    """One call: on whose behalf, in which session and conversation, and how it is told that work goes on."""

    scope: Scope
    progress: Progress = field(default_factory=Progress)
    submitted: Submitted = field(default_factory=Submitted)

    @property
    def owner(self) -> str:
        """Whose handles this call may use."""
        return self.scope.owner

    @property
    def session(self) -> str:
        """The session's handle."""
        return self.scope.session or ""
