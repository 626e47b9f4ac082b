"""What of a comparison has the device to itself."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from cudanalyst.tools.gpu.lease import Lease, Mode
from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.gpu.turns import LeasedTurns
from cudanalyst.tools.timing.compare import Settings, compare
from tests.tools.timing.conftest import Connection, FakeRig

pytestmark = pytest.mark.anyio
TIMED = {"time", "stamp", "preheat", "overhead", "bandwidth"}


@contextlib.asynccontextmanager
async def hold(mode: Mode) -> AsyncIterator[Lease]:
    yield Lease("GPU-1", 0.0, mode, -1)


@pytest.mark.parametrize("mode", ["warm", "cold", "cold_data"])
async def test_whatever_is_timed_is_alone_and_preparing_and_checking_are_not(machine, monkeypatch, mode) -> None:
    turns = LeasedTurns(hold)
    heard: list[tuple[str, str | None]] = []
    command = Connection.command

    async def listen(self, *words, **options):
        heard.append((str(words[0]), turns.mode))
        return await command(self, *words, **options)

    monkeypatch.setattr(Connection, "command", listen)
    placed: list[str | None] = []
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "50 0.002", "B": "50 0.002"})
        fill = rig.fill

        async def filling(*arguments) -> None:
            placed.append(turns.mode)
            await fill(*arguments)

        rig.fill = filling
        settings = Settings(
            mode=mode, kernels=machine.own_kernels(), state=lambda: DeviceState(processes=(), mps=False), turns=turns
        )
        async with turns.shared():
            result, _ = await compare(rig, settings)
            assert turns.mode == "shared"
    assert result.verdict in {"same", "inconclusive"}
    assert {held for word, held in heard if word in TIMED - {"time"}} == {"exclusive"}
    # One block is only looked at for its outputs; its time is not.
    assert [held for word, held in heard if word == "time"].count("shared") == 1
    assert set(placed) == {"shared"}
    assert ("kernels", "shared") in heard
