"""Folds: questions about the past."""

from cudanalyst.resources import folds
from cudanalyst.resources.events import (
    CandidateSubmitted,
    EvidenceDelivered,
    PlanRecorded,
    Recorded,
    SessionStarted,
    ToolFinished,
)


def recorded(*events) -> list[Recorded]:
    return [
        Recorded(seq=seq, at=0.0, owner="ada", session="s", context="s", event=event)
        for seq, event in enumerate(events, start=1)
    ]


def made(candidate: str, *parents: str, problem: str = "scale") -> CandidateSubmitted:
    return CandidateSubmitted(candidate=candidate, problem=problem, blob="b", parents=parents)


def ran(candidate: str, status: str = "passed", speedup: float | None = None) -> ToolFinished:
    return ToolFinished(call="c", tool="run", status=status, candidate=candidate, modelled_speedup=speedup)


def shown(component: str) -> EvidenceDelivered:
    return EvidenceDelivered(candidate="a", component=component, evidence="e", via="feedback")


def test_the_best_candidate_is_the_fastest_that_passed() -> None:
    events = recorded(
        made("a"),
        made("b"),
        made("c"),
        made("d"),
        made("other", problem="sum"),
        ran("a", speedup=1.1),
        ran("b", "wrong"),
        ran("c", speedup=1.7),
        ran("d", speedup=1.7),
        ran("other", speedup=9.0),
    )
    best = folds.best_candidate(events, "scale")
    assert best is not None
    assert (best.candidate, best.modelled_speedup) == ("c", 1.7)


def test_there_is_no_best_where_none_passed() -> None:
    assert folds.best_candidate(recorded(made("a"), ran("a", "wrong")), "scale") is None


def test_a_later_run_replaces_an_earlier_verdict() -> None:
    assert folds.best_candidate(recorded(made("a"), ran("a", speedup=2.0), ran("a", "crashed")), "scale") is None


def test_a_lineage_goes_back_through_all_parents_oldest_first_and_ends_at_a_loop() -> None:
    known = folds.candidates(
        recorded(made("a"), made("b", "a"), made("c"), made("d", "b", "c"), made("e", "d"), made("a", "e"))
    )
    assert folds.lineage(known, "e")[-1] == "d"
    assert set(folds.lineage(known, "e")) == {"a", "b", "c", "d"}
    assert folds.lineage(known, "c") == ()
    assert folds.lineage(known, "unknown") == ()


def test_exposure_tells_what_is_fresh_at_a_decision_from_what_was_seen_before() -> None:
    events = recorded(
        made("a"),
        shown("profiler"),
        shown("debugger"),
        PlanRecorded(plan="p", blob="b", cites=("debugger.1",)),
        shown("analyzer"),
        SessionStarted(),
        made("b", "a"),
    )
    decisions = folds.exposures(events)
    assert [(one.subject, one.fresh, one.seen) for one in decisions] == [
        ("a", (), ()),
        ("p", ("debugger", "profiler"), ("debugger", "profiler")),
        ("b", ("analyzer",), ("analyzer", "debugger", "profiler")),
    ]
    assert decisions[1].cites == ("debugger.1",)


def test_costs_are_summed_by_component_and_unmeasured_is_not_zero() -> None:
    events = recorded(
        ToolFinished(call="1", tool="compile", status="compiled", seconds=1.5, tokens=100),
        ToolFinished(call="2", tool="compile", status="failed", seconds=0.5, tokens=50, cached=True),
        ToolFinished(call="3", tool="run", status="passed"),
    )
    assert folds.cost_per_component(events) == {
        "compiler": folds.Cost(calls=2, cached=1, seconds=2.0, tokens=150),
        "run": folds.Cost(calls=1),
    }
