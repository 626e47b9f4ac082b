"""The edit books of the built-in problems, and what is asked of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.editbook import applicable, apply, pointed, strength
from cudanalyst.kernels.problem import Edit
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.planted import planted_values, visible

CATALOGUE = Catalogue()
STARTS = [(problem_id, start.name) for problem_id in CATALOGUE.ids for start in CATALOGUE.problem(problem_id).starts]
PLAYERS = ("analyzer", "debugger", "profiler")


def of(problem_id, name):
    problem = CATALOGUE.problem(problem_id)
    return problem, next(start for start in problem.starts if start.name == name)


def test_every_problem_has_at_least_two_starts_and_four_have_three():
    counts = [len(CATALOGUE.problem(problem_id).starts) for problem_id in CATALOGUE.ids]

    assert min(counts) >= 2
    assert sum(count >= 3 for count in counts) >= 4


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
def test_every_start_has_four_applicable_edits_and_a_distractor(problem_id, name):
    problem, start = of(problem_id, name)

    edits = applicable(problem, start.source)

    assert len(edits) >= 4
    assert {edit.effect for edit in edits} >= {"fix", "none", "harm"}


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
def test_every_fault_is_mended_by_an_applicable_edit_and_all_by_one(problem_id, name):
    problem, start = of(problem_id, name)

    fixes = [set(edit.fixes) for edit in applicable(problem, start.source)]

    assert start.faults
    assert set(start.faults) in fixes
    assert all({fault} in fixes for fault in start.faults)


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
def test_no_edit_for_another_fault_applies(problem_id, name):
    problem, start = of(problem_id, name)

    for edit in applicable(problem, start.source):
        assert set(edit.fixes) <= set(start.faults), edit.id


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
def test_edits_change_the_source_and_cannot_be_applied_twice(problem_id, name):
    problem, start = of(problem_id, name)

    for edit in applicable(problem, start.source):
        changed = apply(edit, start.source)
        assert changed not in {None, start.source}
        assert start.source.replace(edit.search, edit.replace) == changed


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
def test_a_code_that_points_to_a_fix_points_to_no_distractor_unless_both_are_meant(problem_id, name):
    """The distractor `drop_barrier` answers a deadlock as plausibly as the fix does: that is its purpose."""
    problem, start = of(problem_id, name)
    edits = applicable(problem, start.source)
    codes = re.findall(r"[a-z]+(?:_[a-z]+)+", " ".join(cue for edit in edits if edit.fixes for cue in edit.cues))

    for code in set(codes):
        chosen = pointed(problem, start.source, code)
        distractors = {edit.id for edit in chosen if edit.effect != "fix"}
        assert distractors <= {"drop_barrier"} if code == "barrier_deadlock" else not distractors, code


def test_sources_of_planners_stay_free_of_hints():
    for problem_id, name in STARTS:
        _, start = of(problem_id, name)
        assert not re.search(r"(?i)fault|bug|wrong|race|broken|slow|fixme|todo|missing", start.source), (
            problem_id,
            name,
        )


@given(source=st.text("ab\n", max_size=12), search=st.text("ab", min_size=1, max_size=3))
def test_an_edit_applies_exactly_where_its_text_occurs_once(source, search):
    edit = Edit(id="e", title="", search=search, replace="c")

    changed = apply(edit, source)

    # Overlapping occurrences count once, as `str.count` and `str.replace` both have it.
    assert (changed is None) == (source.count(search) != 1)
    if changed is not None:
        before, after = source.split(search)
        assert changed == f"{before}c{after}"


def test_evidence_for_two_faults_points_to_the_edit_that_mends_both():
    problem, start = of("reduction", "racy")
    race = "debugger.1 shared_race_raw at candidate.cu:21"
    stride = "profiler.1 uncoalesced_global at candidate.cu:13: 16 sectors per request"

    assert [edit.id for edit in pointed(problem, start.source, race)] == ["barrier_in_tree"]
    assert [edit.id for edit in pointed(problem, start.source, stride)] == ["interleave_reads"]
    assert [edit.id for edit in pointed(problem, start.source, f"{race}\n{stride}")] == ["barrier_and_interleave"]
    assert pointed(problem, start.source, "nothing to say") == ()


def test_the_strength_of_an_edit_counts_what_points_to_it():
    edit = Edit(id="e", title="", search="a", replace="b", cues=("one", "^two"), cue_groups=(("one", "three"),))

    assert strength(edit, "") == 0
    assert strength(edit, "zero\ntwo") == 1
    assert strength(edit, "three") == 0
    assert strength(edit, "one two three") == 2


def faults_of(problem_id, name):
    problem, start = of(problem_id, name)
    return [fault for fault in problem.faults if fault.id in start.faults]


@pytest.mark.parametrize(("problem_id", "name"), STARTS)
@pytest.mark.parametrize("level", ["compiled", "passed", "fast"])
def test_planted_values_grow_with_the_coalition_and_shrink_with_the_level(problem_id, name, level):
    faults = faults_of(problem_id, name)
    values = planted_values(faults, PLAYERS, level)

    assert (values <= planted_values(faults, PLAYERS, "compiled")).all()
    assert all(values[mask] <= values[mask | larger] for mask in range(8) for larger in range(8))


def test_the_built_in_books_hold_an_and_an_or_and_a_single_component():
    seen = set()
    for problem_id, name in STARTS:
        faults = faults_of(problem_id, name)
        found = game.moebius(planted_values(faults, ("debugger", "profiler"), "fast"))
        seen.add(tuple(sorted((mask.bit_count(), value) for mask, value in enumerate(found) if value)))
        if any(visible(fault, ["analyzer"]) and visible(fault, ["profiler"]) for fault in faults):
            seen.add("or")

    assert {((2, 1),), ((1, 1),), "or"} <= seen
