"""The executor's timing commands, on a driver with a simulated clock."""

import pytest

from tests.tools.timing.conftest import Connection, FakeRig, Machine, Refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def ready(machine: Machine, connection: Connection, a: str = "5 0", b: str = "5 0") -> FakeRig:
    rig = FakeRig(machine, connection, {"A": a, "B": b})
    await connection.command("kernels", str(machine.own_kernels()))
    await rig.place(0, "A")
    return rig


async def pair(rig: FakeRig, mode: str, calls: int) -> dict:
    return dict(
        await rig.executor.command(
            "pair", "p", mode, str(calls), ",".join(rig.traces("A", 0)), ",".join(rig.traces("B", 0))
        )
    )


async def test_the_flush_reads_twice_the_l2(machine) -> None:
    async with machine.start(l2_mib=40) as connection:
        answer = await connection.command("kernels", str(machine.own_kernels()))
    assert answer["l2_bytes"] == 40 << 20
    assert answer["flush_bytes"] == 80 << 20


async def test_blocks_are_timed_in_the_order_of_the_pattern(machine) -> None:
    async with machine.start() as connection:
        rig = await ready(machine, connection, "5 0", "8 0")
        await pair(rig, "warm", 400)
        answer = await connection.command("time", "p", "100", "ABBA", "BAAB", "AB")
    times = [[round(us, 1) for us in group["us"]] for group in answer["groups"]]
    # The device needs half a microsecond between kernels.
    assert times == [[5.5, 8.5, 8.5, 5.5], [8.5, 5.5, 5.5, 8.5], [5.5, 8.5]]
    assert all(group["gated"] and group["drained"] for group in answer["groups"])


async def test_stamps_read_the_same_blocks_as_events(machine) -> None:
    async with machine.start() as connection:
        rig = await ready(machine, connection, "5 0", "8 0")
        await pair(rig, "warm", 400)
        answer = await connection.command("stamp", "p", "100", "ABBA", "BA")
    times = [[round(us, 1) for us in group["us"]] for group in answer["groups"]]
    assert times == [[5.5, 8.5, 8.5, 5.5], [8.5, 5.5]]
    assert all(group["gated"] and group["drained"] for group in answer["groups"])


async def test_a_device_that_was_worked_a_moment_ago_is_heated_for_eight_slices(machine) -> None:
    async with machine.start() as connection:
        await connection.command("kernels", str(machine.own_kernels()))
        first = await connection.command("preheat", "250", "30")
        again = await connection.command("preheat", "250", "0")
    assert first["steady"]
    assert (again["steady"], again["slices"]) == (True, 8)


async def test_one_graph_holds_blocks_that_go_round_all_sets_and_one_for_each_start_shorter_ones(machine) -> None:
    async with machine.start() as connection:
        rig = await ready(machine, connection)
        assert (await pair(rig, "warm", 8))["graphs"] == 2
        assert (await pair(rig, "warm", 2))["graphs"] == 8
        assert (await pair(rig, "cold", 1)) | {"prepare_us": 0, "ok": True} == {
            "ok": True, "calls": 1, "direct": True, "graphs": 0, "prepare_us": 0,
        }  # fmt: skip


async def test_both_sides_rotate_over_the_same_sets(machine) -> None:
    """A kernel that keeps results takes 1 us where its buffer was seen, so that times spell which sets were."""
    async with machine.start() as connection:
        rig = await ready(machine, connection, "9 0 memo", "9 0")
        await rig.fill([0, 1, 2, 3], 0)
        await pair(rig, "single", 1)
        first = await connection.command("time", "p", "100", "ABAB", "AB", "BA")
        again = await connection.command("time", "p", "100", "AAAA")
    a = [us for group, pattern in zip(first["groups"], ("ABAB", "AB", "BA"), strict=True)
         for us, letter in zip(group["us"], pattern, strict=True) if letter == "A"]  # fmt: skip
    assert all(us > 9 for us in a), "four calls of A in three groups met four sets"
    assert all(us < 3 for us in again["groups"][0]["us"])


async def test_every_cold_call_follows_a_flush_of_code(machine) -> None:
    async with machine.start(cold_code_us=3) as connection:
        rig = await ready(machine, connection)
        times = {}
        for mode in ("single", "cold_data", "cold"):
            await pair(rig, mode, 1)
            answer = await connection.command("time", "p", "100", "ABBABAAB")
            times[mode] = answer["groups"][0]["us"]
    assert max(times["single"]) == pytest.approx(min(times["single"]), abs=0.05)
    assert [us - times["single"][0] for us in times["cold"]] == pytest.approx([3] * 8, abs=0.05)
    # The call before the flush of data has its code fetched.
    assert [us - times["single"][0] for us in times["cold_data"]] == pytest.approx([0] * 8, abs=0.05)


async def test_a_gate_keeps_launch_latency_out(machine) -> None:
    async with machine.start(launch_us=20) as connection:
        rig = await ready(machine, connection)
        await pair(rig, "single", 1)
        gated = await connection.command("time", "p", "100", "ABBA")
        ungated = await connection.command("time", "p", "0", "ABBA")
    assert max(gated["groups"][0]["us"]) < 8
    assert min(ungated["groups"][0]["us"]) > 20
    assert [group["gated"] for group in (*gated["groups"], *ungated["groups"])] == [True, False]


async def test_a_driver_that_waits_behind_the_gate_is_let_go_and_after_three_times_no_gate_is_used(machine) -> None:
    async with machine.start(queue=4) as connection:
        rig = await ready(machine, connection)
        await pair(rig, "single", 1)
        answer = await connection.command("time", "p", "1", *["ABBA"] * 5)
    assert [group["gated"] for group in answer["groups"]] == [False] * 5
    assert answer["gate_failures"] == 3


