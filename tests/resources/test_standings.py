"""Where candidates stand and what one step changed."""

import pytest

from cudanalyst.resources.events import CandidateJudged, Recorded, ToolFinished
from cudanalyst.resources.standings import Standing, followed, standings


def recorded(*events):
    return [
        Recorded(seq=seq, at=0.0, owner="ada", session="s", context="s", event=event)
        for seq, event in enumerate(events, 1)
    ]


def finished(tool, status, **more):
    return ToolFinished(call="c", tool=tool, status=status, candidate="a", **more)


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (finished("run", "passed", modelled_speedup=1.5), "passed"),
        (finished("run", "timed_out"), "crashed"),
        (finished("run", "contract_violation"), "crashed"),
        (finished("run", "compile_failed"), "compile_failed"),
        (finished("compile", "failed"), "compile_failed"),
        (CandidateJudged(candidate="a", problem="p", base_status="wrong"), "wrong"),
    ],
)
def test_what_says_where_a_candidate_stands(event, status):
    assert standings(recorded(event))["a"].base_status == status


@pytest.mark.parametrize(
    "event",
    [
        finished("run", "unavailable"),
        finished("run", "exited"),
        finished("compile", "compiled"),
        finished("debug", "clean"),
    ],
)
def test_what_says_nothing_of_it(event):
    assert standings(recorded(event)) == {}


PASSED = Standing(base_status="passed", modelled_speedup=1.0)
FAST = Standing(base_status="passed", modelled_speedup=2.0)
WRONG = Standing(base_status="wrong")


@pytest.mark.parametrize(
    ("before", "after", "improved", "regressed"),
    [
        (WRONG, PASSED, True, False),
        (PASSED, WRONG, False, True),
        (PASSED, FAST, True, False),
        (FAST, FAST, False, False),
    ],
)
def test_improving_and_regressing_follow_the_total_order_of_standings(before, after, improved, regressed):
    met = followed(before, after)
    assert (met["improved"], met["regressed"]) == (improved, regressed)


def test_measured_speed_decides_only_where_both_have_it():
    slow = Standing(base_status="passed", modelled_speedup=3.0, speedup=1.0)
    quick = Standing(base_status="passed", modelled_speedup=2.0, speedup=1.5)
    assert followed(slow, quick)["improved"]
    assert followed(slow, FAST)["regressed"]


def test_what_is_not_known_is_left_out():
    assert followed(WRONG, None) == {}
    assert "improved" not in followed(None, PASSED)
    assert followed(None, PASSED)["passed"]
