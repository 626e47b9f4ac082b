"""Two sizes of one kernel as the rig of a comparison: what `compare` times here in place of a candidate and its baseline."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from cudanalyst.tools.timing.rig import Flaw, Side
from cudanalyst.tools.timing.schedule import COLD_PLACEMENTS
from cudanalyst.tools.toolchain.executor import Executor

SETS = 4
GUARD = 4096


@dataclass(frozen=True)
class Work:
    """A kernel's size."""

    vectors: int
    passes: int


@dataclass
class Rig:
    """Two sizes of one kernel, each loaded as a module of its own."""

    executor: Executor
    image: Path
    folder: Path
    work: dict[Side, Work]
    sets: int = SETS
    repeatable: bool = True
    light: bool = True
    most_placements: int = COLD_PLACEMENTS
    looked: bool = False
    """Whether outputs are compared: once a case, since it takes longer than a comparison."""
    _at: dict[str, int] = field(default_factory=dict)

    async def place(self, placement: int, first: Side) -> None:
        """Loads the module twice, and writes the traces that a recorder would."""
        if not self._at:
            size = 16 * max(work.vectors for work in self.work.values())
            for name in (f"{letter}{index}" for index in range(self.sets) for letter in "abc"):
                self._at[name] = await self.executor.buffer(name, size, GUARD)
        for side in (first, "B" if first == "A" else "A"):
            slot = f"{side}{placement}"
            await self.executor.module(slot, self.image)
            for index, name in enumerate(self.traces(side, placement)):
                path = self.folder / f"{slot}.{index}"
                path.write_text(self._trace(self.work[side], index))
                await self.executor.trace(name, slot, path)

    def _trace(self, work: Work, index: int) -> str:
        pointers = [self._at[f"{letter}{index}"].to_bytes(8, "little").hex() for letter in "abc"]
        numbers = [work.vectors.to_bytes(8, "little").hex(), work.passes.to_bytes(4, "little").hex()]
        launch = ["launch work", str(-(-work.vectors // 256)), "1 1 256 1 1 0 0 0 5", *pointers, *numbers]
        return f"cudanalyst-trace 1\n{' '.join(launch)}\nend 0\n"

    def traces(self, side: Side, placement: int) -> tuple[str, ...]:
        """By set."""
        return tuple(f"{side}{placement}.{index}" for index in range(self.sets))

    async def foresee(self, contents: Sequence[int]) -> None:
        """Contents are made where they lie."""

    async def fill(self, contents: Sequence[int], pattern: Literal[0, 1]) -> None:
        """Random numbers from the content's number, made on the device."""
        elements = 4 * max(work.vectors for work in self.work.values())
        for index, number in enumerate(contents):
            for seed, letter in enumerate("ab"):
                await self.executor.command("random", f"{self._at[f'{letter}{index}']:x}", elements, 2 * number + seed)
        await self.poison(pattern)

    async def poison(self, pattern: Literal[0, 1]) -> None:
        """A byte that no sum is made of."""
        for index in range(self.sets):
            await self.executor.fill(f"c{index}", (0x7F, 0xFE)[pattern])

    async def touch(self) -> None:
        """Reads everything on the device."""
        size = 16 * max(work.vectors for work in self.work.values())
        for address in self._at.values():
            await self.executor.command("touch", f"{address:x}", size)

    async def collect(self, contents: Sequence[int], *, spot: bool = False) -> asyncio.Future[Flaw | None]:
        """As `check`, which is done at once."""
        known: asyncio.Future[Flaw | None] = asyncio.get_running_loop().create_future()
        known.set_result(await self.check(contents, spot=spot))
        return known

    async def check(self, contents: Sequence[int], *, spot: bool = False) -> Flaw | None:  # noqa: ARG002 - compares what the device was given
        """Compares one set in full; the sum of two floats is exact in float32's own rounding."""
        if self.looked or 16 * self.work["A"].vectors > 1 << 26:
            return None
        arrays = []
        for letter in "abc":
            path = self.folder / "contents"
            await self.executor.download(f"{letter}0", path)
            arrays.append(np.fromfile(path, dtype="<f4", offset=GUARD, count=4 * self.work["A"].vectors))
        return None if np.array_equal(arrays[0] + arrays[1], arrays[2]) else Flaw("wrong", "c is not a + b")
