"""Locks: equal designs have equal digests, and what was changed since is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.resources.design import lock as lock_module
from cudanalyst.resources.design.file import read_design, written
from cudanalyst.resources.design.lock import departures, deviations, digest_of, lock
from cudanalyst.resources.design.models import CheckpointEntry, Design
from cudanalyst.resources.trial_rows import TrialRow
from tests.resources.design.test_file import HANDLE, WHOLE

DESIGN = read_design(WHOLE)


def row(**changes: object) -> TrialRow:
    whole = {"experiment": "e", "trial": "t", "problem": "p", "checkpoint": "c", "coalition": (), "state": "evaluated"}
    return TrialRow.model_validate({**whole, **changes})


def test_the_digest_follows_from_what_was_decided_only() -> None:
    filled = DESIGN.with_checkpoints((CheckpointEntry(id=HANDLE, backbone="reduce-eoh-1", operator="eoh"),))
    locked = lock(DESIGN, at=5.0)
    assert digest_of(filled) == locked.digest == lock(DESIGN, at=9.0).digest
    assert digest_of(filled.model_copy(update={"lock": locked.digest})) == locked.digest
    assert digest_of(read_design(written(DESIGN))) == locked.digest


@given(
    st.sampled_from(
        [
            {"repeats": 11},
            {"seed": 8},
            {"players": ("analyzer", "debugger")},
            {"analysis": {"margin": 0.2}},
            {"analysis": {"stopping": {"rule": "confidence_sequence"}}},
            {"thresholds": {"fast": 1.3}},
            {"coder_sees": "plan+evidence"},
        ]
    )
)
def test_any_change_of_the_design_changes_the_digest_and_is_named(change: dict[str, object]) -> None:
    changed = Design.model_validate({**DESIGN.model_dump(), **change, "sentinels": None})
    plain = Design.model_validate({**DESIGN.model_dump(), "sentinels": None})
    locked = lock(plain, at=5.0)
    assert digest_of(changed) != locked.digest
    (name,) = change
    assert any(one.startswith(f"`{name}") for one in deviations(locked, changed, []))


def test_an_experiment_as_it_was_locked_has_no_deviations() -> None:
    assert deviations(lock(DESIGN, at=5.0), DESIGN, [row(opened_at=6.0)]) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"opened_at": 4.0}, "1 of 1 trials were opened before the design was locked."),
        ({"reused_from": "tri_x"}, "1 of 1 trials were taken over from another experiment."),
        ({"state": "waiting"}, "1 of 1 trials were not run to an outcome."),
    ],
)
def test_what_happened_otherwise_than_locked_is_said(changes: dict[str, object], said: str) -> None:
    assert deviations(lock(DESIGN, at=5.0), DESIGN, [row(**changes)]) == (said,)


def test_another_version_of_the_analysis_is_a_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = lock(DESIGN, at=5.0)
    monkeypatch.setattr(lock_module, "ANALYSIS_VERSION", "99")
    (said,) = deviations(locked, DESIGN, [])
    assert "The analysis was version" in said
    assert "version 99 now" in said


def test_a_lock_says_what_a_reader_looks_for_first() -> None:
    locked = lock(DESIGN, at=5.0)
    assert locked.primary_level == "fast_modelled"
    assert [one.players for one in locked.primary] == [("analyzer",), ("debugger",), ("profiler",)]
    assert locked.margins == {"probability": 0.1, "log_speedup": 0.05}
    assert "regime P+F" in locked.estimands[0]
    assert "contaminated trials" in locked.exclusions


def test_a_lock_that_was_edited_by_hand_gives_itself_away() -> None:
    honest = lock(DESIGN, at=5.0)
    forged = honest.model_copy(update={"design": honest.design.model_copy(update={"repeats": 3})})
    (first, second) = deviations(forged, DESIGN.model_copy(update={"repeats": 3}), [row(state="open")])
    assert "digest is not that of the design in it" in first
    assert "not run to an outcome" in second


def test_trials_show_some_deviations_by_themselves() -> None:
    assert departures([row(), row(reused_from="tri_x")]) == ("1 of 2 trials were taken over from another experiment.",)
