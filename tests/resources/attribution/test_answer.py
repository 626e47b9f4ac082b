"""The answer as a whole: pooling, missing cells, ceilings, placebos, exclusions, notes, and the short answer."""

import numpy as np
import pytest

from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.summary import findings, short_answer
from cudanalyst.resources.report.view import attribution_of, leads
from tests.resources.attribution.trial_rows import PLAYERS, effect, full, row, value

ADDITIVE = np.array([0.2 + 0.3 * (m & 1) + 0.2 * (m >> 1 & 1) for m in range(8)])


def passed(rows):
    return analyse(rows).slice_of("passed")


def short(rows):
    found = analyse(rows)
    return attribution_of(found, leads(found)[0])


def test_problems_weigh_the_same_and_so_do_checkpoints_within_one():
    rows = full(np.ones(8), problem="easy", checkpoint="1", repeats=20)
    rows += full(np.zeros(8), problem="hard", checkpoint="2", repeats=3)
    rows += full(np.ones(8), problem="hard", checkpoint="3", repeats=1)
    part = passed(rows)
    assert value(part).value == pytest.approx(0.5 * 1 + 0.5 * 0.5)
    assert (value(part).successes, value(part).trials) == (21, 24)
    assert [one.problem for one in part.by_problem] == ["easy", "hard"]
    assert part.by_problem[1].values[0].value == pytest.approx(0.5)


def test_coalitions_are_sets_whatever_order_they_were_written_in():
    rows = full(ADDITIVE)
    turned = [one.model_copy(update={"coalition": tuple(reversed(one.coalition))}) for one in rows]
    assert analyse(turned) == analyse(rows)


def test_a_checkpoint_with_an_empty_cell_is_left_out_and_said_so():
    rows = full(ADDITIVE, problem="whole")
    rows += [one for one in full(np.ones(8), problem="part") if one.coalition != PLAYERS]
    part = passed(rows)
    assert value(part).value == pytest.approx(0.2)
    assert "1 checkpoint of 2 left out" in part.notes[0]


def test_an_effect_that_needs_an_empty_cell_is_absent_and_never_imputed():
    part = passed([one for one in full(ADDITIVE) if "profiler" not in one.coalition])
    assert len(part.values) == 4
    assert {one.index for one in part.effects} == {"sigma", "moebius"}
    assert all("profiler" not in one.players for one in part.effects)


def test_population_intervals_come_with_enough_problems():
    def targets(problems):
        rows = [one for g in range(problems) for one in full(np.roll(ADDITIVE, g), problem=f"p{g}")]
        found = analyse(rows)
        return [one.target for one in found.slice_of("passed").effects[0].intervals], found.notes

    assert targets(4)[0] == ["these problems"]
    assert any("4 problems: intervals speak of these problems only" in note for note in targets(4)[1])
    assert targets(5)[0] == targets(12)[0] == ["these problems", "population of problems"]
    assert any("reliable only from 12" in note for note in targets(5)[1])
    assert not any("reliable" in note for note in targets(12)[1])


def test_ceilings_are_counted_stratified_and_set_the_no_op_score():
    rows = full(ADDITIVE, problem="low", no_op={"passed": False})
    rows += full(np.ones(8), problem="high", no_op={"passed": True})
    part = passed(rows)
    assert (part.ceiling_checkpoints, part.no_op) == (1, 0.5)
    below, at = part.strata
    assert (below.name, at.name) == ("below the level before", "at the level before")
    assert effect(below, "banzhaf", "analyzer").value == pytest.approx(0.3)
    assert effect(at, "banzhaf", "analyzer").value == pytest.approx(0)
    assert effect(part, "banzhaf", "analyzer").value == pytest.approx(0.15)
    assert "1 checkpoint met this level before" in part.notes[0]


def test_where_it_is_unknown_what_a_checkpoint_met_there_is_no_no_op_score():
    assert passed(full(ADDITIVE)).no_op is None
    assert passed(full(ADDITIVE, no_op={"passed": False})).no_op == 0


def test_effects_of_a_player_with_a_placebo_are_structural():
    found = analyse(full(ADDITIVE, structural=("profiler",)))
    effects = found.slice_of("passed").effects
    assert all(one.structural == ("profiler" in one.players) for one in effects)
    assert any(note.startswith("profiler could not report") for note in found.notes)


def test_infrastructure_failures_and_contamination_are_counted_and_said():
    rows = full(ADDITIVE) + [row((), block=20 + k, contaminated=True) for k in range(3)]
    rows.append(row((), block=30, state="infrastructure_failed", compiled=None))
    found = short(rows)
    assert (found.trials, found.contaminated, found.infrastructure_failed) == (80, 3, 1)
    assert any("3 contaminated trials left out" in note for note in found.notes)
    assert any("1 trial without an outcome" in note and "worst and best cases" in note for note in found.notes)


def test_modelled_speed_is_never_called_fast_alone():
    found = short(full(ADDITIVE, rung="fast"))
    assert any("not measured" in note for note in found.notes)
    assert "fast (modelled)" in short_answer(found).lower()


def test_the_short_answer_names_what_helps_what_hurts_and_what_is_open():
    harmful = np.array([0.1 + 0.8 * (m & 1) if not m & 4 else 0.1 for m in range(8)])
    found = short(full(harmful, repeats=20))
    verdicts = {one.player: one.verdict for one in findings(found) if one.level == "passed"}
    assert verdicts == {"analyzer": "helps", "profiler": "hurts", "debugger": "unclear"}
    assert "Passed: analyzer (+0.40) helped; profiler (-0.40) hurt; debugger (+0.00) open." in short_answer(found)


def test_before_any_trial_the_short_answer_says_that_nothing_can_be_said():
    found = attribution_of(analyse([]), leads(analyse(full(ADDITIVE)))[0])
    assert short_answer(found).startswith("No trial has been evaluated yet")


def test_at_the_level_regressed_a_positive_effect_is_harm():
    found = short(full(ADDITIVE, repeats=20))
    level = next(one for one in found.levels if one.level == "passed").model_copy(update={"level": "regressed"})
    harm = findings(found.model_copy(update={"levels": (level,)}))
    assert next(one.verdict for one in harm if one.player == "analyzer") == "hurts"
