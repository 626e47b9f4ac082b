"""The stdio wire: standard output belongs to the protocol, and the server never outlives its client.

The SDK reads standard input in a worker thread, which cannot be interrupted; this reader is a pipe on the event loop, so
that a signal or the parent's death ends the server at once.
"""

import asyncio
import fcntl
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Self

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""A longer message is dropped whole and answered as unreadable."""
_CHUNK: Final = 1 << 16


@dataclass(frozen=True)
class Wire:
    """Private duplicates of the two standard streams."""

    read_fd: int
    write_fd: int


@contextmanager
def claimed_standard_streams() -> Iterator[Wire]:
    """Moves the protocol to private descriptors: 0 reads nothing and 1 is standard error while it lasts."""
    sys.stdout.flush()
    wire = Wire(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3))
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire.read_fd, 0)
        os.dup2(wire.write_fd, 1)
        for fd in (nothing, wire.read_fd, wire.write_fd):
            with suppress(OSError):
                os.close(fd)


class LineReader:
    """Lines of a descriptor, on the event loop."""

    def __init__(self, fd: int, limit: int = MAX_LINE_BYTES) -> None:
        """Reads `fd` until its end; a line of more than `limit` bytes is replaced by one that is no JSON."""
        self._fd = fd
        self._limit = limit
        self._lines = self._read()

    def __aiter__(self) -> Self:
        """The reader itself."""
        return self

    async def __anext__(self) -> str:
        """The next line, without its end."""
        return await anext(self._lines)

    async def _read(self) -> AsyncIterator[str]:
        pending = bytearray()
        dropping = False
        async for chunk in _chunks(self._fd):
            pending += chunk
            *lines, rest = pending.split(b"\n") if b"\n" in chunk else [pending]
            for line in lines:
                yield "(message over the size limit)" if dropping else line.decode("utf-8", "replace")
                dropping = False
            pending = bytearray(rest)
            if len(pending) > self._limit:
                pending.clear()
                dropping = True


async def _chunks(fd: int) -> AsyncIterator[bytes]:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        # A plain file never blocks, and the event loop cannot wait for one.
        while chunk := os.read(fd, _CHUNK):
            yield chunk
        return
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    blocking = os.get_blocking(fd)
    os.set_blocking(fd, False)
    loop.add_reader(fd, ready.set)
    try:
        while True:
            await ready.wait()
            ready.clear()
            with suppress(BlockingIOError):
                chunk = os.read(fd, _CHUNK)
                if not chunk:
                    return
                ready.set()  # there may be more; the next read says so
                yield chunk
    finally:
        loop.remove_reader(fd)
        os.set_blocking(fd, blocking)


class LineWriter:
    """Writes text to a descriptor; a client that does not read holds up only the writer."""

    def __init__(self, fd: int) -> None:
        """Writes to `fd`, which stays open."""
        self._fd = fd

    async def write(self, text: str) -> None:
        """Writes all of `text`.

        Raises:
            BrokenPipeError: The client has gone.
        """
        data = memoryview(text.encode("utf-8", "surrogatepass"))
        if stat.S_ISREG(os.fstat(self._fd).st_mode):
            while data:
                data = data[os.write(self._fd, data) :]
            return
        os.set_blocking(self._fd, False)
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                await _writable(self._fd)

    async def flush(self) -> None:
        """Nothing is held back."""


async def _writable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(fd)
