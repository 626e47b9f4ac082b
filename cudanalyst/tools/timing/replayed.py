"""Two builds in one context, recorded in the sandbox and replayed by the executor: the rig of a real comparison.

Both sides share their buffer sets. Each has a workspace, and memory for `init`, of its own. A module without variables in global or constant
memory records the same traces wherever it is loaded, so these are recorded once; otherwise every copy is recorded, and initialised,
by itself.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.inputs import POISON_BYTES, nbytes_of, scalar_of
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.cases import GUARD_BYTES, parameters_of
from cudanalyst.tools.timing.contents import Access, Contents
from cudanalyst.tools.timing.models import Fault
from cudanalyst.tools.timing.rig import Flaw, Side, SideFailed
from cudanalyst.tools.timing.schedule import COLD_PLACEMENTS
from cudanalyst.tools.toolchain.executor_session import Device, Executor, ExecutorFailed
from cudanalyst.tools.toolchain.recording import Recorder, Recording, ask_workspace, exports, record
from cudanalyst.tools.toolchain.replaying import ARENA_BYTES, Code, load_module, make_table
from cudanalyst.tools.trace.read import Junk, Operations, Reading
from cudanalyst.tools.trace.records import Refusal
from cudanalyst.tools.trace.table import BufferSet, Region, Table

_Done = TypeVar("_Done")
SETS: Final = 4
RECORDED_PLACEMENTS: Final = 8
"""Copies of modules that have to be recorded each."""
MEMORY_SHARE: Final = 0.7
"""Of the device's memory, for the buffer sets."""
_POISON: Final = (0xA5, 0x5C)
"""What workspaces hold."""


@dataclass
class _Loaded:
    """What one side needs beside its modules."""

    code: Code
    regions: Mapping[str, Region] | None = None
    """Workspace and memory of `init`; None before the first placement."""
    files: tuple[Path, ...] | None = None
    """Traces of the sets, where they serve every placement."""


