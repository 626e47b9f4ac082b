"""The parent's end of the oracle's process: started when it is first needed, kept between requests, never waited for without end."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from cudanalyst.kernels.arrays import ArraysName
from cudanalyst.kernels.extent import buffer_bytes
from cudanalyst.kernels.inputs import distribution_count
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.cases import GUARD_BYTES, ScheduledCall, schedule_timed
from cudanalyst.tools.gpu.oracle_messages import (
    BufferAt,
    CallContents,
    Examine,
    Examined,
    Forget,
    Forgotten,
    Open,
    Opened,
    Prepare,
    Prepared,
)
from cudanalyst.tools.gpu.oracle_process import START_S, Answer, OracleFailed, Worker
from cudanalyst.values import Frozen

__all__ = ["GpuOracle", "OracleFailed"]


class GpuOracle:
    """Inputs, references and comparisons in a process of their own, on a device or (with NumPy) on the host.

    Requests are done one at a time. Whoever uses the device must hold its lease: the oracle takes none. After a failure, a time-out or
    a cancelled request the process is gone, and the next request starts another.
    """

    def __init__(
        self,
        *,
        arrays: ArraysName = "cupy",
        device: int = 0,
        budget_bytes: int | None = None,
        timeout_s: float = 120.0,
        idle_s: float = 120.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            arrays: `cupy` on a GPU; `numpy` does the same on the host, over files.
            device: Number among the devices that the process sees (`CUDA_VISIBLE_DEVICES` in `environment` chooses them).
            budget_bytes: Device memory that the process may take; None: 8 GiB, or 40 % of what is free where that is less.
            timeout_s: Wall limit of one request.
            idle_s: After so long without a request the process ends by itself.
            environment: Variables besides the scrubbed ones.
        """
        self._open = Open(arrays=arrays, device=device, budget_bytes=budget_bytes)
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._environment = dict(environment or {})
        self._turn = asyncio.Lock()
        self._worker: Worker | None = None
        self._met: set[str] = set()
        self._has_device = False
        self.opened: Opened | None = None
        """What the last process that was started said of itself."""

    async def __aenter__(self) -> Self:
        """Gives itself; the process starts with the first request."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the process."""
        await self.close()

    async def start(self) -> Opened:
        """Starts the process ahead of its first request, while something else takes its time.

        Raises:
            OracleFailed: It cannot be started, or the array module does not work here.
        """
        async with self._turn:
            await self._started()
        if self.opened is None:
            raise OracleFailed("internal", "the process started without saying what it is")
        return self.opened

    async def launch(self) -> None:
        """Starts the process as far as that needs no device: what takes longest of starting is no reason to hold one.

        Raises:
            OracleFailed: It cannot be started.
        """
        async with self._turn:
            await self._launched()

    def has_met(self, problem: str) -> bool:
        """Whether the process that runs now has worked for a problem, so that its kernels are compiled."""
        return self._worker is not None and self._worker.alive and problem in self._met

    async def meet(self, problem: Problem, folder: Path) -> None:
        """Makes and compares contents of every distribution at the least size, over files: what is needed is compiled and loaded.

        Raises:
            OracleFailed: As `prepare`.
            BadProblem: As `prepare` and `examine`.
        """
        sizes = min(problem.sizes["test"], key=lambda one: buffer_bytes(problem, one))
        with tempfile.TemporaryDirectory(prefix="cudanalyst-oracle-") as work:
            files = {
                item.name: BufferAt(path=str(Path(work) / item.name))
                for item in problem.parameters
                if item.role != "scalar"
            }
            for number in range(distribution_count(problem)):
                call = schedule_timed(b"nothing is timed", number, 0)
                await self.prepare(folder, sizes, call, files)
                await self.examine(folder, sizes, call, files)
        await self.forget()
        self._met.add(problem.id)

    async def prepare(
        self, folder: Path, sizes: SizeSet, call: ScheduledCall, buffers: Mapping[str, BufferAt]
    ) -> Prepared:
        """Fills the buffers of a call: inputs from its seed, poison in outputs, guard zones.

        Args:
            folder: The problem's folder (`Catalogue.entry(id).folder`).
            sizes: Named sizes.
            call: Seed, guard and poison (`cases.schedule_verification`).
            buffers: Where each pointer parameter of `solve` lies.

        Raises:
            OracleFailed: `failed` is `ipc` where device memory cannot be shared (pass files then), `memory` beyond the budget.
            BadProblem: The problem's folder is invalid.
        """
        return await self._ask(Prepare(call=_contents(folder, sizes, call, buffers)), Prepared)

    async def examine(
        self,
        folder: Path,
        sizes: SizeSet,
        call: ScheduledCall,
        buffers: Mapping[str, BufferAt],
        *,
        keep: bool = False,
        against_kept: bool = False,
    ) -> Examined:
        """Compares what a call left: guard zones and inputs unchanged, outputs right.

        Args:
            folder: As in `prepare`.
            sizes: As in `prepare`.
            call: As in `prepare`.
            buffers: As in `prepare`.
            keep: Keeps the outputs, for `against_kept` of a later call on the same inputs.
            against_kept: Looks for differences from what was kept, to the last bit.

        Raises:
            OracleFailed: As `prepare`.
            BadProblem: The reference fails or gives something else than its outputs.
        """
        contents = _contents(folder, sizes, call, buffers)
        return await self._ask(Examine(call=contents, keep=keep, against_kept=against_kept), Examined)

    async def forget(self) -> None:
        """Lets go of shared memory and of what was kept: before the executor frees its buffers or closes its context."""
        if self._worker is not None and self._worker.alive:
            await self._ask(Forget(), Forgotten)

    async def close(self) -> None:
        """Ends the process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    def abandon(self) -> None:
        """Ends the process without waiting for its end: for a caller that was cancelled and may not wait."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.abandon()

    async def _ask(self, request: Frozen, kind: type[Answer]) -> Answer:
        async with self._turn:
            return await (await self._started()).ask(request, kind, self._timeout_s)

    async def _launched(self) -> "Worker":
        if self._worker is None or not self._worker.alive:
            await self.close()
            worker = self._worker = Worker()
            self._met.clear()
            self._has_device = False
            await worker.start(self._environment, self._idle_s, self._open.arrays)
        return self._worker

    async def _started(self) -> "Worker":
        worker = await self._launched()
        if not self._has_device:
            self.opened = await worker.ask(self._open, Opened, START_S)
            self._has_device = True
        return worker


def _contents(folder: Path, sizes: SizeSet, call: ScheduledCall, buffers: Mapping[str, BufferAt]) -> CallContents:
    return CallContents(
        folder=str(folder),
        sizes=sizes,
        seed=call.inputs_key.hex(),
        index=call.seed_index,
        poison=call.poison,
        guard=call.guard.hex(),
        guard_bytes=GUARD_BYTES,
        buffers=dict(buffers),
    )
