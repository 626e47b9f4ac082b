"""How long a call held a GPU."""

import asyncio

import pytest

from cudanalyst.tools.device_time import count_device_time, device_time
from cudanalyst.tools.gpu.lease import Leases

pytestmark = pytest.mark.anyio


async def test_leases_that_are_held_are_counted_for_the_call_and_its_tasks(tmp_path):
    leases = Leases(tmp_path)

    async def use():
        async with leases.hold(["GPU-1"], wait_s=30):
            await asyncio.sleep(0)

    with device_time() as counted:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(use())
    await use()
    assert len(counted) == 3
    assert all(seconds >= 0 for seconds in counted)


async def test_nobody_asks_and_nothing_is_kept():
    count_device_time(1.0)
    with device_time() as counted:
        pass
    assert counted == []