@dataclass
class ReplayedRig:
    """Implements `rig.Rig` with record and replay."""

    executor: Executor
    device: Device
    recorder: Recorder
    problem: Problem
    sizes: SizeSet
    candidate: Code
    baseline: Code
    contents: Contents
    folder: Path
    """Where traces and contents pass through."""
    ends_at: float
    """On the monotonic clock."""
    waited: Callable[[], float] = lambda: 0.0
    """Seconds that were waited for the device, which come on top of `ends_at`."""
    sets: int = SETS
    chance: random.Random = field(default_factory=random.SystemRandom)
    _pattern: Literal[0, 1] = 0
    _addresses: dict[str, int] = field(default_factory=dict)
    _sides: dict[Side, _Loaded] = field(default_factory=dict)

    @property
    def repeatable(self) -> bool:
        """No parameter is both in and out."""
        return all(parameter.role != "inout" for parameter in self.problem.parameters)

    @property
    def light(self) -> bool:
        """Contents that this process makes are small: `extent.is_large` sizes have an oracle."""
        return self.contents.beside

    @property
    def most_placements(self) -> int:
        """Few where every copy is recorded by itself."""
        shared = all(loaded.files is not None for loaded in self._sides.values())
        return COLD_PLACEMENTS if shared else RECORDED_PLACEMENTS

    @property
    def _sized(self) -> dict[str, int]:
        return {item.name: nbytes_of(item, self.sizes) for item in self.problem.parameters if item.role != "scalar"}

    def _buffers(self, index: int) -> dict[str, str]:
        return {name: f"{name}@{index}" for name in self._sized}

    @property
    def _access(self) -> Access:
        return Access(self.executor, self.folder)

    def _left(self) -> float:
        return max(0.01, self.ends_at + self.waited() - time.monotonic())

    async def _allocate(self) -> None:
        if self._addresses:
            return
        self._access.clear()
        needed = self.sets * sum(self._sized.values())
        if self.device.total_bytes and needed > MEMORY_SHARE * self.device.total_bytes:
            raise Unavailable(f"{self.sets} buffer sets of this size need {needed} bytes of device memory")
        wanted = [
            (f"{name}@{index}", size, GUARD_BYTES) for index in range(self.sets) for name, size in self._sized.items()
        ]
        self._addresses = dict(zip((name for name, _, _ in wanted), await self.executor.buffers(wanted), strict=True))
        self._sides = {"A": _Loaded(self.candidate), "B": _Loaded(self.baseline)}

    async def place(self, placement: int, first: Side) -> None:
        """Loads and records both sides; see `rig.Rig`."""
        await self._allocate()
        for side in (first, _other(first)):
            await self._place(side, placement)

    async def _place(self, side: Side, placement: int) -> None:
        loaded = self._sides[side]
        code, slot = loaded.code, f"{side}{placement}"
        module = await load_module(self.executor, slot, code)
        files = loaded.files
        if files is None:
            table = make_table(code, self.device, module, parameters=parameters_of(self.problem), sizes=self.sizes)
            if loaded.regions is None:
                loaded.regions = await self._regions(side, code, table)
            files = await self._record(side, slot, _with(table, loaded.regions, self._table_sets()))
            if not module.symbols:
                loaded.files = files
        names = self.traces(side, placement)
        await self.executor.commands([("trace", name, slot, file) for name, file in zip(names, files, strict=True)])

    async def _regions(self, side: Side, code: Code, table: Table) -> dict[str, Region]:
        regions: dict[str, Region] = {}
        if exports(code.library, "init"):
            regions["arena"] = Region(await self.executor.buffer(f"arena.{side}", ARENA_BYTES), ARENA_BYTES)
        if exports(code.library, "workspace_bytes"):
            answer = await ask_workspace(self.recorder, _with(table, regions), timeout_s=self._left())
            if answer.refusal is not None:
                raise SideFailed(side, f"{answer.refusal.call}: {answer.refusal.text}", _fault_of(answer.refusal))
            if answer.bytes is None:
                raise SideFailed(side, "workspace_bytes gave no answer", "contract_violation")
            address = await self.executor.buffer(f"workspace.{side}", answer.bytes, GUARD_BYTES)
            regions["workspace"] = Region(address, answer.bytes)
        return regions

    def _table_sets(self) -> tuple[BufferSet, ...]:
        values = {item.name: scalar_of(item, self.sizes) for item in self.problem.parameters if item.role == "scalar"}
        return tuple(
            BufferSet(
                {name: Region(self._addresses[f"{name}@{index}"], size) for name, size in self._sized.items()}, values
            )
            for index in range(self.sets)
        )

    async def _record(self, side: Side, slot: str, table: Table) -> tuple[Path, ...]:
        self._access.clear()
        recording = await record(self.recorder, table, timeout_s=self._left(), settings={})
        if recording.init is not None:
            init = _operations(side, recording.init, recording)
            if init.operations:
                path = self.folder / f"{slot}.init.trace"
                path.write_bytes(init.canonical)
                await self.executor.trace(f"{slot}.init", slot, path)
                await self.executor.call(f"{slot}.init", limit_s=self._left())
        files = []
        for index, reading in enumerate(recording.calls):
            path = self.folder / f"{slot}.{index}.trace"
            path.write_bytes(_operations(side, reading, recording).canonical)
            files.append(path)
        return tuple(files)

    def traces(self, side: Side, placement: int) -> tuple[str, ...]:
        """Names by set."""
        return tuple(f"{side}{placement}.{index}" for index in range(self.sets))

    async def foresee(self, contents: Sequence[int]) -> None:
        """Has them drawn, where this process draws them."""
        await self.contents.foresee(contents)

    async def fill(self, contents: Sequence[int], pattern: Literal[0, 1]) -> None:
        """Puts contents into every set, and poison into outputs and workspaces."""
        self._pattern = pattern
        await self._each(
            self.contents.put(self._access, self._buffers(index), number, pattern)
            for index, number in enumerate(contents)
        )
        await self._poison_workspaces(pattern)

    async def poison(self, pattern: Literal[0, 1]) -> None:
        """Poisons outputs on the device, and leaves guard zones and inputs alone."""
        self._pattern = pattern
        outputs = [item.name for item in self.problem.parameters if item.role == "out"]
        await self.executor.commands(
            [
                ("poison", f"{self._addresses[f'{name}@{index}']:x}", self._sized[name], POISON_BYTES[pattern])
                for index in range(self.sets)
                for name in outputs
            ]
        )
        await self._poison_workspaces(pattern)

    async def _poison_workspaces(self, pattern: Literal[0, 1]) -> None:
        for side, loaded in self._sides.items():
            if loaded.regions and "workspace" in loaded.regions:
                await self.executor.fill(f"workspace.{side}", _POISON[pattern])

    async def touch(self) -> None:
        """Reads every buffer on the device."""
        await self.executor.commands(
            [
                ("touch", f"{address:x}", self._sized[name.partition("@")[0]])
                for name, address in self._addresses.items()
            ]
        )

    async def _each(self, work: Iterable[Coroutine[Any, Any, _Done]]) -> list[_Done]:
        """Does the same for several sets; nobody is interrupted in the middle of a command where another fails."""
        if not self.contents.beside:
            return [await one for one in work]
        done = await asyncio.gather(*work, return_exceptions=True)
        for one in done:
            if isinstance(one, BaseException):
                raise one
        return [one for one in done if not isinstance(one, BaseException)]

    async def check(self, contents: Sequence[int], *, spot: bool = False) -> Flaw | None:
        """The first thing that is wrong; with `spot`, in one set of a large size."""
        return await (await self.collect(contents, spot=spot))

    async def collect(self, contents: Sequence[int], *, spot: bool = False) -> Awaitable[Flaw | None]:
        """As `check`, but what needs no device goes on while the caller has other work for it."""
        chosen = list(enumerate(contents))
        if spot and is_large(self.problem, self.sizes):
            chosen = [self.chance.choice(chosen)]
        found = await self._each(
            self.contents.collect(self._access, self._buffers(index), number, self._pattern) for index, number in chosen
        )
        return asyncio.ensure_future(_first(found))  # also where nobody comes back for it


