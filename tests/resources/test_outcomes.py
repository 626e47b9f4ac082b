"""Outcomes: nested levels and a total order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.resources.outcomes import (
    FAST_THRESHOLD,
    base_status_of,
    no_op,
    outcome_of,
    speedups_of,
    standing,
    succeeded,
)
from cudanalyst.resources.trials import Outcome
from cudanalyst.tools.timing.models import SizeTiming, TimingMode, TimingVerdict

RUNS = ("passed", "wrong", "crashed", "timed_out", "contract_violation", "compile_failed")
STATUSES = ("compile_failed", "crashed", "wrong", "passed")
LEVELS = ("compiled", "passed", "fast_modelled")
speedups = st.one_of(st.none(), st.floats(0.01, 100))
ends = st.one_of(
    st.tuples(st.sampled_from(["failed", "timed_out"]), st.none()),
    st.tuples(st.just("compiled"), st.sampled_from(RUNS)),
)
states = st.tuples(st.sampled_from([None, *STATUSES]), speedups)


@given(before=st.sampled_from(STATUSES), end=ends, speedup=speedups, old=speedups)
def test_levels_are_nested_and_failures_score_one(before, end, speedup, old) -> None:
    outcome = outcome_of(before, *end, speedup, before_speedup=old)
    assert outcome.fast_modelled <= outcome.passed <= outcome.compiled
    assert outcome.passed == (outcome.base_status_after == "passed")
    assert outcome.compiled == (outcome.base_status_after != "compile_failed")
    assert not (outcome.improved and outcome.regressed)
    assert outcome.modelled_speedup >= 1.0
    if not outcome.passed:
        assert outcome.modelled_speedup == 1.0


@given(a=states, b=states, c=states)
def test_standing_is_a_total_order(a, b, c) -> None:
    x, y, z = standing(*a), standing(*b), standing(*c)
    assert (x < y) + (x == y) + (x > y) == 1
    if x <= y <= z:
        assert x <= z


def test_every_step_up_stands_higher() -> None:
    ladder = [
        (None, None),
        ("compile_failed", None),
        ("crashed", None),
        ("wrong", None),
        ("passed", 0.5),
        ("passed", 1.0),
        ("passed", FAST_THRESHOLD - 0.01),
        ("passed", FAST_THRESHOLD),
        ("passed", 3.0),
    ]
    assert all(standing(*low) < standing(*high) for low, high in pairwise(ladder))
    assert standing("passed", None) == standing("passed", 1.0)
    assert standing("wrong", 9.0) == standing("wrong", None)


@given(status=st.sampled_from(STATUSES), speedup=st.floats(0.01, 100))
def test_changing_nothing_neither_improves_nor_regresses(status, speedup) -> None:
    end = ("failed", None) if status == "compile_failed" else ("compiled", status)
    value = speedup if status == "passed" else None
    outcome = outcome_of(status, *end, value, before_speedup=value)
    assert not outcome.improved
    assert not outcome.regressed


@pytest.mark.parametrize("failure", ["refusal", "truncation", "abandoned"])
@pytest.mark.parametrize("before", STATUSES)
def test_a_planner_that_fails_fails_at_every_level_and_regresses(before, failure) -> None:
    outcome = outcome_of(before, None, None, None, planner_failure=failure)
    assert outcome.base_status_after is None
    assert not any(succeeded(outcome, level) for level in LEVELS)
    assert outcome.regressed
    assert outcome.planner_failure == failure


@pytest.mark.parametrize(("speedup", "fast"), [(None, False), (1.0, False), (1.1199, False), (1.12, True), (2.0, True)])
def test_fast_begins_at_the_threshold(speedup, fast) -> None:
    assert outcome_of("passed", "compiled", "passed", speedup).fast_modelled is fast


@pytest.mark.parametrize(
    ("compiled", "run"),
    [
        ("unavailable", None),
        ("compiled", "unavailable"),
        ("compiled", None),
        ("running", None),
        ("compiled", "running"),
    ],
)
def test_an_evaluator_that_could_not_work_is_no_outcome(compiled, run) -> None:
    with pytest.raises(Unavailable):
        outcome_of("wrong", compiled, run, None)


def test_a_program_has_no_base_status() -> None:
    with pytest.raises(BadRequest, match="program"):
        base_status_of("compiled", "exited")


@pytest.mark.parametrize("speedup", [0.0, -1.0, float("nan"), float("inf")])
def test_a_speedup_that_is_no_number_is_refused(speedup) -> None:
    with pytest.raises(BadRequest, match="finite positive"):
        outcome_of("passed", "compiled", "passed", speedup)


def test_statuses_and_a_planners_failure_exclude_each_other() -> None:
    with pytest.raises(BadRequest, match="not both"):
        outcome_of("wrong", "compiled", "passed", None, planner_failure="refusal")
    with pytest.raises(BadRequest, match="not neither"):
        outcome_of("wrong", None, None, None)


@pytest.mark.parametrize(
    ("status", "speedup", "met"),
    [
        ("compile_failed", 1.0, ()),
        ("crashed", 1.0, ("compiled",)),
        ("wrong", 1.0, ("compiled",)),
        ("passed", 1.0, ("compiled", "passed")),
        ("passed", 1.5, LEVELS),
    ],
)
def test_the_no_op_score_is_what_the_frozen_state_already_meets(lab, status, speedup, met) -> None:
    checkpoint = lab.freeze(status=status, speedup=speedup)
    assert tuple(level for level in LEVELS if no_op(checkpoint, level)) == met


def test_measured_speed_is_never_made_up_from_modelled_speed(lab) -> None:
    with pytest.raises(BadRequest, match="measured"):
        no_op(lab.freeze(), "fast")
    with pytest.raises(BadRequest, match="measured"):
        succeeded(outcome_of("wrong", "compiled", "passed", 2.0), "fast")


def test_measured_times_make_a_passing_candidate_fast_whatever_was_modelled() -> None:
    outcome = outcome_of("passed", "compiled", "passed", 1.0, measured_fast=True, measured_speedup=1.3)
    assert (outcome.fast, outcome.speedup, outcome.fast_modelled) == (True, 1.3, False)
    assert succeeded(outcome, "fast")
    slow = outcome_of("passed", "compiled", "passed", 2.0, measured_fast=False, measured_speedup=1.05)
    assert not succeeded(slow, "fast")
    assert succeeded(slow, "fast_modelled")


def test_a_failure_is_never_fast() -> None:
    outcome = outcome_of("passed", "compiled", "wrong", None, measured_fast=True, measured_speedup=9.0)
    assert outcome.fast is False
    assert outcome.speedup is None
    assert not succeeded(outcome_of("passed", "failed", None, None), "fast")


def _timed(n: int, verdict: TimingVerdict | None, speedup: float | None, mode: TimingMode = "warm") -> SizeTiming:
    ends = {} if speedup is None else {"speedup_low": speedup * 0.99, "speedup_high": speedup * 1.01}
    return SizeTiming(sizes={"n": n}, mode=mode, verdict=verdict, speedup=speedup, **ends)


def test_an_outcome_holds_the_measured_speedup_of_each_size_that_was_compared() -> None:
    timings = [
        _timed(100, "faster", 1.3), _timed(200, "same", 1.001), _timed(300, None, None), _timed(100, "slower", 0.8, "cold"),
    ]  # fmt: skip
    found = speedups_of(timings)
    assert [(one.sizes["n"], one.verdict, one.speedup) for one in found] == [(100, "faster", 1.3), (200, "same", 1.001)]
    assert found[0].low < found[0].speedup < found[0].high
    outcome = outcome_of("passed", "compiled", "passed", 1.0, measured_speedup=1.14, measured_by_size=found)
    assert outcome.speedups == found
    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome


def test_a_failure_has_no_measured_speedups_and_neither_has_a_machine_without_a_gpu() -> None:
    found = speedups_of([_timed(100, "faster", 1.3)])
    assert outcome_of("passed", "compiled", "wrong", None, measured_by_size=found).speedups == ()
    assert outcome_of("passed", "compiled", "passed", 1.0).speedups == ()
    assert speedups_of([]) == ()
