"""Runs kernels through the CUDA driver API, the engine's or NVIDIA's: the same few calls on both."""

import ctypes
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

BLOCK = 128


class DriverError(RuntimeError):
    """A call of the driver failed."""


class Driver:
    """A context on the first device."""

    def __init__(self, library: str) -> None:
        """Loads the driver of this path or name and takes the primary context."""
        self._library = ctypes.CDLL(library)
        self._call("cuInit", 0)
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._device = device
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._module = ctypes.c_void_p()
        self._buffers: list[ctypes.c_uint64] = []

    def __enter__(self) -> Self:
        """The driver itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Frees what was allocated."""
        self.clear()

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise DriverError(f"{name} returned {status}")

    def load(self, image: bytes) -> None:
        """Makes a module, PTX or machine code, the one whose kernels are launched."""
        if self._module:
            self._call("cuModuleUnload", self._module)
        self._module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(self._module), ctypes.c_char_p(image))

    def upload(self, data: npt.NDArray[np.generic]) -> ctypes.c_uint64:
        """A copy on the device."""
        address = self.allocate(data.nbytes)
        self._call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        return address

    def allocate(self, count: int) -> ctypes.c_uint64:
        """So many bytes on the device."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(count))
        self._buffers.append(address)
        return address

    def download(self, address: ctypes.c_uint64, count: int) -> bytes:
        """So many bytes from the device."""
        result = ctypes.create_string_buffer(count)
        self._call("cuMemcpyDtoH_v2", result, address, ctypes.c_size_t(count))
        return result.raw

    def launch(
        self, kernel: str, threads: int, arguments: Sequence[ctypes.c_uint64 | ctypes.c_uint32], block: int = BLOCK
    ) -> None:
        """Runs a kernel with at least so many threads, and waits for it."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments)
        )
        grid = (threads + block - 1) // block
        self._call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, pointers, None)
        self._call("cuCtxSynchronize")

    def clear(self) -> None:
        """Frees the buffers."""
        for address in self._buffers:
            self._call("cuMemFree_v2", address)
        self._buffers.clear()