async def _first(found: Sequence[Awaitable[Flaw | None]]) -> Flaw | None:
    flaws = [await one for one in found]
    return next((flaw for flaw in flaws if flaw is not None), None)


def crashed(error: ExecutorFailed) -> Flaw | None:
    """What a failure of the executor while calls were timed says of the candidate; None where it says nothing."""
    if error.command in {"time", "call"} and error.kind == "cuda":
        return Flaw("crashed", f"in a timed call: {error.message}")
    if error.command in {"time", "call"} and error.kind == "timed_out":
        return Flaw("timed_out", "a timed call did not end in time")
    return None


def _other(side: Side) -> Side:
    return "B" if side == "A" else "A"


def _with(table: Table, regions: Mapping[str, Region], sets: tuple[BufferSet, ...] = ()) -> Table:
    return replace(table, arena=regions.get("arena"), workspace=regions.get("workspace"), sets=sets)


def _operations(side: Side, reading: Reading | None, recording: Recording) -> Operations:
    """A trace that may be timed.

    Raises:
        SideFailed: There is none; says whose fault that is.
    """
    if isinstance(reading, Refusal):
        raise SideFailed(side, reading.message, _fault_of(reading))
    if reading is None or (isinstance(reading, Junk) and reading.unfinished and recording.ended_badly):
        if recording.process.timed_out:  # of what was left of the comparison's time, which is not all its own
            raise SideFailed(side, "its host code did not end in what was left of the time for the comparison")
        raise SideFailed(side, "its host code ended before it had recorded a call", "crashed")
    if isinstance(reading, Junk):
        raise SideFailed(side, reading.reason, "contract_violation")
    if reading.status or reading.error is not None:
        raise SideFailed(side, f"solve returned {reading.status}", "crashed")
    return reading


def _fault_of(refusal: Refusal) -> Fault | None:
    return "contract_violation" if refusal.kind == "contract" else None
