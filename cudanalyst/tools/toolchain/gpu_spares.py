"""Executors that are made ready while a candidate is still compiled: started, cuInit done, and a context open that nobody has used.

A spare is used for one comparison. It is handed out once and never comes back, so no candidate can have touched a spare that is
handed out; the one that was used keeps its context until the evaluation has given its answer, and is ended then. On an H200 a context takes 0.10 s
to open and 0.055 s to destroy, and cuInit 0.23 s: so much less is waited for in every comparison of who has the device alone. Where others want it, too,
spares would only make them wait, and none are made.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

from cudanalyst.errors import StoreError, Unavailable
from cudanalyst.tools.gpu.turns import Turns
from cudanalyst.tools.spending import spending
from cudanalyst.tools.toolchain.executor import Executor, ExecutorCommand, ExecutorFailed, start_executor
from cudanalyst.tools.toolchain.replay_session import SESSION_S
from cudanalyst.tools.toolchain.workspace import Workspace


class Spare:
    """One executor, from its start to its end."""

    def __init__(
        self,
        command: Callable[[Workspace], ExecutorCommand],
        place: Callable[[], contextlib.AbstractContextManager[Workspace]],
        turns: Turns,
        device_index: int,
    ) -> None:
        """Starts it; its context is opened in a turn of its own, unless it is taken before that turn comes."""
        self._command = command
        self._place = place
        self._turns = turns
        self._device_index = device_index
        self._kept = AsyncExitStack()
        self._executor: Executor | None = None
        self._opening = False
        self.started = asyncio.Event()
        """Set once cuInit is done, or has failed."""
        self._task = asyncio.create_task(self._make_ready())

    async def _make_ready(self) -> None:
        # What fails here is done without a spare, where a failure is told.
        with contextlib.suppress(Unavailable, StoreError, ExecutorFailed):
            try:
                command = self._command(self._kept.enter_context(self._place()))
                executor = await self._kept.enter_async_context(start_executor(command, timeout_s=SESSION_S))
                await executor.command("init")
                self._executor = executor
            finally:
                self.started.set()
            async with self._turns.shared():
                self._opening = True
                try:
                    await executor.open_ahead(self._device_index)
                except BaseException:
                    self._executor = None
                    await self._kept.aclose()  # in this turn
                    raise

    async def taken(self) -> Executor | None:
        """Whoever has it now, and alone, gets a context by `open` that is there already, or is opened then; None where it is of no use."""
        if self._executor is not None and not self._opening:
            self._task.cancel()  # it only waits for a turn, which the borrower will have
        await asyncio.wait([self._task])
        executor = self._executor
        return None if executor is None or executor.troubled else executor

    async def close(self) -> None:
        """Destroys its context in a turn, if it is in good order, and ends it in any case."""
        try:
            await self._settled()
            executor = self._executor
            if executor is not None and executor.opened and not executor.troubled:
                with contextlib.suppress(Unavailable, ExecutorFailed):
                    async with self._turns.shared():
                        await executor.close()
        finally:
            await self.end()

    async def end(self) -> None:
        """Ends the process, whatever it is doing; who calls it because of trouble has the turn in which it was used."""
        await self._settled()
        await self._kept.aclose()

    async def _settled(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


class Spares:
    """The spares of one evaluation."""

    def __init__(self, make: Callable[[], Spare], give_room: Callable[[], None]) -> None:
        """Makes none yet.

        Args:
            make: Starts one.
            give_room: Called when one has ended.
        """
        self._make = make
        self._give_room = give_room
        self._unused: list[Spare] = []
        self._used: list[Spare] = []
        self._making: asyncio.Task[None] | None = None

    def begin(self, after: Callable[[], Awaitable[None]], count: int, take_room: Callable[[], bool]) -> None:
        """Starts so many, one after the other, once what is needed before is there: at once they would only make that wait for the driver.

        Args:
            after: Waits for what is needed before.
            count: How many.
            take_room: Takes room for another, or says that there is none; then no more are made.
        """
        self._making = asyncio.create_task(self._begin(after, count, take_room))

    async def _begin(self, after: Callable[[], Awaitable[None]], count: int, take_room: Callable[[], bool]) -> None:
        await after()
        while len(self._unused) + len(self._used) < count and take_room():
            spare = self._make()
            self._unused.append(spare)
            await spare.started.wait()

    async def made(self) -> None:
        """Waits until all that are made have been begun."""
        if self._making is not None:
            await asyncio.wait([self._making])

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncIterator[Executor | None]:
        """One that nobody has had, for one use; None where there is none left. To be taken outside any turn."""
        executor = None
        while executor is None and self._unused:
            spare = self._unused.pop(0)
            self._used.append(spare)
            with spending("executor's start"):
                executor = await spare.taken()
        try:
            yield executor
        finally:
            if executor is not None and executor.troubled:
                await self._used[-1].end()  # in the turn that failed: its work may still be going on

    async def close(self) -> None:
        """Ends all of them, used or not."""
        await self._end(Spare.close)

    async def end(self) -> None:
        """The same at once, without turns: for whoever was cancelled, or failed."""
        await self._end(Spare.end)

    async def _end(self, how: Callable[[Spare], Awaitable[None]]) -> None:
        making, self._making = self._making, None
        if making is not None:
            making.cancel()
            await asyncio.wait([making])
        spares, self._unused, self._used = [*self._unused, *self._used], [], []

        async def ended(spare: Spare) -> None:
            try:
                await how(spare)
            finally:
                self._give_room()

        await asyncio.gather(*(ended(spare) for spare in spares))
