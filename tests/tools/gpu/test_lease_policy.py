"""The order of leases as a queueing problem: hold times recorded on an H200 (benchmarks/recorded), played on a simulated clock."""

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.tools.gpu.lease import MOST_SHARED, SHARED_PATIENCE_S, due_ns
from cudanalyst.tools.toolchain.gpu_oracles import MOST_ORACLES
from tests.tools.gpu.queueing import HAND_OVER_S, Device, Step, evaluations, first_come

host, shared, exclusive = (partial(Step, what) for what in ("host", "shared", "exclusive"))
BORROW, RETURN = Step("borrow"), Step("return")
OPEN_S, DESTROY_S = 0.1, 0.06
COMPILE = [shared(0.0, OPEN_S), host(0.9)]
VERIFY = [shared(0.02), host(0.015)] * 3 + [shared(0.03)]
CONTEXT = shared(0.01, OPEN_S + DESTROY_S)
LARGE = [shared(0.07), exclusive(0.12), shared(0.2), exclusive(0.04), shared(0.1), exclusive(0.05), shared(0.1)]

BEFORE = [
    *COMPILE, *VERIFY, BORROW,
    *[CONTEXT, host(0.02), shared(0.02), exclusive(0.09), shared(0.02), exclusive(0.035), shared(0.01), exclusive(0.035)] * 2,
    CONTEXT, host(0.02), *LARGE, shared(0.0, DESTROY_S), RETURN,
]  # fmt: skip
"""The oracle was had for all sizes, and each comparison took three exclusive turns."""
OPENING_S, DESTROYING_S = 0.12, 0.067
"""One after the other, whether one, two or four processes do it at once."""
LOAD_AND_RECORD = [shared(0.004), host(0.012), shared(0.001), host(0.012), shared(0.02)]


def evaluation(contexts: Sequence[Step]) -> list[Step]:
    """As it is now: the oracle is had for the large size, and a small size takes one turn; `contexts` of each comparison."""
    return [
        shared(0.0, OPENING_S), host(1.5),
        *[shared(0.01), host(0.012), shared(0.02), host(0.01)] * 3,
        *[*contexts, *LOAD_AND_RECORD, exclusive(0.13)] * 2,
        BORROW, *contexts, *LOAD_AND_RECORD, shared(0.05), exclusive(0.13), shared(0.2), exclusive(0.06), shared(0.1), exclusive(0.06), shared(0.1), RETURN,
        shared(0.0, DESTROYING_S),
    ]  # fmt: skip


CONTEXT_EACH = evaluation([shared(0.003, OPENING_S + DESTROYING_S)])
"""Every comparison had a context of its own, also where others waited for the driver."""
NOW = evaluation([shared(0.003)])
"""There one context serves all that is done with a candidate."""
ALONE = 1857 / 3600
"""What one client got on an H200, contexts being opened while nvcc ran."""


def rate(steps, clients: int, due=due_ns, oracles: int = MOST_ORACLES) -> float:
    return evaluations(Device(due, oracles=oracles), steps, clients, seconds=120.0) / 120.0


def test_the_simulation_gives_what_was_measured_on_the_device_with_the_policy_of_then() -> None:
    """Alone 3.0 s an evaluation, and sixteen at once 1.6 times as many (with the times in which they began and ended together)."""
    alone, many = rate(BEFORE, 1, first_come, 3), rate(BEFORE, 16, first_come, 3)
    assert 1 / alone == pytest.approx(3.0, rel=0.1)
    assert many / alone == pytest.approx(2.0, rel=0.15)


def test_one_context_for_a_candidate_gives_sixteen_clients_half_as_much_again_as_four() -> None:
    assert rate(NOW, 16) > 1.5 * rate(CONTEXT_EACH, 16)
    assert rate(NOW, 16) > 2.3 * ALONE


def test_what_nobody_can_share_bounds_what_sixteen_clients_get() -> None:
    """Timing, and one context after the other: three times would take less of them, whatever the order of leases."""
    serial_s = sum(step.driver_s + (step.seconds if step.what == "exclusive" else 0.0) for step in NOW)
    assert rate(NOW, 16) <= 1 / serial_s
    assert 2.5 < 1 / serial_s / ALONE < 3


def test_those_who_are_timed_gather_so_that_the_others_are_drained_less_often() -> None:
    by_arrival, gathered = Device(first_come), Device()
    for device in (by_arrival, gathered):
        evaluations(device, NOW, 16, seconds=120.0)

    def batch(device: Device) -> float:
        return sum(wait.mode == "exclusive" for wait in device.waits) / device.exclusive_phases

    assert batch(gathered) > 1.2 * batch(by_arrival)


def test_one_client_waits_for_nothing_whatever_the_policy() -> None:
    device = Device()
    evaluations(device, NOW, 1, seconds=60.0)
    assert all(wait.served_s == wait.arrived_s for wait in device.waits)


@pytest.mark.parametrize("clients", [2, 16, 40])
def test_nobody_waits_longer_than_those_who_were_due_before_take(clients) -> None:
    device = Device()
    evaluations(device, NOW, clients, seconds=60.0)
    longest_s = max(wait.served_s - wait.arrived_s for wait in device.waits)
    # At most one ticket of each other client is due before, and whoever holds one now ends it.
    turn_s = max(step.seconds + step.driver_s * MOST_SHARED for step in NOW) + HAND_OVER_S
    assert longest_s <= SHARED_PATIENCE_S + (clients + 1) * turn_s


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.floats(0.0, 3.0), st.sampled_from(["shared", "exclusive"]), st.floats(0.001, 0.4)),
        min_size=1,
        max_size=40,
    )
)
def test_everyone_is_served_and_overtaken_only_by_what_is_timed_and_came_little_later(arrivals) -> None:
    device = Device()
    for at_s, mode, hold_s in arrivals:

        def arrive(mode=mode, hold_s=hold_s) -> None:
            device.take(mode, lambda: device.after(hold_s, lambda: device.give(mode)))

        device.after(at_s, arrive)
    device.play(1000.0)
    assert len(device.waits) == len(arrivals)
    for place, later in enumerate(device.waits):
        for earlier in device.waits[:place]:
            if earlier.arrived_s > later.arrived_s:  # overtook
                assert (earlier.mode, later.mode) == ("exclusive", "shared")
                assert earlier.arrived_s - later.arrived_s <= SHARED_PATIENCE_S + 1e-6


@settings(max_examples=100)
@given(st.integers(10**9, 10**15), st.integers(1, 10**12))
def test_when_a_ticket_is_due_is_fixed_by_its_arrival_and_keeps_the_order_of_its_kind(arrived, later) -> None:
    for mode in ("shared", "exclusive"):
        assert due_ns(arrived, mode) < due_ns(arrived + later, mode)
    assert due_ns(arrived, "exclusive") == arrived
    assert due_ns(arrived, "shared") - arrived == round(SHARED_PATIENCE_S * 1e9)


def test_a_crowd_that_is_timed_again_and_again_does_not_starve_one_that_shares() -> None:
    device = Device()
    served: list[float] = []
    steps = [exclusive(0.05)]

    def timed() -> None:
        device.take("exclusive", lambda: device.after(0.05, lambda: (device.give("exclusive"), timed())))

    for _ in range(8):
        timed()
    device.after(1.0, lambda: device.take("shared", lambda: served.append(device.now_s)))
    device.play(30.0)
    assert served
    assert served[0] - 1.0 < SHARED_PATIENCE_S + (len(steps) + 8) * (0.05 + HAND_OVER_S)
