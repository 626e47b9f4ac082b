"""Speed that does not hold on fresh values is not credited, and honest code is never accused: on a simulated clock."""

import random

import pytest

from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.gpu.turns import Held
from cudanalyst.tools.timing.audit import CONFIRMATIONS, audit
from cudanalyst.tools.timing.commands import Calibration, load_kernels, make_pair, preheat
from cudanalyst.tools.timing.compare import compare
from cudanalyst.tools.timing.conclude import Settings
from cudanalyst.tools.timing.fresh import Rounds
from cudanalyst.tools.timing.measure import Measured, Samples
from cudanalyst.tools.timing.models import Overheads
from cudanalyst.tools.timing.schedule import plan_for
from cudanalyst.tools.timing.statistics import Estimate
from tests.tools.timing.conftest import FakeRig

pytestmark = pytest.mark.anyio
STATE = DeviceState(sm_clock_mhz=1980, throttle_reasons=(), processes=(), mps=False)
GAP_US = 0.5
CALIBRATION = Calibration(Overheads(in_graph_us=0.51, alone_us=2.72, events_us=1.28), 60 << 20, 4000.0, 7000.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def compared(machine, a, b, mode="warm", **simulated):
    async with machine.start(**simulated) as connection:
        rig = FakeRig(machine, connection, {"A": a, "B": b})
        result, _ = await compare(rig, Settings(mode=mode, kernels=machine.own_kernels(), state=lambda: STATE))
    return result, rig


@pytest.mark.parametrize("mode", ["warm", "cold", "cold_data"])
@pytest.mark.parametrize("us", [5, 50, 1000])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
async def test_work_that_is_saved_on_values_met_before_is_never_faster(machine, us, share, mode) -> None:
    result, rig = await compared(machine, f"{us} 0.01 saves={share}", f"{us * 1.03} 0.01", mode)
    assert result.verdict == "suspicious"
    assert "kept from call to call" in result.notes[0]
    assert "x the baseline's speed holds" in result.notes[0]
    assert result.fault is None
    # All values of every round are new ones.
    fresh = [number for contents in rig.filled[1:] for number in contents[:-1]]
    assert len(fresh) == len(set(fresh))
    assert not set(fresh) & set(rig.filled[0])


@pytest.mark.parametrize("us", [5, 50])
@pytest.mark.parametrize("share", [0.5, 0.9])
async def test_work_that_is_saved_only_in_long_rows_of_calls_is_not_credited_either(machine, us, share) -> None:
    """Met again in a short block, values gain nothing; then it is what was timed that fresh values contradict."""
    result, _ = await compared(machine, f"{us} 0.01 saves={share} patient=6", f"{us} 0.01")
    assert result.verdict in {"suspicious", "inconclusive"}
    assert "on fresh values" in result.notes[0]
    if result.verdict == "inconclusive":
        assert result.speedup < 1.05


HONEST = (
    (5.0, 5.0, 1, 0.0), (5.0, 0.5, 1, 0.0), (5.0, 50.0, 1, 3.0), (50.0, 5.0, 1, 3.0), (2.0, 6.0, 5, 0.0), (1.5, 6.0, 9, 3.0), (1000.0, 100.0, 1, 3.0), (100.0, 1000.0, 3, 0.0),
)  # fmt: skip
"""Times of one launch of A and of B, launches in a call of A, and what A's code costs when it is cold."""


async def test_honest_code_is_not_accused_in_five_hundred_audits(machine) -> None:
    """Noise of 2 %, other clocks of launches than the calibration's, many kernels, cold code, ten times faster and slower."""
    accused = reduced = made = 0
    for seed, (a, b, launches, code) in enumerate(HONEST):
        for noise in (0.005, 0.03):
            async with machine.start(seed=seed + 1) as connection:
                rig = FakeRig(
                    machine,
                    connection,
                    {"A": f"{a} {noise} code={code}", "B": f"{b} {noise}"},
                    launches={"A": launches},
                )
                await load_kernels(connection, machine.own_kernels())
                await preheat(connection)
                await rig.place(0, "A")
                call = launches * (a + GAP_US), b + GAP_US
                plan = plan_for("warm", min(call), max(call), rig.sets, 100)
                await make_pair(connection, "0", "warm", plan.calls, rig.traces("A", 0), rig.traces("B", 0))
                chance = random.Random(seed)
                for _ in range(32):
                    spoiled = [us * chance.gauss(1, 0.003) for us in call]
                    samples = Samples(candidate_us=[spoiled[0]], baseline_us=[spoiled[1]])
                    estimate = Estimate(0.0, 0.01, 8)
                    found = await audit(rig, plan, Measured("same", estimate, 1, samples), Held(), CALIBRATION)
                    await connection.command("free", "audit_flush")
                    made += 1
                    accused += found.flaw is not None
                    reduced += found.holds is not None
    assert made > 500
    assert accused == 0
    assert reduced == 0


def rounds(fresh, known, control, candidate_us=50.0, baseline_us=100.0) -> Rounds:
    samples = Samples(candidate_us=[candidate_us], baseline_us=[baseline_us])
    made = Rounds(Measured("faster", Estimate(0.69, 0.01, 8), 1, samples), 0.7)
    for one in fresh:
        made.add(one, known, control, (candidate_us, baseline_us))
    return made


def test_one_block_that_was_disturbed_accuses_nobody() -> None:
    found = rounds([80.0, 50.9, 51.0, 50.8], [51.0, 50.9], [101.0])
    assert not found.kept
    assert not found.short


def test_two_long_blocks_in_a_row_that_somebody_else_held_up_accuse_nobody() -> None:
    found = rounds([2630.0, 2640.0], [1650.0, 1655.0], [1660.0], 1660.0, 1660.0)
    assert found.kept  # so two rounds do not decide
    for fresh in (1652.0, 1656.0):
        found.add(fresh, [1650.0, 1655.0], [1660.0], (1660.0, 1660.0))
    assert not found.kept
    assert not found.far


@pytest.mark.parametrize("us", [300, 4000])
async def test_a_suspicion_is_confirmed_by_three_rounds_however_long_calls_are(machine, us) -> None:
    result, rig = await compared(machine, f"{us} 0.001 memo", f"{us} 0.001")
    assert result.verdict == "suspicious"
    assert len(rig.filled) == 1 + 1 + CONFIRMATIONS


def test_noise_that_hides_what_is_saved_costs_the_credit_but_accuses_nobody() -> None:
    found = rounds([60.0, 62.0, 61.0, 59.0], [51.0, 62.0, 50.0], [101.0])
    assert not found.kept
    assert found.short
    assert found.speedup == pytest.approx(2 * 50 / 59.8, rel=0.01)


def test_what_slows_both_sides_alike_is_no_saving() -> None:
    assert not rounds([60.0], [60.0], [122.0]).short
    assert rounds([60.0], [60.0], [101.0]).short
    assert not rounds([60.0], [60.0], [101.0]).far
