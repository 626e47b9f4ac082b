"""What a comparison needs of the place where two builds are replayed."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cudanalyst.tools.timing.commands import Executor
from cudanalyst.tools.timing.models import Fault

Side = Literal["A", "B"]


@dataclass(frozen=True)
class Flaw:
    """What a check of timed calls found."""

    fault: Fault | Literal["suspicious"]
    """`suspicious`: right, but not what a timing should be of."""
    message: str


class SideFailed(Exception):
    """A side could not be recorded or replayed."""

    def __init__(self, side: Side, reason: str, fault: Fault | None = None) -> None:
        """Says whose it is; `fault` is None where nobody but this place is to blame."""
        super().__init__(reason)
        self.side = side
        self.reason = reason
        self.fault = fault


class Rig(Protocol):
    """Both builds in one context that had nothing in it, with buffer sets that they share.

    Contents are numbered: number `i` always means the same inputs, and other numbers mean other inputs.
    """

    @property
    def executor(self) -> Executor:
        """Takes the timing commands."""

    @property
    def sets(self) -> int:
        """Buffer sets, at least four."""

    @property
    def repeatable(self) -> bool:
        """Whether a call on the same buffers again gives the same outputs: no parameter is both in and out."""

    @property
    def light(self) -> bool:
        """Whether filling, or collecting, all sets takes but milliseconds of a device, so that giving it to others meanwhile costs more than it gives."""

    @property
    def most_placements(self) -> int:
        """How many copies of the modules may be loaded in reasonable time; known after the first."""

    async def place(self, placement: int, first: Side) -> None:
        """Loads both modules once more, `first` before the other, and records both sides for every set against these copies.

        Raises:
            SideFailed: A side does not load, or cannot be recorded.
        """

    def traces(self, side: Side, placement: int) -> tuple[str, ...]:
        """The trace of each set, as the executor knows it."""

    async def fill(self, contents: Sequence[int], pattern: Literal[0, 1]) -> None:
        """Puts inputs `contents[i]` into set `i`, fresh guards around every buffer, and one of two poisons into outputs and workspaces."""

    async def foresee(self, contents: Sequence[int]) -> None:
        """Makes contents for `fill`, and what to compare with, as far as no device is needed for that."""

    async def poison(self, pattern: Literal[0, 1]) -> None:
        """Poisons outputs and workspaces; inputs stay as they are."""

    async def touch(self) -> None:
        """Reads every buffer on the device, so that what fits into the L2 is there."""

    async def collect(self, contents: Sequence[int], *, spot: bool = False) -> Awaitable[Flaw | None]:
        """As `check`, but only until the device is free for other work: buffers may be filled before the answer is there."""

    async def check(self, contents: Sequence[int], *, spot: bool = False) -> Flaw | None:
        """Whether outputs are right, inputs unchanged, and guards whole; `spot`: one set that nobody can foretell will do where sets are large."""
