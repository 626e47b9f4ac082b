"""Ordinary use: decisions from events, shares and costs, and what is said about them."""

import pytest

from cudanalyst.resources.events import (
    CandidateSubmitted,
    EvidenceDelivered,
    PlanRecorded,
    Recorded,
    ToolFinished,
)
from cudanalyst.resources.usage.analysis import LEAST_MOMENTS, analyse_moments, wilson
from cudanalyst.resources.usage.benefit import benefits
from cudanalyst.resources.usage.costs import costs
from cudanalyst.resources.usage.models import SessionAttribution
from cudanalyst.resources.usage.moments import moments
from cudanalyst.resources.usage.words import in_words
from tests.resources.randomised.test_analysis import rows
from tests.resources.usage.test_mentions import PROFILER


def recorded(*events, session="ses_a", context=None):
    return [
        Recorded(seq=number, at=1000.0 + number, owner="ada", session=session, context=context or session, event=event)
        for number, event in enumerate(events, 1)
    ]


def submitted(candidate, *parents, problem="matmul"):
    return CandidateSubmitted(candidate=candidate, problem=problem, blob="b", parents=parents)


def ran(candidate, status, speedup=None, **more):
    return ToolFinished(call="c", tool="run", status=status, candidate=candidate, modelled_speedup=speedup, **more)


def shown(candidate, component, via="profile", trial=None):
    return EvidenceDelivered(candidate=candidate, component=component, evidence="e", via=via, trial=trial)


def test_a_decision_holds_what_was_seen_since_the_candidate_before_and_what_followed():
    events = recorded(
        submitted("a"), ran("a", "wrong"), shown("a", "debugger"), shown("a", "profiler"),
        PlanRecorded(plan="p", blob="text", cites=("profiler.2",)),
        submitted("b"), ran("b", "passed", 1.5), shown("b", "profiler"),
        submitted("c"), ran("c", "passed", 1.2),
    )  # fmt: skip
    first, second = moments(events)
    assert (first.before, first.after, first.seen, first.earlier) == ("a", "b", ("debugger", "profiler"), ())
    assert (first.status_before, first.status_after, first.levels["improved"]) == ("wrong", "passed", True)
    assert first.plans[0].cites == ("profiler.2",)
    assert (second.seen, second.earlier) == (("profiler",), ("debugger", "profiler"))
    assert (second.levels["improved"], second.levels["regressed"]) == (False, True)
    assert (second.speedup_before, second.speedup_after) == (1.5, 1.2)


def test_the_candidate_before_is_the_parent_where_one_is_named():
    events = recorded(submitted("a"), submitted("b"), submitted("c", "a"))
    assert [(one.before, one.after) for one in moments(events)] == [("a", "b"), ("a", "c")]


def test_conversations_and_problems_are_kept_apart_and_trials_left_out():
    one = recorded(
        submitted("a"), shown("a", "profiler", trial="tri_1"), submitted("x", problem="saxpy"), submitted("b")
    )
    other = recorded(submitted("c"), context="other")
    (only,) = moments([*one, *other])
    assert (only.before, only.after, only.seen) == ("a", "b", ())


def test_a_candidate_that_was_never_judged_has_no_levels():
    (only,) = moments(recorded(submitted("a"), ran("a", "wrong"), submitted("b")))
    assert (only.levels, only.status_after) == ({}, None)


def test_a_compile_that_failed_is_a_verdict():
    failed = ToolFinished(call="c", tool="compile", status="failed", candidate="b")
    (only,) = moments(recorded(submitted("a"), ran("a", "wrong"), submitted("b"), failed))
    assert only.levels == {
        "compiled": False, "passed": False, "fast_modelled": False, "improved": False, "regressed": True,
    }  # fmt: skip


