"""Room on devices for sessions, which keep a context between their turns."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Rooms:
    """How many sessions of this process keep a context on a device: an idle one has memory too."""

    def __init__(self) -> None:
        """None yet."""
        self._of: dict[str, asyncio.Semaphore] = {}
        self._using: dict[str, int] = {}

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

    def of(self, uuid: str, most: int) -> AbstractAsyncContextManager[None]:
        """Held by a session with a context."""
        return self._of.setdefault(uuid, asyncio.Semaphore(most))
