import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.tools.gpu.lease import Leases, LeaseTimedOut, lease_folder

pytestmark = pytest.mark.anyio
CHILD = Path(__file__).parent / "children" / "hold.py"
GPU, OTHER = "GPU-1111", "GPU-2222"


@contextlib.contextmanager
def holder(
    folder: Path, uuids: str = GPU, rounds: int = 1, hold_s: float = -1, mode: str = "exclusive"
) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, str(CHILD), str(folder), str(folder / "log"), uuids, str(rounds), str(hold_s), mode]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(folder: Path) -> list[list[str]]:
    log = folder / "log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


async def until(folder: Path, *words: str) -> None:
    async with asyncio.timeout(30):
        while list(words) not in said(folder):
            await asyncio.sleep(0.005)


async def test_a_free_gpu_is_held_at_once_and_given_back(tmp_path):
    leases = Leases(tmp_path)
    for _ in range(3):
        async with leases.hold([GPU], wait_s=0) as lease:
            assert lease.uuid == GPU
            with pytest.raises(LeaseTimedOut, match=f"held by process {os.getpid()}"):
                async with Leases(tmp_path).hold([GPU], wait_s=0):
                    pass
    assert [path.name for path in tmp_path.iterdir()] == [f"cudanalyst-gpu-{GPU}.lock"]


async def test_waiters_get_it_in_the_order_in_which_they_came_and_hear_their_place(tmp_path):
    order: list[int] = []
    places: dict[int, list[int]] = {}

    async def client(number: int) -> None:
        places[number] = []
        # Each has leases of its own, as if it were another server.
        async with Leases(tmp_path).hold([GPU], wait_s=30, ahead=places[number].append):
            order.append(number)

    async with asyncio.TaskGroup() as group, Leases(tmp_path).hold([GPU], wait_s=0):
        for number in range(6):
            group.create_task(client(number))
            while not places.get(number):
                await asyncio.sleep(0)
        assert [places[number][0] for number in range(6)] == [1, 2, 3, 4, 5, 6]
        assert order == []
    assert order == [*range(6)]
    assert all(heard == sorted(heard, reverse=True) for heard in places.values())


async def test_a_cancelled_waiter_leaves_the_queue(tmp_path):
    leases = Leases(tmp_path)
    async with leases.hold([GPU], wait_s=0):
        waiting = asyncio.Event()

        async def wait() -> None:
            async with leases.hold([GPU], wait_s=60, ahead=lambda _: waiting.set()):
                pytest.fail("held twice")

        task = asyncio.create_task(wait())
        await waiting.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert not [path for path in tmp_path.iterdir() if "ticket" in path.name]
    async with leases.hold([GPU], wait_s=0):
        pass


async def test_whichever_gpu_is_free_first_is_taken(tmp_path):
    leases = Leases(tmp_path)
    async with leases.hold([GPU, OTHER], wait_s=0) as first, leases.hold([GPU, OTHER], wait_s=0) as second:
        assert {first.uuid, second.uuid} == {GPU, OTHER}
        with pytest.raises(LeaseTimedOut):
            async with leases.hold([GPU, OTHER], wait_s=0):
                pass


async def test_who_waits_for_one_gpu_does_not_stand_in_the_way_of_another(tmp_path):
    leases = Leases(tmp_path)
    async with leases.hold([GPU], wait_s=0):
        waiting = asyncio.Event()

        async def wait() -> None:
            async with leases.hold([GPU], wait_s=60, ahead=lambda _: waiting.set()):
                pass

        task = asyncio.create_task(wait())
        await waiting.wait()
        async with leases.hold([GPU, OTHER], wait_s=0) as lease:
            assert lease.uuid == OTHER
        with pytest.raises(LeaseTimedOut) as timed_out:
            async with leases.hold([GPU], wait_s=0):
                pass
        assert timed_out.value.ahead == 2
    await task


async def test_a_killed_holder_is_no_holder(tmp_path):
    with holder(tmp_path) as process:
        await until(tmp_path, str(process.pid), "holds", GPU, "exclusive")
        process.send_signal(signal.SIGKILL)
        async with Leases(tmp_path).hold([GPU], wait_s=20):
            pass


async def test_a_killed_waiter_blocks_nobody(tmp_path):
    leases = Leases(tmp_path)
    async with leases.hold([GPU], wait_s=0):
        with holder(tmp_path) as process:
            await until(tmp_path, str(process.pid), "waits", "1")
            assert [path for path in tmp_path.iterdir() if "ticket" in path.name]
            process.kill()
            process.wait()
    async with leases.hold([GPU], wait_s=0):
        pass
    assert not [path for path in tmp_path.iterdir() if "ticket" in path.name]


