"""One executor for all that an evaluation replays: starting it, and its context, are most of what a small request takes.

A context serves the requests of one build, and each leaves it as it was. Whatever goes wrong costs the context, or the process; whoever
borrows the executor gets the context emptied (`open_emptied`), or a fresh one in its place (`open`). A context that nobody needs any more is destroyed when the next one is opened, or at the end.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.gpu.turns import Turns
from cudanalyst.tools.spending import spending
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.executor import Device, Executor, ExecutorCommand, ExecutorFailed, start_executor
from cudanalyst.tools.toolchain.loading import SLOT, Code, LoadedModule, load_module
from cudanalyst.tools.toolchain.outcome import Outcome, Unrecordable
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution
from cudanalyst.tools.toolchain.recording import Recorder
from cudanalyst.tools.toolchain.replaying import Replaying, Run, code_of
from cudanalyst.tools.toolchain.request import check_request
from cudanalyst.tools.toolchain.workspace import Workspace, workspace

PAGEABLE_MEMORY_ACCESS: Final = 88
"""CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: 1 where device code reaches all memory of its host process (HMM, or page tables that are the host's)."""
SESSION_S: Final = 6 * 3600.0
"""Limit on the process, which also waits for turns; its commands have limits of their own."""


class ReplaySession:
    """Replays requests one after the other, never several at once."""

    def __init__(
        self,
        place: Replaying,
        command: Callable[[Workspace], ExecutorCommand],
        turns: Turns,
        room: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext,
    ) -> None:
        """Nothing is started yet.

        Args:
            place: Where and with what.
            command: How the executor is started in its work directory.
            turns: When the device may be used.
            room: Held from the first use of the device to the end: bounds how many sessions keep a context. It is waited for outside any turn.
        """
        recorder = replace(place.recorder, away=self._recording)
        self._place = replace(place, recorder=recorder, waited=lambda: turns.waited_s)
        self._command = command
        self._turns = turns
        self._room = room
        self._settled = False
        self._kept = AsyncExitStack()
        self._process = AsyncExitStack()
        self._starting: asyncio.Task[Executor] | None = None
        self._work: Workspace | None = None
        self._opening: asyncio.Task[None] | None = None
        self._context: tuple[Device, Code, LoadedModule] | None = None

    @property
    def recorder(self) -> Recorder:
        """Leaves the device to others while host code runs."""
        return self._place.recorder

    @contextlib.asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        async with self._turns.away():
            with spending("recording"):
                yield

    def begin(self) -> None:
        """Starts the executor, which does what needs no context beside whatever the caller does."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())

    def begin_context(self) -> None:
        """Also opens the context, in a turn of its own, for what will be replayed once it is built."""
        self.begin()
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        # A failure is met again, and told, by the first request.
        with contextlib.suppress(Unavailable):
            await self._room_for_context()
            executor = await self._executor()
            async with self._turns.shared():
                try:
                    await executor.open_ahead(self._place.device_index)
                except ExecutorFailed:
                    await self._discard(executor)
                except BaseException:
                    await self._end()
                    raise

    async def context_opened(self) -> None:
        """Waits until a context that was begun is there, or has failed."""
        if self._opening is not None:
            await asyncio.wait([self._opening])

    async def _opened(self, *, give_up: bool = False) -> None:
        """Waits for what was begun, since there is one user of turns and executor at a time."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        if give_up:
            opening.cancel()
        try:
            await asyncio.wait([opening])
        except BaseException:
            self._opening = opening  # for `close`
            raise
        if not opening.cancelled():
            opening.result()

    async def settle(self) -> None:
        """Makes sure that there is room for a context; to be called outside any turn."""
        await self._opened()
        await self._room_for_context()

    async def _room_for_context(self) -> None:
        if not self._settled:
            await self._kept.enter_async_context(self._room())
            self._settled = True

    def _workspace(self) -> Workspace:
        if self._work is None:
            self._work = self._kept.enter_context(workspace(self._place.recorder.scratch))
        return self._work

    async def _start(self) -> Executor:
        command = self._command(self._workspace())
        executor = await self._process.enter_async_context(start_executor(command, timeout_s=SESSION_S))
        try:
            await executor.command("init")
        except ExecutorFailed as error:
            await self._process.aclose()
            raise Unavailable(f"the executor could not do it: {error}") from error
        return executor

    async def _executor(self) -> Executor:
        """The executor that runs.

        Raises:
            Unavailable: It does not start.
        """
        self.begin()
        if self._starting is None:
            raise RuntimeError("nothing was begun")
        try:
            with spending("executor's start"):
                return await self._starting
        except BaseException:
            self._starting = None
            raise

    async def _end(self) -> None:
        """Ends the process, if need be by force."""
        starting, self._starting, self._context = self._starting, None, None
        if starting is not None and not starting.done():
            starting.cancel()
            await asyncio.wait([starting])
        if starting is not None and not starting.cancelled():
            starting.exception()  # has been told, or nobody has asked for it
        await self._process.aclose()

    async def _loaded(self, executor: Executor, code: Code) -> tuple[Device, LoadedModule]:
        """The context with the build's module; variables are always new."""
        with spending("context"):
            if self._context is None:
                device = await executor.open(self._place.device_index)
            else:
                device, known, module = self._context
                if known == code and not module.symbols:
                    return device, module
                await executor.unload(SLOT)
            module = await load_module(executor, SLOT, code)
            self._context = device, code, module
            return device, module

    async def replay(self, build: Build, request: CandidateRequest) -> Execution | Unrecordable:
        """As `replaying.replay` does.

        Raises:
            BadRequest: A call lacks a parameter, or a buffer's contents have the wrong length.
        """
        code = code_of(build)
        if code is None:
            return unavailable(f"there is no binary to run: the build's status is {build.status}")
        check_request(request)
        outcome = Outcome(request, self._place.recorder.confinement.level)
        try:
            await self.settle()
            executor = await self._executor()
            started = time.monotonic() - self._turns.waited_s
            async with self._turns.shared():
                await self._run(executor, code, request, outcome)
        except Unavailable as error:
            return unavailable(str(error))
        return outcome.result(time.monotonic() - self._turns.waited_s - started)

    async def _run(self, executor: Executor, code: Code, request: CandidateRequest, outcome: Outcome) -> None:
        run = Run(self._place, code, request, outcome, self._workspace())
        try:
            device, module = await self._loaded(executor, code)
            with spending("device calls"):
                await run.all(executor, device, module)
                await run.release(executor)
        except ExecutorFailed as error:
            outcome.executor_failed(error)
            await self._discard(executor)
            outcome.executor_ended(executor.process)
        except BaseException:
            await self._end()  # in this turn: its work may still be going on
            raise

    async def _discard(self, executor: Executor) -> None:
        """After a failure: nothing of the context is used again."""
        self._context = None
        try:
            if executor.lost:
                await self._end()
            else:
                with spending("context's end"):
                    await executor.close()
        except ExecutorFailed:
            await self._end()

    @property
    def reaches_host(self) -> bool:
        """Whether device code may read and write the memory of the executor's process, as far as a context has told."""
        known = (
            None
            if self._starting is None or not self._starting.done() or self._starting.cancelled()
            else self._starting
        )
        if known is None or known.exception() is not None:
            return False
        device = known.result().device
        return device is not None and bool(device.attributes.get(PAGEABLE_MEMORY_ACCESS))

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncIterator[Executor]:
        """The executor. The borrower opens a context in a turn of its own, fresh or emptied of what was verified, and may leave one behind.

        Raises:
            Unavailable: It does not start.
        """
        async with self._turns.away():
            executor = await self._executor()
        self._context = None
        try:
            yield executor
        finally:
            if executor.troubled:  # in the turn that failed: its work may still be going on
                await self._discard(executor)

    async def leave(self) -> None:
        """Destroys the context, in a turn, where all went well."""
        await self._opened(give_up=True)
        if self._starting is not None and self._starting.done() and not self._starting.cancelled():
            executor = await self._executor()
            if executor.opened:
                async with self._turns.shared():
                    await self._discard(executor)

    async def close(self) -> None:
        """Ends everything, whatever it is doing."""
        try:
            await self._opened(give_up=True)
            await self._end()
        finally:
            await self._kept.aclose()
