"""Folds: questions about the past."""

from cudanalyst.resources import folds
from cudanalyst.resources.events import CandidateSubmitted, Recorded


def recorded(*events) -> list[Recorded]:
    return [
        Recorded(seq=seq, at=0.0, owner="ada", session="s", context="s", event=event)
        for seq, event in enumerate(events, start=1)
    ]


def made(candidate: str, *parents: str, problem: str = "scale") -> CandidateSubmitted:
    return CandidateSubmitted(candidate=candidate, problem=problem, blob="b", parents=parents)


def test_a_lineage_goes_back_through_all_parents_oldest_first_and_ends_at_a_loop() -> None:
    known = folds.parents_of(
        recorded(made("a"), made("b", "a"), made("c"), made("d", "b", "c"), made("e", "d"), made("a", "e"))
    )
    assert folds.lineage(known, "e")[-1] == "d"
    assert set(folds.lineage(known, "e")) == {"a", "b", "c", "d"}
    assert folds.lineage(known, "c") == ()
    assert folds.lineage(known, "unknown") == ()
