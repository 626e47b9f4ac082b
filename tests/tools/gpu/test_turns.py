import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from cudanalyst.tools.gpu.lease import Lease, LeaseTimedOut, Mode
from cudanalyst.tools.gpu.turns import Held, LeasedTurns

pytestmark = pytest.mark.anyio


class Log:
    """Leases that note what is done with them."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.refuses = False

    @contextlib.asynccontextmanager
    async def hold(self, mode: Mode) -> AsyncIterator[Lease]:
        if self.refuses:
            raise LeaseTimedOut(1.0, 1, "")
        self.said.append(f"takes {mode}")
        try:
            yield Lease("GPU-1", 0.0, mode, -1)
        finally:
            self.said.append(f"gives {mode}")


async def test_an_exclusive_turn_within_a_shared_one_takes_its_place_for_a_while():
    log = Log()
    turns = LeasedTurns(log.hold)
    async with turns.shared():
        async with turns.shared():
            assert log.said == ["takes shared"]
        async with turns.exclusive(), turns.shared():
            assert turns.mode == "exclusive"
        assert turns.mode == "shared"
    assert turns.mode is None
    assert log.said == [
        "takes shared", "gives shared", "takes exclusive", "gives exclusive", "takes shared", "gives shared",
    ]  # fmt: skip


async def test_nothing_is_held_while_away():
    log = Log()
    turns = LeasedTurns(log.hold)
    async with turns.shared():
        async with turns.away():
            assert turns.mode is None
        assert turns.mode == "shared"
    assert log.said == ["takes shared", "gives shared", "takes shared", "gives shared"]


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_after_a_failure_an_exclusive_turn_lasts_until_whoever_began_has_cleaned_up(error):
    log = Log()
    turns = LeasedTurns(log.hold)

    async def fails() -> None:
        async with turns.shared():
            try:
                async with turns.exclusive():
                    raise error
            finally:
                log.said.append("cleans up")

    with pytest.raises(error):
        await fails()
    assert log.said[-2:] == ["cleans up", "gives exclusive"]
    assert turns.mode is None


async def test_after_a_failure_away_the_turn_is_taken_again_but_not_when_cancelled():
    log = Log()
    turns = LeasedTurns(log.hold)
    async with turns.shared():
        with pytest.raises(ValueError, match="refused"):
            async with turns.away():
                raise ValueError("refused")
        assert turns.mode == "shared"
        with pytest.raises(asyncio.CancelledError):
            async with turns.away():
                raise asyncio.CancelledError
        assert turns.mode is None
    assert turns.mode is None


async def test_a_turn_that_does_not_come_leaves_none_held():
    log = Log()
    turns = LeasedTurns(log.hold)

    async def waits() -> None:
        async with turns.shared():
            log.refuses = True
            async with turns.exclusive():
                pytest.fail("it was refused")

    with pytest.raises(LeaseTimedOut):
        await waits()
    assert turns.mode is None
    assert log.said == ["takes shared", "gives shared"]


async def test_who_holds_the_device_anyway_waits_for_nothing():
    held = Held()
    async with held.shared(), held.exclusive(), held.away():
        assert held.waited_s == 0
