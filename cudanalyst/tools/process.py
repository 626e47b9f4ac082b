"""The one module that starts processes.

Each gets a session of its own, an argument list (never a shell), a scrubbed environment, and limits on time, memory and output. When
the first process ends, or time is up, or the caller is cancelled, everything that it started is killed; and when this process is
killed, a guardian does it. A non-zero exit raises nothing: how a process ended is data.
"""

import asyncio
import contextlib
import errno
import os
import resource
import secrets
import signal
import subprocess  # noqa: TID251 - the one place
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.tools import guardian
from cudanalyst.tools.capture import Capture
from cudanalyst.tools.process_result import ProcessResult, signal_name
from cudanalyst.tools.process_tree import ProcessTree

__all__ = ["COOKIE", "DEFAULT_CAPTURE_BYTES", "DEFAULT_OUTPUT_LIMIT", "ProcessResult", "run_process", "scrubbed_environment"]  # fmt: skip

DEFAULT_OUTPUT_LIMIT: Final = 256 << 20
"""Bytes on both streams together after which a process is killed."""
DEFAULT_CAPTURE_BYTES: Final = 64 << 10
"""Bytes kept of each stream: half from its head, half from its tail."""
COOKIE: Final = "CUDANALYST_PROCESS"
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_READ_BYTES: Final = 256 << 10
_GRACE_S: Final = 1.0
_DRAIN_S: Final = 2.0


def scrubbed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The few variables that any process gets, and `extra`."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    kept.setdefault("PATH", os.defpath)
    return {**kept, **(extra or {})}


async def run_process(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float,
    output_limit: int = DEFAULT_OUTPUT_LIMIT,
    capture_bytes: int = DEFAULT_CAPTURE_BYTES,
    memory_bytes: int | None = None,
    pass_fds: Sequence[int] = (),
    grace_s: float = _GRACE_S,
    stop: asyncio.Event | None = None,
) -> ProcessResult:
    """Runs a process to its end, or to a limit; nothing that it started outlives the call.

    Whoever talks to the process meanwhile runs this as a task, and ends it by `stop` (then its output is known) or by cancelling.

    Args:
        argv: Program and arguments; a program without a slash is looked up on the PATH of `env`.
        cwd: Working directory; None for the caller's.
        env: The whole environment; None for `scrubbed_environment()`.
        stdin: What it reads; empty for /dev/null.
        timeout_s: Wall limit in seconds; then TERM, and after `grace_s` KILL.
        output_limit: Bytes on both streams together after which it is killed.
        capture_bytes: Bytes kept of each stream, half from the head and half from the tail.
        memory_bytes: Limit on the address space of each process (RLIMIT_AS), set as soon as it has started.
        pass_fds: File descriptors that it inherits.
        grace_s: Seconds between TERM and KILL.
        stop: Ends the process, as time that is up does, once it is set.

    Raises:
        Unavailable: The program or the working directory is missing, or the system refuses to start it.
        BadRequest: An argument holds a NUL byte.
    """
    value = f"{_guarded()}.{secrets.token_hex(8)}"
    environment = {**(scrubbed_environment() if env is None else env), COOKIE: value}
    started = time.monotonic()
    child = _Child(_start([os.fspath(part) for part in argv], cwd, environment, stdin, pass_fds), f"{COOKIE}={value}")
    try:
        child.limit_resources(memory_bytes)
        child.attach(stdin, output_limit, capture_bytes)
        await child.wait(timeout_s, stop)
        if not child.exited and not child.over_limit:
            child.timed_out = stop is None or not stop.is_set()
            child.signal_group(signal.SIGTERM)
            await child.wait(grace_s)
        child.kill()
        await child.drained(_DRAIN_S)
    finally:
        child.close()
    status = child.popen.returncode
    return ProcessResult(
        exit_status=status if status >= 0 else None,
        signal=signal_name(-status) if status < 0 else None,
        timed_out=child.timed_out,
        output_limited=child.over_limit,
        stdout=child.stdout.captured(),
        stderr=child.stderr.captured(),
        duration_s=time.monotonic() - started,
        peak_bytes=child.peak_bytes,
    )


_guards: dict[int, tuple[str, int]] = {}
"""By process (a fork has none yet): the mark of all that it starts, and the pipe that tells its guardian of its end."""


def _guarded() -> str:
    """The mark that this process's guardian kills by; the first call starts it."""
    if (known := _guards.get(os.getpid())) is not None:
        return known[0]
    mark = secrets.token_hex(8)
    read, write = os.pipe()  # neither end is inherited
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    argv = [sys.executable, "-I", "-S", guardian.__file__, f"{COOKIE}={mark}."]
    moves = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    try:
        libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        os.posix_spawn(sys.executable, argv, libraries, file_actions=moves, setsid=True)  # noqa: TID251 - the one place
    except OSError as error:
        os.close(write)
        raise Unavailable(f"{sys.executable} could not be started: {error.strerror}") from error
    finally:
        os.close(read)
        os.close(null)
    _guards[os.getpid()] = (mark, write)
    return mark