def many(pairs):
    """A session in which each candidate was profiled or not, and the next improved or not."""
    events, speedup = [submitted("c0"), ran("c0", "passed", 1.0)], 1.0
    for number, (profiled, improved) in enumerate(pairs, 1):
        if profiled:
            events.append(shown(f"c{number - 1}", "profiler"))
        speedup *= 1.25 if improved else 0.8
        events += [submitted(f"c{number}"), ran(f"c{number}", "passed", speedup)]
    return recorded(*events)


def told(events):
    return analyse_moments(moments(events), costs(events), lambda _: "lane efficiency is low", lambda _: PROFILER)


def test_shares_with_and_without_are_counted_with_intervals_and_called_observational():
    found = told(many([(True, True)] * 8 + [(True, False)] * 2 + [(False, True)] * 3 + [(False, False)] * 7))
    (use,) = found.components
    assert (use.improved_with.count, use.improved_with.of) == (8, 10)
    assert (use.improved_without.count, use.improved_without.of) == (3, 10)
    assert use.improved_with.low < 0.8 < use.improved_with.high
    assert use.difference == pytest.approx(0.5)
    assert use.low < 0.5 < use.high
    assert found.kind == "observational"
    assert any("looks harmful" in note for note in found.notes)
    words = in_words(SessionAttribution(observed=found))
    assert words.startswith("Observed, not caused")
    assert "profiler 8/10 (without it 3/10)" in words


def test_few_decisions_have_shares_but_no_difference():
    found = told(many([(True, True), (False, False)] * (LEAST_MOMENTS // 2 - 1)))
    assert found.components[0].difference is None


def test_citations_and_mentions_are_counted_by_decision():
    events = recorded(
        submitted("a"), ran("a", "passed", 1.0), shown("a", "profiler"),
        PlanRecorded(plan="p", blob="x", cites=("profiler.1", "nonsense")), submitted("b"),
    )  # fmt: skip
    found = told(events)
    assert (found.components[0].cited, found.components[0].mentioned) == (1, 1)
    assert found.moments[0].mentions[0].text == "lane efficiency"
    assert (found.plans, found.plans_read) == (1, 1)


def test_nothing_yet_is_said_in_words():
    found = told(recorded(submitted("a")))
    assert (found.decisions, found.notes) == (0, ())
    assert "no decision yet" in in_words(SessionAttribution(observed=found))


def test_costs_are_summed_and_what_was_not_measured_stays_unknown():
    finished = [
        ToolFinished(call="c", tool="profile", status="profiled", candidate="a", tokens=700, seconds=0.5, device_s=0.2),
        ToolFinished(call="d", tool="profile", status="profiled", candidate="b", tokens=300, seconds=0.25, cached=True),
        ToolFinished(call="e", tool="run", status="passed", candidate="a"),
    ]
    profiler, run = costs(recorded(*finished))
    assert (profiler.component, profiler.calls, profiler.cached) == ("profiler", 2, 1)
    assert (profiler.tokens, profiler.seconds, profiler.device_s) == (1000, 0.75, 0.2)
    assert (run.tokens, run.seconds, run.device_s) == (None, None, None)


def test_an_effect_stands_next_to_what_an_offer_takes():
    from cudanalyst.resources.randomised.analysis import analyse_decisions

    draws = rows(20)
    calls = [
        Recorded(
            seq=number, at=0.0, owner="ada", session=one.session, context=None,
            event=ToolFinished(
                call="c", tool="profile", status="profiled" if "profiler" in one.offered else "withheld",
                candidate=one.candidate, tokens=500, seconds=0.1,
            ),
        )
        for number, one in enumerate(draws)
    ]  # fmt: skip
    effects = analyse_decisions(draws)
    _, profiler = benefits(calls, draws, effects)
    assert (profiler.tokens_per_offer, profiler.seconds_per_offer, profiler.device_s_per_offer) == (500, 0.1, None)
    assert profiler.effect_per_1000_tokens == pytest.approx(2 * profiler.effect, abs=1e-3)


def test_wilsons_interval_is_the_published_one():
    share = wilson(8, 10)
    assert (share.low, share.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert wilson(0, 0).low is None
