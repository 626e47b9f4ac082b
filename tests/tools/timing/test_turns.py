"""What of a comparison has the device to itself."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cudanalyst.tools.gpu.lease import Lease, Mode
from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.gpu.turns import LeasedTurns
from cudanalyst.tools.timing.commands import Preheat, load_kernels
from cudanalyst.tools.timing.compare import compare
from cudanalyst.tools.timing.conclude import Settings
from cudanalyst.tools.timing.models import Comparison
from cudanalyst.tools.timing.warmth import STAYS_WARM_S, Warmth
from tests.tools.timing.conftest import Connection, FakeRig

pytestmark = pytest.mark.anyio
TIMED = {"time", "stamp", "preheat", "overhead", "bandwidth"}


@contextlib.asynccontextmanager
async def hold(mode: Mode) -> AsyncIterator[Lease]:
    yield Lease("GPU-1", 0.0, mode, -1)


@dataclass
class Seen:
    """Commands, and fillings of the buffers, with the turn in which each was given."""

    heard: list[tuple[str, str | None]] = field(default_factory=list)
    filled: list[str | None] = field(default_factory=list)
    foreseen: list[str | None] = field(default_factory=list)
    taken: list[Mode] = field(default_factory=list)


async def compared(machine, monkeypatch, mode: str, *, light: bool, a: str = "50 0.002") -> tuple[Comparison, Seen]:
    """A comparison of a caller who takes a turn only for what needs one."""
    seen = Seen()

    @contextlib.asynccontextmanager
    async def hold(mode: Mode) -> AsyncIterator[Lease]:
        seen.taken.append(mode)
        yield Lease("GPU-1", 0.0, mode, -1)

    turns = LeasedTurns(hold)
    command = Connection.command

    async def listen(self, *words, **options):
        seen.heard.append((str(words[0]), turns.mode))
        return await command(self, *words, **options)

    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": a, "B": "50 0.002"}, light=light)
        fill, foresee = rig.fill, rig.foresee

        async def filling(*arguments) -> None:
            seen.filled.append(turns.mode)
            await fill(*arguments)

        async def foreseeing(*arguments) -> None:
            seen.foreseen.append(turns.mode)
            await foresee(*arguments)

        rig.fill, rig.foresee = filling, foreseeing
        settings = Settings(
            mode=mode, kernels=machine.own_kernels(), state=lambda: DeviceState(processes=(), mps=False), turns=turns
        )
        monkeypatch.setattr(Connection, "command", listen)
        async with turns.away():
            result, _ = await compare(rig, settings)
            assert turns.mode is None
        monkeypatch.undo()
    assert isinstance(result, Comparison)
    return result, seen


@pytest.mark.parametrize("mode", ["warm", "cold", "cold_data"])
async def test_whatever_is_timed_is_alone_and_preparing_and_checking_are_not(machine, monkeypatch, mode) -> None:
    result, seen = await compared(machine, monkeypatch, mode, light=False)
    assert result.verdict in {"same", "inconclusive"}
    assert {held for word, held in seen.heard if word in TIMED - {"time"}} == {"exclusive"}
    # One block is only looked at for its outputs; its time is not.
    assert [held for word, held in seen.heard if word == "time"].count("shared") == 1
    assert set(seen.filled) == {"shared"}
    assert ("kernels", "shared") in seen.heard
    assert {held for _, held in seen.heard} == {"exclusive", "shared"}


@pytest.mark.parametrize("mode", ["warm", "cold"])
async def test_what_takes_but_milliseconds_between_is_done_in_the_same_turn(machine, monkeypatch, mode) -> None:
    result, seen = await compared(machine, monkeypatch, mode, light=True)
    assert result.verdict in {"same", "inconclusive"}
    assert {held for word, held in seen.heard if word in TIMED} == {"exclusive"}
    assert seen.filled == ["shared", "exclusive"]
    # The first is for the calibration of a device that is new.
    assert seen.taken == ["shared", "exclusive", "shared", "exclusive"]


@pytest.mark.parametrize("light", [True, False])
async def test_contents_of_further_rounds_are_drawn_while_nobody_waits_for_the_device(
    machine, monkeypatch, light
) -> None:
    result, seen = await compared(machine, monkeypatch, "warm", light=light, a="50 0.002 saves=0.5")
    assert result.verdict == "suspicious"
    assert len(seen.foreseen) == 3
    assert set(seen.foreseen) == {None}
    assert seen.filled.count("shared") >= 3
    assert None not in seen.filled


async def test_the_time_for_which_the_device_was_held_is_told_and_no_other() -> None:
    now = [100.0]
    turns = LeasedTurns(hold, clock=lambda: now[0])
    async with turns.away():
        now[0] += 5
        async with turns.shared():
            now[0] += 1
            async with turns.exclusive():
                now[0] += 2
                assert turns.held_s == 3
        now[0] += 7
    assert turns.held_s == 3


async def test_a_device_is_heated_once_for_those_who_come_right_after_one_another(machine) -> None:
    now = [0.0]
    warmth = Warmth(clock=lambda: now[0])
    async with machine.start() as connection:
        await load_kernels(connection, machine.own_kernels())
        assert not warmth.lasts
        assert (await warmth.keep(connection)).milliseconds > 0
        now[0] += 0.9 * STAYS_WARM_S
        assert await warmth.keep(connection) == Preheat(0.0, steady=True)
        now[0] += 0.2 * STAYS_WARM_S  # nothing was timed since
        assert not warmth.lasts
        assert (await warmth.keep(connection, least_ms=0)).milliseconds > 0
        for _ in range(5):
            now[0] += 0.9 * STAYS_WARM_S
            assert warmth.lasts
            warmth.worked()
        # Who must be sure heats it anyway.
        assert (await warmth.heat(connection, least_ms=0)).milliseconds > 0


async def test_a_clock_that_did_not_settle_is_not_taken_for_warm(machine) -> None:
    warmth = Warmth(clock=lambda: 0.0)
    warmth.worked()
    assert not warmth.lasts
