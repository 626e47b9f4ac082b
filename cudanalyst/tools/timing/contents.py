"""What buffers hold during a comparison, and whether calls left the right things there: by this process, or by the oracle on the device."""

import asyncio
import mmap
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import POISON_BYTES, Inputs, PoisonPattern, nbytes_of
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.cases import plan_timed, schedule_timed, timed_inputs
from cudanalyst.tools.ending import Verdict
from cudanalyst.tools.gpu.oracle_client import GpuOracle, OracleFailed
from cudanalyst.tools.gpu.oracle_messages import BufferAt
from cudanalyst.tools.gpu.oracle_verify import verdict_of
from cudanalyst.tools.judge import Raw, judge_call
from cudanalyst.tools.timing.models import Fault
from cudanalyst.tools.timing.rig import Flaw
from cudanalyst.tools.toolchain.executor_session import Executor

_PUT: Final = "put-"
_LEFT: Final = "left-"
_TURNS: Final = 2
"""Readings of a buffer that have files of their own: the device need not wait until the one before is compared."""
_PIECE_BYTES: Final = 1 << 18
_MOST_PIECES: Final = 512
"""Of one write; Linux takes 1024."""


@dataclass(frozen=True)
class Access:
    """Reaches the buffers of an executor, guard zones included."""

    executor: Executor
    folder: Path
    """Files pass through it. Each buffer has its own, which are written again and again: new pages are what a file costs."""

    async def write(self, buffer: str, pieces: Sequence[Raw]) -> None:
        """Fills a whole allocation with what the pieces are together."""
        path = self.folder / f"{_PUT}{buffer}"
        await asyncio.to_thread(_write, path, pieces)
        await self.executor.upload(buffer, path)

    async def read(self, buffer: str, turn: int) -> Path:
        """A whole allocation, in a file that the next reading of it in the same `turn` overwrites."""
        path = self.folder / f"{_LEFT}{turn}-{buffer}"
        await self.executor.command("download", buffer, path, 0)
        return path

    def clear(self) -> None:
        """Removes the files: those of other sizes, and inputs that host code which is yet to be recorded must not see."""
        for prefix in (_PUT, _LEFT):
            for path in self.folder.glob(f"{prefix}*"):
                path.unlink()


def _write(path: Path, pieces: Sequence[Raw]) -> None:
    waiting = [memoryview(piece) for piece in pieces if len(piece)]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.ftruncate(descriptor, sum(len(piece) for piece in waiting))
        offset = 0
        while waiting:
            written = os.pwritev(descriptor, waiting[:_MOST_PIECES], offset)
            offset += written
            while waiting and written >= len(waiting[0]):
                written -= len(waiting.pop(0))
            if written:
                waiting[0] = waiting[0][written:]
    finally:
        os.close(descriptor)


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ))


class Contents(Protocol):
    """Contents by number: equal numbers mean equal inputs."""

    @property
    def beside(self) -> bool:
        """Whether several sets may be filled, or collected, at the same time."""

    async def foresee(self, numbers: Iterable[int]) -> None:
        """Makes these contents, as far as that needs no device."""

    async def put(self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern) -> None:
        """Fills the buffers (by parameter) of one set: inputs, poison in outputs, guard zones around all of them."""

    async def collect(
        self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern
    ) -> Awaitable[Flaw | None]:
        """Takes from the device what shows whether anything is wrong with the buffers after a call; the answer may take longer."""

    async def forget(self) -> None:
        """Lets go of the executor's memory."""