async def test_a_stopped_waiter_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("cudanalyst.tools.gpu.lease._STALE_S", 0.05)
    leases = Leases(tmp_path)
    with contextlib.ExitStack() as stack:
        async with leases.hold([GPU], wait_s=20):
            waiter = stack.enter_context(holder(tmp_path))
            await until(tmp_path, str(waiter.pid), "waits", "1")
            waiter.send_signal(signal.SIGSTOP)
        async with leases.hold([GPU], wait_s=20):
            pass


async def test_an_exclusive_lock_survives_a_child_that_inherited_it(tmp_path):
    async with Leases(tmp_path).hold([GPU], wait_s=0) as lease:
        child = subprocess.Popen(["sleep", "60"], pass_fds=(lease.descriptor,))  # noqa: ASYNC220
    try:
        async with Leases(tmp_path).hold([GPU], wait_s=0):  # given back in good order, whatever the child has open
            pass
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("gpus", [1, 2])
async def test_processes_never_hold_one_gpu_at_once(tmp_path, gpus):
    uuids = ",".join([GPU, OTHER][:gpus])
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(holder(tmp_path, uuids, rounds=8, hold_s=0.002)) for _ in range(4)]
        await asyncio.gather(*(asyncio.to_thread(process.wait) for process in processes))
    held: dict[str, str] = {}
    count = 0
    for pid, what, which, *_ in said(tmp_path):
        if what == "holds":
            assert which not in held
            held[which] = pid
            count += 1
        elif what == "leaves":
            assert held.pop(which) == pid
    assert count == 4 * 8
    assert held == {}


@settings(max_examples=25)
@given(wants=st.lists(st.sets(st.sampled_from(["GPU-a", "GPU-b", "GPU-c"]), min_size=1), min_size=1, max_size=8))
def test_everyone_is_served_once_and_nobody_is_overtaken_for_the_same_gpus(wants, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases")

    async def play() -> list[tuple[int, str]]:
        served: list[tuple[int, str]] = []
        inside: set[str] = set()

        async def client(number: int) -> None:
            async with Leases(folder).hold(sorted(wants[number]), wait_s=30) as lease:
                assert lease.uuid in wants[number]
                assert lease.uuid not in inside
                inside.add(lease.uuid)
                served.append((number, lease.uuid))
                await asyncio.sleep(0)
                inside.remove(lease.uuid)

        async with asyncio.TaskGroup() as group:
            for number in range(len(wants)):
                group.create_task(client(number))
        return served

    served = asyncio.run(play())
    assert sorted(number for number, _ in served) == list(range(len(wants)))
    for place, (number, _) in enumerate(served):
        for later, _ in served[place + 1 :]:
            assert later > number or wants[later] != wants[number]


async def test_a_lock_file_that_a_cleaner_removed_is_made_again(tmp_path):
    leases = Leases(tmp_path)
    async with leases.hold([GPU], wait_s=0):
        pass
    (tmp_path / f"cudanalyst-gpu-{GPU}.lock").unlink()
    async with leases.hold([GPU], wait_s=0):
        assert (tmp_path / f"cudanalyst-gpu-{GPU}.lock").exists()


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
async def test_what_lies_in_a_locks_place_is_not_followed(tmp_path, kind):
    place = tmp_path / f"cudanalyst-gpu-{GPU}.lock"
    if kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(Unavailable, match="remove it"):
        async with Leases(tmp_path).hold([GPU], wait_s=0):
            pass


@pytest.mark.parametrize("uuids", [[], ["../x"], ["a b"], [""]])
async def test_only_uuids_name_a_lock(tmp_path, uuids):
    with pytest.raises(BadRequest):
        async with Leases(tmp_path).hold(uuids, wait_s=0):
            pass


async def test_locks_can_be_shared_with_other_users_but_not_written_by_them(tmp_path):
    before = os.umask(0o077)
    try:
        async with Leases(tmp_path).hold([GPU], wait_s=0):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / f"cudanalyst-gpu-{GPU}.lock").stat().st_mode) == 0o644


def test_the_folder_is_one_that_all_users_find(tmp_path):
    (tmp_path / "run/lock").mkdir(parents=True, mode=0o755)
    (tmp_path / "tmp").mkdir()
    with pytest.raises(Unavailable, match="CUDANALYST_LEASES"):
        lease_folder({}, tmp_path)
    (tmp_path / "tmp").chmod(0o1777)
    assert lease_folder({}, tmp_path) == tmp_path / "tmp"
    (tmp_path / "run/lock").chmod(0o1777)
    assert lease_folder({}, tmp_path) == tmp_path / "run/lock"
    assert lease_folder({"CUDANALYST_LEASES": str(tmp_path)}) == tmp_path
    with pytest.raises(Unavailable, match="no folder"):
        lease_folder({"CUDANALYST_LEASES": str(tmp_path / "missing")})


