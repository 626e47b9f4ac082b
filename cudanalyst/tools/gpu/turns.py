"""A session's turns on a device: shared while it works there, exclusive while it is timed, none while its host code has the word.

A session keeps its context between turns. It idles then: every command of the executor ends with the work that it began.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from cudanalyst.tools.gpu.lease import Lease, Mode
from cudanalyst.tools.spending import spending


class Turns(Protocol):
    """Blocks in which a device may be used. They nest: the inner one decides, and the outer one's turn is then taken again.

    After an exception an inner turn is kept until the outermost block ends, which may be `away`: who cleans up does so in the turn that failed.
    """

    @property
    def waited_s(self) -> float:
        """Seconds that were waited for turns so far: nobody's work, so no time limit counts them."""

    @property
    def held_s(self) -> float:
        """Seconds that the device was held so far; only differences mean anything."""

    def shared(self) -> AbstractAsyncContextManager[None]:
        """For work that others may work beside; within an exclusive block it stays exclusive."""

    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """For what is timed."""

    def away(self) -> AbstractAsyncContextManager[None]:
        """For work that is not the device's, within a turn or around several: others have it meanwhile."""


class Held:
    """The turns of a caller who holds the device by itself all the time."""

    waited_s = 0.0

    @property
    def held_s(self) -> float:
        """All the time."""
        return time.monotonic()

    def shared(self) -> AbstractAsyncContextManager[None]:
        """Nothing to wait for."""
        return contextlib.nullcontext()

    exclusive = away = shared


class LeasedTurns:
    """Turns that are leases."""

    def __init__(
        self, hold: Callable[[Mode], AbstractAsyncContextManager[Lease]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Takes what waits for a lease of a mode, and holds it."""
        self._hold = hold
        self._clock = clock
        self._lease: AbstractAsyncContextManager[Lease] | None = None
        self._mode: Mode | None = None
        self._depth = 0
        self._held_s = 0.0
        self._since = 0.0
        self.waited_s = 0.0

    @property
    def mode(self) -> Mode | None:
        """What is held now."""
        return self._mode

    @property
    def held_s(self) -> float:
        """See `Turns`."""
        return self._held_s + (self._clock() - self._since if self._lease is not None else 0.0)

    async def _change(self, mode: Mode | None) -> None:
        if mode == self._mode:
            return
        if self._lease is not None:
            self._held_s += self._clock() - self._since
            lease, self._lease, self._mode = self._lease, None, None
            await lease.__aexit__(None, None, None)
        if mode is not None:
            started = self._clock()
            wanted = self._hold(mode)
            try:
                with spending("waiting for the device"):
                    await wanted.__aenter__()
            finally:
                self.waited_s += self._clock() - started
            self._lease, self._mode, self._since = wanted, mode, self._clock()

    @contextlib.asynccontextmanager
    async def _as(self, mode: Mode | None) -> AsyncIterator[None]:
        before = self._mode
        await self._change(mode)
        self._depth += 1
        try:
            yield
        except BaseException as error:
            # What was under way may still run on the device: who ends it does so in this turn, which the outermost block gives back.
            if self._depth == 1 or (self._mode is None and isinstance(error, Exception)):
                await self._change(before)
            raise
        else:
            await self._change(before)
        finally:
            self._depth -= 1

    def shared(self) -> AbstractAsyncContextManager[None]:
        """See `Turns`."""
        return self._as(self._mode or "shared")

    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """See `Turns`."""
        return self._as("exclusive")

    def away(self) -> AbstractAsyncContextManager[None]:
        """See `Turns`."""
        return self._as(None)