async def test_work_left_on_an_own_stream_is_seen(machine) -> None:
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5 0 pending", "B": "5 0"}, extra_records=(
            "record 0 0", "wait 0 1", f"launch work 1 1 1 32 1 1 0 1 0 1 {'00' * 8}", "record 1 1", "wait 1 0",
        ))  # fmt: skip
        # Own streams are declared before they are used.
        rig.extra_records = ("stream 1 0", *rig.extra_records)
        await connection.command("kernels", str(machine.own_kernels()))
        await rig.place(0, "A")
        await pair(rig, "single", 1)
        answer = await connection.command("time", "p", "100", "AB")
    assert answer["groups"][0]["drained"] is False


def launch(*, overlaps: bool) -> str:
    attribute = f"1 6 {'01' + '00' * 63}" if overlaps else "0"
    return f"launch work 1 1 1 32 1 1 0 0 {attribute} 1 {'00' * 8}"


async def test_the_first_kernel_of_a_call_waits_for_the_call_before_and_later_ones_may_overlap(machine) -> None:
    """Programmatic stream serialisation saves two of these kernels' five microseconds."""
    async with machine.start() as connection:
        await connection.command("kernels", str(machine.own_kernels()))
        await connection.command("module", "m", str(machine.image("m", ["kernel work 5 0 8"])))
        for name, records in (("A", [True]), ("B", [True, True])):
            path = machine.trace(name, [launch(overlaps=one) for one in records])
            await connection.command("trace", name, "m", str(path))
        await connection.command("pair", "p", "warm", "100", "A", "B")
        answer = await connection.command("time", "p", "100", "AB")
    assert answer["groups"][0]["us"] == pytest.approx([5.5, 5.5 + 3.5], abs=0.05)


async def test_streams_and_attributes_are_made_ready_before_the_gate_closes(machine) -> None:
    records = ("attribute work 8 65536", "stream 1 0", "record 0 0", "wait 0 1", "record 1 1", "wait 1 0")
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5 0", "B": "5 0"}, extra_records=records)
        await connection.command("kernels", str(machine.own_kernels()))
        await rig.place(0, "A")
        await pair(rig, "single", 1)
        answer = await connection.command("time", "p", "100", "ABBA")
    assert answer["groups"][0]["gated"] is True


async def test_buffers_are_poisoned_and_touched_on_the_device(machine) -> None:
    async with machine.start() as connection:
        rig = await ready(machine, connection)
        address = f"{rig._addresses[0]:x}"
        await connection.command("poison", address, "4096", "254")
        await connection.command("touch", address, "4096")
        with pytest.raises(Refused, match="multiple of 16"):
            await connection.command("touch", f"{rig._addresses[0] + 4:x}", "64")


async def test_preheating_ends_when_the_clock_stands_still(machine) -> None:
    async with machine.start() as connection:
        await connection.command("kernels", str(machine.own_kernels()))
        answer = await connection.command("preheat", "400", "30")
        limited = await connection.command("preheat", "0", "30")
    assert answer["steady"] is True
    assert answer["last_us"] <= answer["first_us"]
    assert limited["slices"] <= 1


async def test_overheads_and_bandwidths_are_measured(machine) -> None:
    async with machine.start() as connection:
        await connection.command("kernels", str(machine.own_kernels()))
        overhead = await connection.command("overhead")
        rates = await connection.command("bandwidth")
    assert overhead["in_graph_us"] == pytest.approx(0.5, abs=0.01)
    assert overhead["alone_us"] - overhead["events_us"] == pytest.approx(0.5, abs=0.04)
    assert overhead["step_us"] == pytest.approx(0.032, abs=0.001)
    # Events are not free, so the reading is a little below the simulated 4000.
    assert 3900 < rates["dram_gb_per_s"] < 4000
    assert rates["l2_gb_per_s"] < 4000


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("time p 100 ABBA", "no pair"),
        ("pair p hot 4 a b", "MODE is warm"),
        ("pair p warm 0 A0.0 B0.0", "at least 1"),
        ("pair p cold 2 A0.0 B0.0", "only warm"),
        ("pair p warm 4 A0.0,A0.1 B0.0", "same number"),
        ("pair p warm 4 nothing B0.0", "no trace"),
        ("unpair p", "no pair"),
        ("random zz 4 1", "ADDRESS"),
    ],
)
async def test_commands_that_make_no_sense_are_refused_with_the_reason(machine, line, reason) -> None:
    async with machine.start() as connection:
        await ready(machine, connection)
        with pytest.raises(Refused, match=reason):
            await connection.command(*line.split(" "))
        await connection.command("preheat", "1", "0")


async def test_patterns_hold_only_the_two_sides(machine) -> None:
    async with machine.start() as connection:
        rig = await ready(machine, connection)
        await pair(rig, "single", 1)
        with pytest.raises(Refused, match="letters A and B"):
            await connection.command("time", "p", "100", "ABC")


async def test_nothing_is_timed_before_the_kernels_are_loaded_and_they_go_with_the_context(machine) -> None:
    async with machine.start() as connection:
        with pytest.raises(Refused, match="kernels PATH"):
            await connection.command("preheat", "10", "0")
        await connection.command("kernels", str(machine.own_kernels()))
        await connection.command("close")
        await connection.command("open", "0")
        with pytest.raises(Refused, match="kernels PATH"):
            await connection.command("overhead")
