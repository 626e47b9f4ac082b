"""Oracles for sizes that are too large for this process: each serves one session at a time, since it keeps buffers and outputs between requests."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadProblem, Unavailable
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.toolchain.gpu_parts import GpuParts

NO_CUPY: Final = "large sizes need CuPy, which makes inputs and references on the device: pip install 'cudanalyst[gpu]'"
MOST_ORACLES: Final = 6
"""On one device: one is lent for a whole comparison, which mostly waits for turns, so fewer would be waited for while nobody uses them."""
FEWEST_ORACLES: Final = 3
ORACLE_BYTES: Final = 20 << 30
"""Of a device's memory for each that is more than the fewest: it has a context, and memory for a large size."""


class Oracles:
    """Oracles by device, kept between requests; each ends by itself when it was idle for a while."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._idle: dict[str, list[GpuOracle]] = {}
        self._all: list[GpuOracle] = []
        self._room: dict[str, asyncio.Semaphore] = {}
        self._made: dict[str, int] = {}
        self._readying: dict[str, asyncio.Task[None]] = {}

    def possible(self, parts: GpuParts) -> bool:
        """False where CuPy is not installed, or there is no device that CuPy could use."""
        return find_spec("cupy") is not None and parts.on_gpu

    @asynccontextmanager
    async def lend(self, parts: GpuParts, uuid: str, problem: str) -> AsyncIterator[GpuOracle | None]:
        """One for the caller alone, that has met the problem if possible; waited for outside any turn on the device. None where there can be none."""
        if not self.possible(parts):
            yield None
            return
        async with self._room.setdefault(uuid, asyncio.Semaphore(_most(parts, uuid))):
            idle = self._idle.setdefault(uuid, [])
            oracle = max(idle, key=lambda one: (one.has_met(problem), idle.index(one)), default=None)
            if oracle is None:
                oracle = self._make(uuid)
            else:
                idle.remove(oracle)
            try:
                with contextlib.suppress(Unavailable):  # the first request meets it again, and tells
                    await oracle.launch()
                yield oracle
            finally:
                idle.append(oracle)

    def opened(self, uuid: str) -> int:
        """At most so many of them have a context on a device."""
        return self._made.get(uuid, 0)

    def _make(self, uuid: str) -> GpuOracle:
        self._made[uuid] = self._made.get(uuid, 0) + 1
        # Of the libraries it needs more than the driver's, so the starter's own paths are left as they are.
        oracle = GpuOracle(environment={"CUDA_VISIBLE_DEVICES": uuid, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        self._all.append(oracle)
        return oracle

    def ready(
        self,
        parts: GpuParts,
        uuid: str,
        problem: Problem,
        folder: Path,
        turn: Callable[[], AbstractAsyncContextManager[object]],
    ) -> None:
        """Starts one, if need be, and lets it meet a problem while something else is done: its kernels are compiled then."""
        if not self.possible(parts) or uuid in self._readying:
            return
        task = asyncio.create_task(self._meet(parts, uuid, problem, folder, turn))
        self._readying[uuid] = task
        task.add_done_callback(lambda _: self._readying.pop(uuid, None))

    async def readied(self, uuid: str) -> None:
        """Waits for what was begun; to be called outside any turn."""
        if (task := self._readying.get(uuid)) is not None:
            await asyncio.wait([task])

    async def _meet(
        self,
        parts: GpuParts,
        uuid: str,
        problem: Problem,
        folder: Path,
        turn: Callable[[], AbstractAsyncContextManager[object]],
    ) -> None:
        # Whatever fails here fails again, and is told, where it is needed.
        with contextlib.suppress(Unavailable, BadProblem):
            async with self.lend(parts, uuid, problem.id) as oracle:
                if oracle is not None and not oracle.has_met(problem.id):
                    async with turn():
                        await oracle.meet(problem, folder)

    async def close(self) -> None:
        """Ends their processes."""
        for task in list(self._readying.values()):
            task.cancel()
            await asyncio.wait([task])
        oracles, self._all, self._idle = self._all, [], {}
        await asyncio.gather(*(oracle.close() for oracle in oracles))


def _most(parts: GpuParts, uuid: str) -> int:
    """How many a device's memory has room for."""
    total = next((one.memory_bytes for one in parts.devices if one.uuid == uuid), None)
    return MOST_ORACLES if total is None else max(FEWEST_ORACLES, min(MOST_ORACLES, total // ORACLE_BYTES))
