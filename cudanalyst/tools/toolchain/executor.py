"""Starts the executor (engine/EXECUTOR.md), the trusted process that owns a device's context and replays traces, and ends it.

It runs as a task of the process runner while commands go over a socket. After a command that was not answered in time, or a connection
that ended, the whole process group is killed when the block is left; so it is when the caller is cancelled.
"""

import asyncio
import contextlib
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.executor_session import Device, Executor, ExecutorFailed, LoadedKernel

__all__ = [
    "Device", "Executor", "ExecutorCommand", "ExecutorFailed", "LoadedKernel", "Starter", "confined", "plainly", "start_executor",
]  # fmt: skip

START_LIMIT_S: Final = 60.0
FINISH_LIMIT_S: Final = 10.0
"""Seconds from `quit` to the process's end; what wraps the executor may need more to write its report."""
_ANSWER_BYTES: Final = 64 << 20


class Starter(Protocol):
    """Starts the executor in its work directory and waits for its end."""

    async def __call__(
        self, argv: Sequence[str | Path], *, control: int | None, stop: asyncio.Event, timeout_s: float
    ) -> ProcessResult:
        """`control` is a descriptor to inherit."""


def plainly(work: Path, environment: Mapping[str, str]) -> Starter:
    """Starts it with the limits of the process runner only: where the driver is NVIDIA's, or a tool wraps the executor."""

    async def start(
        argv: Sequence[str | Path], *, control: int | None, stop: asyncio.Event, timeout_s: float
    ) -> ProcessResult:
        return await run_process(
            argv,
            cwd=work,
            env=scrubbed_environment(environment),
            timeout_s=timeout_s,
            pass_fds=() if control is None else (control,),
            stop=stop,
        )

    return start


def confined(
    confinement: Confinement,
    work: Path,
    environment: Mapping[str, str],
    *,
    readable: Sequence[Path],
    memory_bytes: int,
    output_limit: int,
) -> Starter:
    """Starts it in the sandbox: the CPU engine interprets device code that nobody has vouched for."""

    async def start(
        argv: Sequence[str | Path], *, control: int | None, stop: asyncio.Event, timeout_s: float
    ) -> ProcessResult:
        return await confinement.run(
            argv,
            work=work,
            readable=readable,
            env=environment,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            purpose="run",
            output_limit=output_limit,
            control=control,
            stop=stop,
        )

    return start


@dataclass(frozen=True)
class ExecutorCommand:
    """How the executor is started."""

    program: Path
    start: Starter
    driver: Path | None = None
    """None: the system's libcuda.so.1."""
    prefix: tuple[str | Path, ...] = ()
    """A tool and its arguments, which start the executor: ncu, compute-sanitizer."""
    finish_s: float = FINISH_LIMIT_S


@contextlib.asynccontextmanager
async def start_executor(command: ExecutorCommand, *, timeout_s: float) -> AsyncIterator[Executor]:
    """Starts an executor and ends it with the block; `process` then says how it ended and what it printed.

    Args:
        command: What to start, and how.
        timeout_s: Seconds for everything; then it is killed.

    Raises:
        Unavailable: It cannot be started here; the text says why.
    """
    ends_at = time.monotonic() + timeout_s
    stop = asyncio.Event()
    with _listener(wrapped=bool(command.prefix)) as listener:
        argv: list[str | Path] = [*command.prefix, command.program, "--control", listener.address]
        if command.driver is not None:
            argv += ["--driver", command.driver]
        running = asyncio.create_task(
            command.start(argv, control=listener.control, stop=stop, timeout_s=timeout_s + command.finish_s)
        )
        try:
            executor = await _connect(listener, running, ends_at)
            try:
                yield executor
            except Exception:
                executor.process = await _finish(executor, running, stop, command.finish_s)
                raise
            else:
                executor.process = await _finish(executor, running, stop, command.finish_s)
            finally:
                executor.hang_up()
        finally:
            # Whatever went wrong, or whoever cancelled: the process runner kills the group when its task ends.
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # has been told, or says no more than the connection's end


