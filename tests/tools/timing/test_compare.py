"""Whole comparisons on a simulated clock: the real executor, kernels with known durations and noise."""

import os
from dataclasses import replace

import pytest

from cudanalyst.tools.gpu.state import ComputeProcess, DeviceState
from cudanalyst.tools.timing.compare import compare
from cudanalyst.tools.timing.conclude import Settings
from cudanalyst.tools.timing.models import Comparison, Floor, Uncompared
from cudanalyst.tools.timing.rig import Flaw
from tests.tools.timing.conftest import FakeRig, Refused

pytestmark = pytest.mark.anyio
STATE = DeviceState(sm_clock_mhz=1980, throttle_reasons=(), processes=(), mps=False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def settings(machine, **fields) -> Settings:
    fields = {"mode": "warm", "state": lambda: STATE} | fields
    return Settings(kernels=machine.own_kernels(), **fields)


async def compared(machine, a, b, *, rig=None, simulated=None, **fields) -> tuple[Comparison | Uncompared, FakeRig]:
    async with machine.start(**(simulated or {})) as connection:
        made = FakeRig(machine, connection, {"A": a, "B": b}, **(rig or {}))
        result, _ = await compare(made, settings(machine, **fields))
    return result, made


@pytest.mark.parametrize("us", [5, 50, 500, 5000])
async def test_equal_kernels_are_the_same_at_the_first_look(machine, us) -> None:
    noise = 0.02 if us < 100 else 0.002
    result, _ = await compared(machine, f"{us} {noise}", f"{us} {noise}")
    assert result.verdict == "same"
    assert result.looks == 1
    assert result.speedup_low <= result.speedup <= result.speedup_high
    assert result.candidate_us == pytest.approx(us + 0.5, rel=0.05)
    assert result.gated is True
    assert result.notes == ()


@pytest.mark.parametrize("us", [5, 50, 500, 5000])
async def test_a_kernel_that_is_two_per_cent_slower_is_slower(machine, us) -> None:
    result, _ = await compared(machine, f"{(us + 0.5) * 1.02 - 0.5} 0.003", f"{us} 0.003")
    assert result.verdict == "slower"
    assert result.speedup == pytest.approx(1 / 1.02, abs=0.003)


async def test_a_kernel_that_is_twice_as_fast_is_faster_and_says_how_much(machine) -> None:
    result, _ = await compared(machine, "24.5 0.01", "49.5 0.01")
    assert result.verdict == "faster"
    assert result.speedup == pytest.approx(2.0, rel=0.01)
    assert result.calls_per_block >= 1100 / 50
    assert result.overheads.in_graph_us == pytest.approx(0.5, abs=0.01)
    assert result.conditions.steady is True
    assert result.conditions.before == STATE


async def test_a_candidate_that_is_a_hundred_times_as_fast_takes_no_longer_to_compare(machine) -> None:
    result, _ = await compared(machine, "5 0.01", "500 0.01")
    assert result.verdict == "faster"
    assert result.speedup == pytest.approx(500.5 / 5.5, rel=0.03)
    assert result.groups == 8
    assert result.calls_per_block * 2 * 506 < 25_000


async def test_blocks_of_short_kernels_last_a_millisecond(machine) -> None:
    result, _ = await compared(machine, "1 0", "1 0")
    assert result.calls_per_block * result.candidate_us >= 1000
    assert result.calls_per_block % 4 == 0


@pytest.mark.parametrize(("us", "groups"), [(20_000, 4), (90_000, 4)])
async def test_long_calls_get_few_groups_of_one_call_each(machine, us, groups) -> None:
    result, _ = await compared(machine, f"{us} 0.0005", f"{us * 1.05} 0.0005")
    assert result.verdict == "faster"
    assert result.calls_per_block == 1
    assert result.groups == groups


async def test_calls_that_would_take_seconds_to_compare_are_not_compared(machine) -> None:
    result, _ = await compared(machine, "600000 0", "600000 0")
    assert isinstance(result, Uncompared)
    assert "longer than" in result.reason


async def test_noise_that_hides_the_difference_is_inconclusive_and_says_what_could_be_resolved(machine) -> None:
    result, _ = await compared(machine, "5000 0.5", "5000 0.5")
    assert result.verdict == "inconclusive"
    assert result.resolvable > 0.01


async def test_a_context_that_was_emptied_serves_the_next_comparison_like_a_fresh_one(machine) -> None:
    async with machine.start() as connection:
        found = []
        for a, b in (("50 0.002", "50 0.002"), ("10.5 0.002", "10 0.002"), ("5 0.002", "5.25 0.002")):
            rig = FakeRig(machine, connection, {"A": a, "B": b})
            found.append((await compare(rig, settings(machine)))[0].verdict)
            await connection.command("empty")
        with pytest.raises(Refused, match="kernels"):
            await connection.command("preheat", 10, 0)
    assert found == ["same", "slower", "faster"]


async def test_who_works_on_the_device_without_a_lease_for_a_while_costs_a_second_measurement_and_no_verdict(
    machine,
) -> None:
    foreign = {"foreign_calls": 34}
    once, _ = await compared(machine, "5000 0.001", "5000 0.001", simulated=foreign)
    assert (once.verdict, once.notes) == ("same", ())
    slower, _ = await compared(machine, "5250 0.001", "5000 0.001", simulated=foreign)
    assert slower.verdict == "slower"
    assert slower.speedup == pytest.approx(1 / 1.05, abs=0.003)


COLD = {"cold_code_us": 2.0, "place_us": 0.15, "order_us": 0.28}
"""As on an H200 at 5 us: code that lies elsewhere costs 2 % of a call more or less, and the module loaded second 3.6 %."""


async def test_cold_code_that_costs_the_second_module_more_does_not_decide_a_cold_comparison(machine) -> None:
    verdicts = []
    for seed in range(6):
        result, rig = await compared(machine, "5 0.02", "5 0.02", mode="cold", simulated={**COLD, "seed": seed})
        verdicts.append(result.verdict)
        assert abs(result.speedup - 1) < 0.015
    assert not {"faster", "slower"} & set(verdicts)
    assert [first for _, first in rig.placed] == ["A", "B"] * 12


async def test_a_cold_difference_of_five_per_cent_is_found(machine) -> None:
    cost = 5.5 + 2.0 + 0.14
    verdicts = [
        (await compared(machine, f"{5 + 0.05 * cost} 0.02", "5 0.02", mode="cold", simulated={**COLD, "seed": seed}))[
            0
        ].verdict
        for seed in range(4)
    ]
    assert verdicts == ["slower"] * 4


async def test_cold_times_without_a_gate_give_no_verdict(machine) -> None:
    result, _ = await compared(machine, "50 0", "60 0", mode="cold", simulated={"queue": 6})
    assert result.verdict == "inconclusive"
    assert result.gated is False
    assert any("launch latency" in note for note in result.notes)


async def test_warm_times_without_a_gate_still_count_and_it_is_said(machine) -> None:
    result, _ = await compared(machine, "50 0", "60 0", simulated={"queue": 3})
    assert result.verdict == "faster"
    assert result.gated is False
    assert any("without it" in note for note in result.notes)


async def test_results_kept_from_call_to_call_are_suspicious(machine) -> None:
    result, _ = await compared(machine, "300 0 memo", "300 0")
    assert result.verdict == "suspicious"
    assert "kept from call to call" in result.notes[0]
    assert result.fault is None
    assert result.candidate_us < 10


async def test_wrong_outputs_of_a_timed_call_are_a_fault(machine) -> None:
    flaw = Flaw("wrong", "y[3] is 1, expected 2")
    result, rig = await compared(machine, "5 0", "9 0", rig={"flaw": lambda _: flaw})
    assert (result.verdict, result.fault) == ("suspicious", "wrong")
    assert result.notes[0] == "in a timed call: y[3] is 1, expected 2"
    assert rig.poisons == 1


async def test_wrong_outputs_on_fresh_values_at_old_pointers_are_a_fault(machine) -> None:
    flaw = Flaw("wrong", "stale")
    result, rig = await compared(machine, "5 0", "9 0", rig={"flaw": lambda contents: flaw if 4 in contents else None})
    assert (result.verdict, result.fault) == ("suspicious", "wrong")
    assert "fresh values" in result.notes[0]
    # Old values come to new pointers, too.
    assert rig.filled == [(0, 1, 2, 3), (4, 5, 6, 0)]


async def test_work_left_pending_is_a_contract_violation(machine) -> None:
    records = (
        "stream 1 0",
        "record 0 0",
        "wait 0 1",
        f"launch work 1 1 1 32 1 1 0 1 0 1 {'00' * 8}",
        "record 1 1",
        "wait 1 0",
    )
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5 0 pending", "B": "5 0"}, extra_records=records)
        result, _ = await compare(rig, settings(machine))
    assert (result.verdict, result.fault) == ("suspicious", "contract_violation")
    assert result.speedup is None


async def test_times_below_the_floor_are_suspicious(machine) -> None:
    floor = Floor(us=100, bound="dram")
    result, _ = await compared(machine, "50 0", "150 0", floor=lambda *_: floor)
    assert result.verdict == "suspicious"
    assert "below what the device can do" in result.notes[0]
    assert result.fault is None
    honest, _ = await compared(machine, "90 0", "150 0", floor=lambda *_: floor)
    assert honest.verdict == "faster"


async def test_mps_refuses_timing(machine) -> None:
    result, rig = await compared(machine, "5 0", "5 0", state=lambda: replace_state(mps=True))
    assert isinstance(result, Uncompared)
    assert "MPS" in result.reason
    assert rig.placed == []


def replace_state(**fields) -> DeviceState:
    return STATE.model_copy(update=fields)


async def test_a_second_clock_reads_the_same_times(machine) -> None:
    result, _ = await compared(machine, "5 0.01", "8 0.01")
    assert result.second is not None
    assert result.second.agrees
    assert result.second.candidate_us == pytest.approx(result.candidate_us, rel=0.01)
    assert result.second.speedup == pytest.approx(result.speedup, rel=0.01)
    assert result.notes == ()


async def test_a_second_clock_that_disagrees_is_said_with_both_readings(machine) -> None:
    result, _ = await compared(machine, "50 0.001", "80 0.001", simulated={"clock_rate": 1.05})
    assert result.verdict == "faster"
    assert not result.second.agrees
    assert result.second.margin == pytest.approx(0.02, abs=0.01)
    assert "a second clock disagrees" in result.notes[0]
    assert f"{result.candidate_us:.4g} us" in result.notes[0]


async def test_noise_alone_makes_no_two_clocks_disagree(machine) -> None:
    for seed in range(4):
        result, _ = await compared(machine, "5000 0.05", "5000 0.05", simulated={"seed": seed})
        assert result.second.agrees


async def test_cold_times_have_no_second_clock(machine) -> None:
    result, _ = await compared(machine, "50 0", "60 0", mode="cold")
    assert result.second is None


async def test_own_processes_are_no_foreign_load(machine) -> None:
    own = replace_state(processes=(ComputeProcess(pid=os.getpid()),))
    result, _ = await compared(machine, "50 0", "50 0", state=lambda: own)
    assert result.notes == ()


async def test_calls_of_five_milliseconds_hold_the_device_for_little_more_than_their_blocks(machine) -> None:
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5000 0.0005", "B": "5000 0.0005"})
        result, _ = await compare(rig, settings(machine))
        timed = [line.split() for line in connection.log if line.split()[0] in {"time", "stamp"}]
    assert (result.verdict, result.groups, result.calls_per_block) == ("same", 4, 1)
    calls = sum(len(pattern) for words in timed for pattern in words[3:])
    # Two alone, four groups, two by the second clock, four that are checked; the one that has its code called before, and four blocks of three.
    assert calls == 2 + 16 + 2 + 4 + 1 + 4


async def test_foreign_load_mig_and_throttling_are_said(machine) -> None:
    busy = replace_state(
        processes=(ComputeProcess(pid=1), ComputeProcess(pid=2)), throttle_reasons=("idle", "software power cap")
    )
    result, _ = await compared(machine, "50 0", "50 0", state=lambda: busy, own_contexts=1, mig=True)
    assert result.verdict == "same"
    text = " ".join(result.notes)
    assert "1 other process had a context" in text
    assert "MIG" in text
    assert "software power cap" in text
    assert "idle" not in text


async def test_calibration_is_made_once_for_a_device(machine) -> None:
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5 0", "B": "5 0"})
        _, calibration = await compare(rig, settings(machine))
    assert calibration.dram_gb_per_s == pytest.approx(4000, rel=0.03)
    async with machine.start() as connection:
        rig = FakeRig(machine, connection, {"A": "5 0", "B": "5 0"})
        result, again = await compare(rig, replace(settings(machine), calibration=calibration))
        assert "overhead" not in connection.log
    assert again is calibration
    assert result.overheads == calibration.overheads