@dataclass
class HostContents:
    """Made, and compared, in this process with NumPy: for sizes at which that takes milliseconds."""

    problem: Problem
    sizes: SizeSet
    secret: bytes
    expected: Callable[[str, Inputs, Mapping[str, int]], Mapping[str, Array]]
    _drawn: dict[int, asyncio.Task[tuple[Inputs, Mapping[str, Array]]]] = field(default_factory=dict)
    _judging: dict[tuple[frozenset[str], int], asyncio.Task[Flaw | None]] = field(default_factory=dict)
    """The last two of each set of buffers, by turn: each reads files that are written again two turns later."""
    _turns: Counter[frozenset[str]] = field(default_factory=Counter)

    def begin(self, numbers: Iterable[int]) -> None:
        """Starts to make contents and references, while a device is made ready for them."""
        for number in numbers:
            self._inputs(number)

    async def drawn(self) -> None:
        """Waits until what was begun is there: a device should not be held meanwhile."""
        await asyncio.gather(*self._drawn.values())

    async def foresee(self, numbers: Iterable[int]) -> None:
        """Draws them in threads."""
        await asyncio.gather(*(self._inputs(number) for number in numbers))

    def _inputs(self, number: int) -> asyncio.Task[tuple[Inputs, Mapping[str, Array]]]:
        if number not in self._drawn:
            self._drawn[number] = asyncio.create_task(asyncio.to_thread(self._make, number))
        return self._drawn[number]

    def _make(self, number: int) -> tuple[Inputs, Mapping[str, Array]]:
        inputs = timed_inputs(self.problem, self.sizes, self.secret, number)
        return inputs, self.expected(self.problem.id, inputs, self.sizes)

    @property
    def beside(self) -> bool:
        """Files are written, and outputs compared, in threads."""
        return True

    async def put(self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern) -> None:
        """Uploads what is drawn here."""
        inputs, _ = await self._inputs(number)
        call = plan_timed(self.problem, self.secret, number, pattern, inputs)
        sizes = {item.name: nbytes_of(item, self.sizes) for item in self.problem.parameters if item.name in buffers}
        for name, buffer in buffers.items():
            body = [call.uploads[name]] if name in call.uploads else _poison(pattern, sizes[name])
            await access.write(buffer, [call.guard, *body, call.guard])

    async def collect(
        self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern
    ) -> Awaitable[Flaw | None]:
        """Downloads; compares as a verification does, in a thread."""
        inputs, reference = await self._inputs(number)
        mine = frozenset(buffers.values())
        turn, self._turns[mine] = self._turns[mine] % _TURNS, self._turns[mine] + 1
        if (before := self._judging.get((mine, turn))) is not None:
            await asyncio.wait([before])
        left = {name: await access.read(buffer, turn) for name, buffer in buffers.items()}

        def judged() -> Flaw | None:
            call = plan_timed(self.problem, self.secret, number, pattern, inputs)
            download = {name: _mapped(path) for name, path in left.items()}
            return flaw_of(judge_call(self, call, download, reference))

        task = self._judging[mine, turn] = asyncio.create_task(asyncio.to_thread(judged))
        return task

    async def forget(self) -> None:
        """Drops what was begun and is not needed."""
        tasks = [*self._drawn.values(), *self._judging.values()]
        self._drawn.clear()
        self._judging.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _poison(pattern: PoisonPattern, size: int) -> list[Raw]:
    """As many bytes of poison, in pieces that are the same memory."""
    piece = bytes([POISON_BYTES[pattern]]) * min(size, _PIECE_BYTES)
    whole, rest = divmod(size, _PIECE_BYTES)
    return [*[piece] * whole, piece[:rest]] if whole else [piece]


@dataclass
class OracleContents:
    """Made, and compared, by the oracle's process: on the device where memory can be shared, else through files."""

    oracle: GpuOracle
    folder: Path
    """Of the problem."""
    sizes: SizeSet
    secret: bytes
    _files: bool = False

    @property
    def beside(self) -> bool:
        """Its process does one thing at a time."""
        return False

    async def foresee(self, numbers: Iterable[int]) -> None:
        """Everything is made where it lies."""

    async def _at(self, access: Access, buffers: Mapping[str, str]) -> dict[str, BufferAt]:
        if self._files:
            return {name: BufferAt(path=str(access.folder / f"shared-{name}")) for name in buffers}
        found = {}
        for name, buffer in buffers.items():
            answer = await access.executor.command("share", buffer)
            found[name] = BufferAt(handle=answer["handle"], offset=answer["offset"])
        return found

    async def put(self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern) -> None:
        """Has them filled where they lie; through files once that is refused."""
        call = schedule_timed(self.secret, number, pattern)
        at = await self._at(access, buffers)
        try:
            await self.oracle.prepare(self.folder, self.sizes, call, at)
        except OracleFailed as error:
            if error.failed != "ipc" or self._files:
                raise
            self._files = True
            at = await self._at(access, buffers)
            await self.oracle.prepare(self.folder, self.sizes, call, at)
        if self._files:
            for name, buffer in buffers.items():
                await access.executor.upload(buffer, Path(str(at[name].path)))

    async def collect(
        self, access: Access, buffers: Mapping[str, str], number: int, pattern: PoisonPattern
    ) -> Awaitable[Flaw | None]:
        """Has them compared where they lie."""
        at = await self._at(access, buffers)
        if self._files:
            for name, buffer in buffers.items():
                await access.executor.download(buffer, Path(str(at[name].path)))
        call = schedule_timed(self.secret, number, pattern)
        known: asyncio.Future[Flaw | None] = asyncio.get_running_loop().create_future()
        known.set_result(flaw_of(verdict_of(await self.oracle.examine(self.folder, self.sizes, call, at))))
        return known

    async def forget(self) -> None:
        """Closes shared memory, before the executor frees it."""
        await self.oracle.forget()


def flaw_of(verdict: Verdict) -> Flaw | None:
    """A verdict on one call in the words of a comparison."""
    if verdict.status == "passed":
        return None
    fault: Fault = "contract_violation" if verdict.status == "contract_violation" else "wrong"
    return Flaw(fault, verdict.message or verdict.status)
