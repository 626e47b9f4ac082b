"""Room on devices for sessions, which keep a context between their turns."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

MOST_SPARES: Final = 6
"""Contexts on a device that were opened ahead of their use: those of two evaluations, of which one is giving its own back."""


class Rooms:
    """How many sessions of this process keep a context on a device: an idle one has memory too."""

    def __init__(self) -> None:
        """None yet."""
        self._of: dict[str, asyncio.Semaphore] = {}
        self._using: dict[str, int] = {}
        self._contexts: Counter[str] = Counter()
        self._spares: Counter[str] = Counter()

    def fewest(self, uuids: Sequence[str]) -> str:
        """The device that the fewest sessions have chosen."""
        return min(uuids, key=lambda uuid: self._using.get(uuid, 0))

    @asynccontextmanager
    async def chosen(self, uuid: str) -> AsyncIterator[None]:
        """Counts a session."""
        self._using[uuid] = self._using.get(uuid, 0) + 1
        try:
            yield
        finally:
            self._using[uuid] -= 1

    def alone(self, uuid: str) -> bool:
        """Whether at most one session has chosen a device and not yet given its answer."""
        return self._using.get(uuid, 0) <= 1

    def contexts(self, uuid: str) -> int:
        """At most so many contexts this process has on a device, without those of oracles."""
        return self._contexts[uuid] + self._spares[uuid]

    @asynccontextmanager
    async def of(self, uuid: str, most: int) -> AsyncIterator[None]:
        """Held by a session with a context."""
        async with self._of.setdefault(uuid, asyncio.Semaphore(most)):
            self._contexts[uuid] += 1
            try:
                yield
            finally:
                self._contexts[uuid] -= 1

    def take_spare(self, uuid: str) -> bool:
        """Takes room for a context that is opened ahead, if there is any: nobody waits for that."""
        if self._spares[uuid] >= MOST_SPARES:
            return False
        self._spares[uuid] += 1
        return True

    def give_spare(self, uuid: str) -> None:
        """Gives it back, after the context is gone."""
        self._spares[uuid] -= 1
