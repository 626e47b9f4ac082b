"""Differences between the GPU's checks and the engine's, in plain words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.cross_check import MAX_DISAGREEMENTS, disagreements, told
from cudanalyst.tools.findings import ALL_CHECKS, Finding, Side


def finding(kind: str, line: int | None = 5, check="racecheck", other: int | None = None) -> Finding:
    side = None if other is None else Side(access="write", file="candidate.cu", line=other)
    return Finding(check=check, kind=kind, message="m", file="candidate.cu", line=line, other=side)


def differ(gpu=(), engine=(), gpu_failed=None, engine_failed=None):
    return disagreements(gpu, engine, gpu_failed=gpu_failed or {}, engine_failed=engine_failed or {})


def test_the_same_defect_at_the_same_line_is_no_difference() -> None:
    assert differ([finding("invalid_global_write")], [finding("invalid_global_write")]) == ()


def test_the_two_sides_of_a_race_may_be_told_either_way_round() -> None:
    assert differ([finding("shared_race_war", 9, other=4)], [finding("shared_race_raw", 4, other=9)]) == ()


def test_a_hang_is_one_defect_whatever_it_is_called() -> None:
    assert differ([finding("endless_loop", None)], [finding("barrier_deadlock", 7, "synccheck")]) == ()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("global_race_raw", "only the engine sees races in global memory"),
        ("uninitialized_shared_read", "shared memory"),
        ("missing_async_wait", "asynchronous copies"),
        ("divergent_barrier", "count as arrived"),
    ],
)
def test_what_only_the_engine_can_see_is_explained(kind, said) -> None:
    (item,) = differ(engine=[finding(kind)])
    assert item.seen_by == "engine"
    assert said in item.why


def test_what_only_the_gpu_found_is_told_too() -> None:
    (item,) = differ([finding("leak", None, "memcheck")])
    assert (item.seen_by, item.why) == (
        "gpu",
        "the engine reports memory that is never freed only where it is asked to (CUDANALYST_LEAK_CHECK)",
    )


def test_a_check_that_failed_on_the_other_side_explains_the_difference() -> None:
    (item,) = differ(engine=[finding("shared_race_raw")], gpu_failed={"racecheck": "Device not supported"})
    assert "racecheck did not get to its end there: Device not supported" in item.why


def test_an_unexplained_difference_says_where_to_look() -> None:
    (item,) = differ([finding("shared_race_raw", 5)], [])
    assert "look at the line" in item.why


def test_the_sentence_names_the_first_and_counts_the_rest() -> None:
    assert told(()) is None
    items = differ(engine=[finding("global_race_raw", 3), finding("global_race_raw", 9)])
    assert told(items) == (
        "only the CPU engine reports global_race_raw at candidate.cu:3: only the engine sees races in global memory (1 more difference)"
    )


kinds = st.sampled_from(["global_race_raw", "shared_race_waw", "leak", "invalid_global_read", "endless_loop"])
found = st.builds(
    finding, kinds, st.none() | st.integers(1, 6), st.sampled_from(ALL_CHECKS), st.none() | st.integers(1, 6)
)


@given(st.lists(found, max_size=40))
def test_two_equal_reports_never_differ_and_any_list_is_bounded(findings) -> None:
    assert differ(findings, findings) == ()
    assert len(differ(findings, ())) == min(len(findings), MAX_DISAGREEMENTS)
