"""Properties of the judge: no single change outside the outputs goes unseen, and none within them passes by chance."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.tools.cases import GUARD_BYTES, Limits, derive, derive_seed, plan_verification, seeds_for
from cudanalyst.tools.judge import judge, worst
from cudanalyst.tools.toolchain.protocol import Execution
from tests.tools.fakes import DOUBLE, SECRET, double_expected, doubled, run_calls

PLANNED = plan_verification(
    DOUBLE, "test", {"n": 97}, labels=("cand_x", "0"), seeds=2, secret=SECRET, limits=Limits(1.0)
)
RIGHT = run_calls(doubled, PLANNED.request)


def changed(call: int, name: str, position: int, mask: int) -> Execution:
    downloads = [dict(download) for download in RIGHT.downloads]
    data = bytearray(downloads[call][name])
    data[position] ^= mask
    downloads[call][name] = bytes(data)
    return replace(RIGHT, downloads=tuple(downloads))


def test_the_unchanged_run_passes() -> None:
    assert {case.status for case in judge(PLANNED, RIGHT, double_expected).cases} == {"passed"}


@given(
    st.integers(0, 2),
    st.sampled_from(["x", "y"]),
    st.integers(0, GUARD_BYTES - 1),
    st.booleans(),
    st.integers(1, 255),
)
def test_any_changed_byte_of_a_guard_zone_is_a_violation(
    call: int, name: str, offset: int, after: bool, mask: int
) -> None:
    position = -1 - offset if after else offset
    judgement = judge(PLANNED, changed(call, name, position, mask), double_expected)
    assert worst([case.status for case in judgement.cases]) == "contract_violation"


@given(st.integers(0, 2), st.integers(0, 97 * 4 - 1), st.integers(1, 255))
def test_any_changed_byte_of_an_input_is_a_violation(call: int, offset: int, mask: int) -> None:
    judgement = judge(PLANNED, changed(call, "x", GUARD_BYTES + offset, mask), double_expected)
    assert worst([case.status for case in judgement.cases]) == "contract_violation"


@given(st.integers(0, 2), st.integers(0, 96))
def test_any_output_with_another_sign_is_wrong_at_its_index(call: int, element: int) -> None:
    execution = changed(call, "y", GUARD_BYTES + 4 * element + 3, 0x80)
    judgement = judge(PLANNED, execution, double_expected)
    (case,) = [case for case in judgement.cases if case.status != "passed"]
    assert case.status == "wrong"
    assert case.mismatch is not None
    assert (case.mismatch.index, case.mismatch.wrong_elements) == ((element,), 1)


@settings(max_examples=50)
@given(st.integers(0, 3), st.integers(0, 3))
def test_downloads_that_are_missing_never_pass(calls: int, cut: int) -> None:
    downloads = tuple({name: data[: len(data) - cut] for name, data in d.items()} for d in RIGHT.downloads[:calls])
    judgement = judge(PLANNED, replace(RIGHT, downloads=downloads), double_expected)
    statuses = {case.status for case in judgement.cases}
    assert (statuses == {"passed"}) == (calls == 3 and cut == 0)


@given(st.binary(max_size=8), st.lists(st.text(max_size=4), max_size=3), st.lists(st.text(max_size=4), max_size=3))
def test_labels_that_differ_give_seeds_that_differ(secret: bytes, first: list[str], second: list[str]) -> None:
    assert (derive(secret, *first) == derive(secret, *second)) == (first == second)
    assert 0 <= derive_seed(secret, *first) < 2**63


def test_a_problem_with_three_distributions_gets_three_seeds() -> None:
    x = DOUBLE.parameters[0].model_copy(update={"generator": "normal | positive | uniform(0, 1)"})
    problem = DOUBLE.model_copy(update={"parameters": (x, *DOUBLE.parameters[1:])})
    assert seeds_for(DOUBLE) == 2
    assert seeds_for(problem) == 3


def test_buffers_of_one_process_are_drawn_apart() -> None:
    first, second = {call.seed_index: call.inputs.arrays["x"] for call in PLANNED.calls}.values()
    assert not np.array_equal(first, second)
