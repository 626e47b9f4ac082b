"""From events to randomised decisions and what came of them."""

import pytest

from cudanalyst.resources.events import (
    CandidateJudged,
    DeliveryRandomised,
    EvidenceDelivered,
    EvidenceRequested,
    Recorded,
    SessionStarted,
)
from cudanalyst.resources.randomised.decisions import STOPPED_AFTER_S, decisions
from cudanalyst.resources.randomised.draws import RandomisedDelivery

HALF = RandomisedDelivery(propensities={"debugger": 0.5, "profiler": 0.5})


def recorded(*events, session="ses_a", at=1000.0):
    return [
        Recorded(seq=number, at=at + number, owner="ada", session=session, context=session, event=event)
        for number, event in enumerate(events, 1)
    ]


def drawn(candidate, number, *offered, problem="matmul", propensities=HALF.propensities):
    return DeliveryRandomised(
        candidate=candidate, problem=problem, number=number, offered=offered, propensities=propensities, joint=0.25
    )


def judged(candidate, status, speedup=None, problem="matmul"):
    return CandidateJudged(candidate=candidate, problem=problem, base_status=status, modelled_speedup=speedup)


START = SessionStarted(randomise=HALF)


def test_a_decisions_outcome_is_that_of_the_next_candidate_of_its_problem():
    events = recorded(
        START,
        drawn("a", 1, "profiler"), judged("a", "wrong"),
        drawn("x", 2, problem="saxpy"), judged("x", "passed", 1.0, "saxpy"),
        drawn("b", 3), judged("b", "passed", 2.0),
    )  # fmt: skip
    first, other, last = decisions(events, now=1010.0)
    assert (first.state, first.next, first.status) == ("followed", "b", "wrong")
    assert first.levels == {
        "compiled": True, "passed": True, "fast_modelled": True, "improved": True, "regressed": False,
    }  # fmt: skip
    assert (other.state, last.state) == ("pending", "pending")
    assert last.earlier == {"debugger": 0, "profiler": 1}


def test_the_last_decision_of_a_silent_session_was_stopped_at():
    events = recorded(START, drawn("a", 1), judged("a", "wrong"))
    (only,) = decisions(events, now=events[-1].at + STOPPED_AFTER_S + 1)
    assert only.state == "stopped"
    assert only.levels == {}


def test_a_next_candidate_without_a_verdict_is_told_apart_from_a_failure():
    events = recorded(START, drawn("a", 1), judged("a", "wrong"), drawn("b", 2))
    assert [one.state for one in decisions(events, now=1010.0)] == ["unjudged", "pending"]


def test_what_was_taken_and_what_was_asked_for_against_the_draw_are_kept():
    shown = EvidenceDelivered(candidate="a", component="profiler", evidence="e", via="profile")
    asked = EvidenceRequested(candidate="a", component="debugger", via="debug")
    events = recorded(START, drawn("a", 1, "profiler"), shown, asked)
    (only,) = decisions(events, now=1010.0)
    assert (only.delivered, only.requested) == (("profiler",), ("debugger",))


@pytest.mark.parametrize(
    ("propensities", "declared"), [(HALF.propensities, True), ({"debugger": 0.6, "profiler": 0.5}, False)]
)
def test_draws_with_other_probabilities_than_declared_are_marked(propensities, declared):
    (only,) = decisions(recorded(START, drawn("a", 1, propensities=propensities)), now=1010.0)
    assert only.declared is declared


def test_sessions_without_randomisation_have_no_decisions():
    assert decisions(recorded(SessionStarted(), judged("a", "wrong")), now=0.0) == ()