async def test_shared_holders_are_there_together_as_far_as_there_is_room(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(3):
            leases = Leases(tmp_path)
            lease = await stack.enter_async_context(
                leases.hold([GPU], wait_s=0, mode="shared", most=lambda uuid: {GPU: 3}[uuid])
            )
            assert lease.mode == "shared"
        with pytest.raises(LeaseTimedOut):
            async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared", most=lambda _: 3):
                pass
        async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared", most=lambda _: 4):
            pass
    async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared", most=lambda _: 0):
        pass


@pytest.mark.parametrize(("holds", "wants"), [("exclusive", "shared"), ("shared", "exclusive")])
async def test_who_is_exclusive_is_alone(tmp_path, holds, wants):
    async with Leases(tmp_path).hold([GPU], wait_s=0, mode=holds):
        with pytest.raises(LeaseTimedOut, match=f"held by process {os.getpid()}"):
            async with Leases(tmp_path).hold([GPU], wait_s=0, mode=wants):
                pass


async def test_an_exclusive_one_waits_for_earlier_holders_and_later_ones_wait_for_it(tmp_path):
    order: list[str] = []
    arrived = asyncio.Event()

    async def client(name: str, mode: str) -> None:
        async with Leases(tmp_path).hold([GPU], wait_s=30, ahead=lambda _: arrived.set(), mode=mode):
            order.append(name)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group, Leases(tmp_path).hold([GPU], wait_s=0, mode="shared"):
        for name, mode in (("alone", "exclusive"), ("later", "shared"), ("last", "shared")):
            arrived.clear()
            group.create_task(client(name, mode))
            await arrived.wait()
        assert order == []
    assert order[0] == "alone"
    assert sorted(order[1:]) == ["last", "later"]


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
async def test_a_killed_holder_of_either_kind_blocks_nobody(tmp_path, mode):
    with holder(tmp_path, mode=mode) as process:
        await until(tmp_path, str(process.pid), "holds", GPU, mode)
        process.send_signal(signal.SIGKILL)
        async with Leases(tmp_path).hold([GPU], wait_s=20, mode="exclusive"):
            pass


async def test_a_killed_exclusive_waiter_lets_shared_ones_pass(tmp_path):
    async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared"):
        with holder(tmp_path, mode="exclusive") as process:
            await until(tmp_path, str(process.pid), "waits", "1")
            with pytest.raises(LeaseTimedOut):
                async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared"):
                    pass
            process.kill()
            process.wait()
        async with Leases(tmp_path).hold([GPU], wait_s=0, mode="shared"):
            pass


async def test_processes_of_both_kinds_never_meet_an_exclusive_one(tmp_path):
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(holder(tmp_path, rounds=10, hold_s=0.003, mode="either")) for _ in range(4)]
        await asyncio.gather(*(asyncio.to_thread(process.wait) for process in processes))
    inside: dict[str, str] = {}
    count = 0
    for pid, what, *rest in said(tmp_path):
        if what == "holds":
            count += 1
            assert not inside or {rest[1], *inside.values()} == {"shared"}
            inside[pid] = rest[1]
        elif what == "leaves":
            del inside[pid]
    assert count == 4 * 10
    assert inside == {}


async def test_what_was_held_is_counted_by_kind(tmp_path):
    leases = Leases(tmp_path)
    for mode in ("shared", "shared", "exclusive"):
        async with leases.hold([GPU], wait_s=0, mode=mode):
            pass
    assert {mode: totals.count for mode, totals in leases.totals.items()} == {"shared": 2, "exclusive": 1}
    assert all(totals.held_s > 0 for totals in leases.totals.values())


@pytest.mark.parametrize(("patience_s", "first"), [(60.0, "alone"), (0.0, "beside")])
async def test_who_is_timed_goes_before_those_who_share_and_came_little_earlier(
    tmp_path, monkeypatch, patience_s, first
):
    monkeypatch.setattr("cudanalyst.tools.gpu.lease.SHARED_PATIENCE_S", patience_s)
    order: list[str] = []
    arrived = asyncio.Event()

    async def client(name: str, mode: str) -> None:
        # Each is another server.
        async with Leases(tmp_path).hold([GPU], wait_s=30, ahead=lambda _: arrived.set(), mode=mode):
            order.append(name)

    async with asyncio.TaskGroup() as group, Leases(tmp_path).hold([GPU], wait_s=0):
        for name, mode in (("beside", "shared"), ("alone", "exclusive")):
            arrived.clear()
            group.create_task(client(name, mode))
            await arrived.wait()
    assert order[0] == first
    assert sorted(order) == ["alone", "beside"]