def _start(
    argv: list[str], cwd: Path | None, env: Mapping[str, str], stdin: bytes, pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - an argument list, no shell
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    except ValueError as error:
        message = f"an argument for {Path(argv[0]).name} cannot be passed on: {error}; remove the NUL byte"
        raise BadRequest(message) from error
    except OSError as error:
        if cwd is not None and not cwd.is_dir():
            message = f"the working directory for {Path(argv[0]).name} is missing"
        elif error.errno == errno.ENOENT:
            message = f"{argv[0]} was not found; install it or correct PATH"
        else:
            message = f"{argv[0]} could not be started: {error.strerror}"
        raise Unavailable(message) from error


class _Child:
    """A started process, its streams, and the three things waited for: its end, the limits, and end of file."""

    def __init__(self, popen: subprocess.Popen[bytes], cookie: str) -> None:
        self.popen = popen
        self._tree = ProcessTree(popen.pid, cookie)
        self.exited = False
        self.timed_out = False
        self.over_limit = False
        self.stdout = Capture(0)
        self.stderr = Capture(0)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._open = 0
        self._unsent = memoryview(b"")
        self._pidfd = -1
        self._killed = False
        self.peak_bytes: int | None = None

    def limit_resources(self, memory_bytes: int | None) -> None:
        with contextlib.suppress(OSError):  # gone already: nothing to limit
            resource.prlimit(self.popen.pid, resource.RLIMIT_CORE, (0, 0))
            if memory_bytes is not None:
                resource.prlimit(self.popen.pid, resource.RLIMIT_AS, (memory_bytes, memory_bytes))

    def attach(self, stdin: bytes, output_limit: int, capture_bytes: int) -> None:
        self.stdout, self.stderr = Capture(capture_bytes), Capture(capture_bytes)
        self._pidfd = os.pidfd_open(self.popen.pid)
        self._loop.add_reader(self._pidfd, self._on_exit)
        for stream, capture in ((self.popen.stdout, self.stdout), (self.popen.stderr, self.stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._open += 1
                self._loop.add_reader(stream.fileno(), self._on_readable, stream.fileno(), capture, output_limit)
        if self.popen.stdin is not None:
            self._unsent = memoryview(stdin)
            os.set_blocking(self.popen.stdin.fileno(), False)
            self._loop.add_writer(self.popen.stdin.fileno(), self._on_writable)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        self.exited = True
        self._changed.set()

    def _on_readable(self, fd: int, capture: Capture, output_limit: int) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(fd)
            self._open -= 1
            self._changed.set()
            return
        capture.add(data)
        if self.stdout.total + self.stderr.total > output_limit and not self.exited:
            self.over_limit = True
            self._changed.set()

    def _on_writable(self) -> None:
        if self.popen.stdin is None or self.popen.stdin.closed:
            return
        try:
            self._unsent = self._unsent[os.write(self.popen.stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # it closed its standard input: its own business
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._loop.remove_writer(self.popen.stdin.fileno())
            self.popen.stdin.close()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()

    async def wait(self, seconds: float, stop: asyncio.Event | None = None) -> None:
        """Until it ends, writes too much, is to stop, or time is up."""
        if stop is None:
            return await self._until(lambda: self.exited or self.over_limit, seconds)
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: self._changed.set())
        try:
            await self._until(lambda: self.exited or self.over_limit or stop.is_set(), seconds)
        finally:
            stopping.cancel()

    async def drained(self, seconds: float) -> None:
        """Until both streams are at their end; a stray that keeps one open has been killed before."""
        await self._until(lambda: self._open == 0 and self.exited, seconds)

    def signal_group(self, number: signal.Signals) -> None:
        # The first process is not reaped before `close`, so that its number cannot belong to another by now.
        with contextlib.suppress(OSError):
            os.killpg(self.popen.pid, number)

    def kill(self) -> None:
        if self._killed:
            return
        self.signal_group(signal.SIGKILL)
        self._tree.kill()
        self._killed = True

    def close(self) -> None:
        """Kills what is left and reaps. Does not await: a cancelled caller would be cancelled again here."""
        self.kill()
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                self._loop.remove_reader(stream.fileno())
                stream.close()
        if self.popen.stdin is not None and not self.popen.stdin.closed:
            self._loop.remove_writer(self.popen.stdin.fileno())
            self.popen.stdin.close()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        self._reap()

    def _reap(self) -> None:
        try:
            _, status, usage = os.wait4(self.popen.pid, 0)
        except ChildProcessError:  # reaped already: somebody else waits for all children
            self.popen.wait()
            return
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        self.peak_bytes = usage.ru_maxrss << 10