async def _finish(
    executor: Executor, running: "asyncio.Task[ProcessResult]", stop: asyncio.Event, finish_s: float
) -> ProcessResult:
    """Asks it to leave, and makes it. One that does not answer any more is not asked."""
    if not executor.lost:
        with contextlib.suppress(ExecutorFailed):
            await executor.command("quit", limit_s=finish_s)
    executor.hang_up()
    if not executor.lost:
        await asyncio.wait([running], timeout=finish_s)
    stop.set()
    return await running


class _Listener:
    """The parent's end of the control connection."""

    def __init__(self, address: str, parent: socket.socket, child: socket.socket | None) -> None:
        self.address = address
        self._parent = parent
        self._child = child

    @property
    def control(self) -> int | None:
        """Descriptor for the executor to inherit; None where it connects by itself."""
        return None if self._child is None else self._child.fileno()

    async def accept(self) -> socket.socket:
        if self._child is not None:
            return self._parent
        connection, _ = await asyncio.get_running_loop().sock_accept(self._parent)
        return connection

    def started(self) -> None:
        """The executor has its own copy of its end: without this one, its end of file is seen."""
        if self._child is not None:
            self._child.close()


@contextlib.contextmanager
def _listener(*, wrapped: bool) -> Iterator[_Listener]:
    """A pair of sockets of which one end is inherited; a tool between would not pass it on, so there a path to connect to."""
    with contextlib.ExitStack() as stack:
        if not wrapped:
            parent, child = socket.socketpair()
            stack.callback(parent.close)
            stack.callback(child.close)
            parent.setblocking(False)
            yield _Listener(f"fd:{child.fileno()}", parent, child)
            return
        # A path of a socket has at most 107 bytes, so it lies where paths are short.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cudanalyst-", dir="/tmp"))
        parent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stack.callback(parent.close)
        parent.setblocking(False)
        path = os.path.join(folder, "control")  # noqa: PTH118 - a plain string for the address
        parent.bind(path)
        parent.listen(1)
        yield _Listener(path, parent, None)


async def _connect(listener: _Listener, running: "asyncio.Task[ProcessResult]", ends_at: float) -> Executor:
    """Waits for the first line, which says that the driver is loaded."""

    async def greet() -> tuple[Executor, dict[str, Any]]:
        connection = await listener.accept()
        reader, writer = await asyncio.open_connection(sock=connection, limit=_ANSWER_BYTES)
        executor = Executor(reader, writer, ends_at)
        try:
            answer = await executor.greeting(START_LIMIT_S)
        except BaseException:
            executor.hang_up()
            raise
        return executor, answer

    greeting = asyncio.create_task(greet())
    try:
        await asyncio.wait(
            set[asyncio.Task[Any]]((greeting, running)),
            timeout=min(START_LIMIT_S, ends_at - time.monotonic()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not greeting.done() and running.done():
            await asyncio.wait([greeting], timeout=0.05)  # the line may be under way
        if not greeting.done():
            raise Unavailable(_not_started(running.result() if running.done() else None))
        try:
            executor, answer = greeting.result()
        except ExecutorFailed as error:
            raise Unavailable(f"the executor did not start: {error.message}") from error
    except BaseException:
        greeting.cancel()
        await asyncio.wait([greeting])
        if not greeting.cancelled() and greeting.exception() is None:
            greeting.result()[0].hang_up()  # nobody else knows of it
        raise
    listener.started()
    if answer.get("ok") is not True:
        executor.hang_up()
        raise Unavailable(f"the executor did not start: {one_line(str(answer.get('message')))}")
    return executor


def _not_started(process: ProcessResult | None) -> str:
    if process is None:
        return f"the executor did not answer within {START_LIMIT_S:.0f} s"
    how = process.signal or f"exit status {process.exit_status}"
    said = one_line((process.stderr.text or process.stdout.text)[-1000:])
    return f"the executor ended before it answered ({how}){': ' + said if said else ''}"
