"""A buffer that the oracle fills and reads: device memory shared by the executor, or a file that the executor loads and stores."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from cudanalyst.kernels.arrays import ArrayModule, to_host
from cudanalyst.kernels.dtypes import Array
from cudanalyst.tools.gpu.oracle_messages import BufferAt, Transport


class IpcRefused(Exception):
    """The device's memory could not be opened in this process: files are the way then."""


class Buffer(Protocol):
    """Bytes of a whole allocation: guard zone, body, guard zone."""

    transport: Transport

    def view(self, start: int, stop: int) -> Array:
        """Bytes `start` to `stop` as an array of the oracle's module; a view where that is possible."""

    def store(self, start: int, data: Array) -> None:
        """Writes bytes from `start` on."""


class DeviceBuffer:
    """Device memory that belongs to the executor."""

    transport: Transport = "ipc"

    def __init__(self, arrays: ArrayModule, address: int, size: int) -> None:
        """Takes the address of the allocation in this process, and its bytes."""
        memory = arrays.cuda.UnownedMemory(address, size, owner=None)
        pointer = arrays.cuda.MemoryPointer(memory, 0)
        self._bytes: Array = arrays.ndarray((size,), dtype=np.uint8, memptr=pointer)

    def view(self, start: int, stop: int) -> Array:
        """A view."""
        return self._bytes[start:stop]

    def store(self, start: int, data: Array) -> None:
        """Copies on the device."""
        self._bytes[start : start + data.size] = data


class FileBuffer:
    """A file, mapped: of NumPy a view, of another module a copy."""

    transport: Transport = "file"

    def __init__(self, arrays: ArrayModule, path: Path, size: int) -> None:
        """Maps `size` bytes of a file, which is made, or cut or extended to that size."""
        with path.open("ab") as file:
            file.truncate(size)
        self._arrays = arrays
        self._bytes: Array = np.memmap(path, dtype=np.uint8, mode="r+", shape=(size,))

    def view(self, start: int, stop: int) -> Array:
        """A view of the file for NumPy; else a copy on the device."""
        part = np.asarray(self._bytes)[start:stop]
        return part if self._arrays is np else self._arrays.asarray(part)

    def store(self, start: int, data: Array) -> None:
        """Copies into the file."""
        host = to_host(data)
        self._bytes[start : start + host.size] = host


class SharedMemory:
    """Allocations of another process, each opened once."""

    def __init__(self, arrays: ArrayModule) -> None:
        """Opens nothing yet."""
        self._arrays = arrays
        self._opened: dict[str, int] = {}

    def buffer(self, at: BufferAt, guard_bytes: int, body_bytes: int) -> Buffer:
        """The buffer that a request names.

        Raises:
            IpcRefused: The handle cannot be opened here.
            OSError: The file cannot be mapped.
            ValueError: The request names neither, or the guard zone does not fit.
        """
        size = body_bytes + 2 * guard_bytes
        if at.path is not None:
            return FileBuffer(self._arrays, Path(at.path), size)
        if at.handle is None or at.offset < guard_bytes:
            raise ValueError("a buffer needs a path, or a handle and an offset of its body behind the guard zone")
        return DeviceBuffer(self._arrays, self._open(at.handle) + at.offset - guard_bytes, size)

    def _open(self, handle: str) -> int:
        if handle not in self._opened:
            if self._arrays is np:
                raise IpcRefused("NumPy cannot open device memory; pass files")
            try:
                self._opened[handle] = int(self._arrays.cuda.runtime.ipcOpenMemHandle(bytes.fromhex(handle)))
            except Exception as error:
                raise IpcRefused(f"cudaIpcOpenMemHandle: {error}") from error
        return self._opened[handle]

    def close(self) -> None:
        """Lets go of all; buffers that were made from them must not be used again."""
        for address in self._opened.values():
            with contextlib.suppress(Exception):  # the executor, and its context, may be gone already
                self._arrays.cuda.runtime.ipcCloseMemHandle(address)
        self._opened.clear()


def spans(total: int, chunk: int) -> Iterator[tuple[int, int]]:
    """`total` elements in chunks: pairs of start and stop."""
    for start in range(0, total, chunk):
        yield start, min(start + chunk, total)
