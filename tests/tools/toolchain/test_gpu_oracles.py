"""Who gets which oracle, with oracles that do nothing."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from cudanalyst.tools.toolchain.gpu_oracles import MOST_ORACLES, Oracles

pytestmark = pytest.mark.anyio


def parts(**memory_gib: int) -> SimpleNamespace:
    """A machine with such devices."""
    return SimpleNamespace(
        devices=[SimpleNamespace(uuid=name, memory_bytes=gib << 30) for name, gib in memory_gib.items()]
    )


PARTS = parts()


class Oracle:
    """Has met what it was lent for."""

    def __init__(self) -> None:
        self.met: set[str] = set()
        self.launched = 0

    async def launch(self) -> None:
        self.launched += 1

    def has_met(self, problem: str) -> bool:
        return problem in self.met

    async def close(self) -> None:
        pass


@pytest.fixture
def oracles(monkeypatch) -> Oracles:
    monkeypatch.setattr(Oracles, "possible", lambda *_: True)
    monkeypatch.setattr("cudanalyst.tools.toolchain.gpu_oracles.GpuOracle", lambda **_: Oracle())
    return Oracles()


async def use(oracles: Oracles, problem: str) -> Oracle:
    async with oracles.lend(PARTS, "GPU-1", problem) as oracle:
        oracle.met.add(problem)
        return oracle


async def test_the_one_that_has_met_the_problem_is_lent_first(oracles):
    async with oracles.lend(PARTS, "GPU-1", "softmax") as first, oracles.lend(PARTS, "GPU-1", "matmul") as second:
        first.met.add("softmax")
        second.met.add("matmul")
    assert await use(oracles, "softmax") is first
    assert await use(oracles, "matmul") is second
    assert await use(oracles, "softmax") is first
    # Of those that have not, the one that was used last: the others may rest until they end.
    assert await use(oracles, "reduction") is first
    assert oracles.opened("GPU-1") == 2
    assert first.launched  # by `lend`, so outside any turn of the borrower's


async def test_there_are_only_so_many_and_who_comes_later_waits(oracles):
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(MOST_ORACLES):
            await stack.enter_async_context(oracles.lend(PARTS, "GPU-1", "softmax"))
        waiting = asyncio.create_task(use(oracles, "softmax"))
        await asyncio.sleep(0)
        assert not waiting.done()
        async with oracles.lend(PARTS, "GPU-2", "softmax"):
            pass
    assert (await waiting).has_met("softmax")
    assert oracles.opened("GPU-1") == MOST_ORACLES
    assert oracles.opened("GPU-2") == 1
    await oracles.close()


@pytest.mark.parametrize(("gib", "most"), [(139, MOST_ORACLES), (96, 4), (24, 3)])
async def test_how_many_there_are_depends_on_the_devices_memory(oracles, gib, most):
    machine = parts(G=gib)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(most):
            await stack.enter_async_context(oracles.lend(machine, "G", "softmax"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), oracles.lend(machine, "G", "softmax"):
                pass
