"""The answer as a whole: pooling, missing cells, ceilings, placebos, exclusions, notes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.attribute import attribute
from cudanalyst.resources.attribution.summary import findings, short_answer
from cudanalyst.resources.attribution.table import Attribution, Observation

PLAYERS = ("analyzer", "debugger", "profiler")
COALITIONS = [game.members(mask, PLAYERS) for mask in range(8)]


def trial(coalition, success, *, problem="p", checkpoint="c", block=0):
    return Observation(problem=problem, checkpoint=checkpoint, block=block, coalition=coalition, success=success)


def full(v, *, problem="p", checkpoint="c", repeats=10):
    """Every coalition `repeats` times; success as often as v says, to the nearest trial."""
    return [
        trial(coalition, r < round(p * repeats), problem=problem, checkpoint=checkpoint, block=r)
        for r in range(repeats)
        for coalition, p in zip(COALITIONS, v, strict=True)
    ]


def effect(level, index, *players):
    return next(e for e in level.effects if e.index == index and e.players == players)


def value(level, *coalition):
    return next(v for v in level.values if v.coalition == coalition)


ADDITIVE = np.array([0.2 + 0.3 * (m & 1) + 0.2 * (m >> 1 & 1) for m in range(8)])


def test_every_index_is_estimated_with_an_interval_that_names_its_target():
    level = attribute({"passed": full(ADDITIVE)}, PLAYERS).levels[0]
    assert len(level.values) == 8
    assert {e.index for e in level.effects} == {
        "banzhaf",
        "banzhaf_interaction",
        "sigma",
        "shapley",
        "shapley_interaction",
    }
    assert effect(level, "banzhaf", "analyzer").value == pytest.approx(0.3)
    assert effect(level, "banzhaf_interaction", "analyzer", "debugger").value == pytest.approx(0)
    assert all([i.target for i in e.intervals] == ["these problems"] for e in level.effects)
    assert all(e.intervals[0].low <= e.value <= e.intervals[0].high for e in level.effects)


def test_problems_weigh_the_same_and_so_do_checkpoints_within_one():
    seen = full(np.ones(8), problem="easy", checkpoint="1", repeats=20)
    seen += full(np.zeros(8), problem="hard", checkpoint="2", repeats=3)
    seen += full(np.ones(8), problem="hard", checkpoint="3", repeats=1)
    level = attribute({"passed": seen}, PLAYERS).levels[0]
    assert value(level).value == pytest.approx(0.5 * 1 + 0.5 * 0.5)
    assert (value(level).successes, value(level).trials) == (21, 24)
    assert [row.problem for row in level.by_problem] == ["easy", "hard"]
    assert level.by_problem[1].values[0].value == pytest.approx(0.5)


def test_coalitions_are_sets_whatever_order_they_were_written_in():
    seen = [trial(tuple(reversed(o.coalition)), o.success, block=o.block) for o in full(ADDITIVE)]
    assert attribute({"passed": seen}, PLAYERS) == attribute({"passed": full(ADDITIVE)}, PLAYERS)


def test_a_checkpoint_with_an_empty_cell_is_left_out_and_said_so():
    seen = full(ADDITIVE, problem="whole", checkpoint="1")
    seen += [o for o in full(np.ones(8), problem="part", checkpoint="2") if o.coalition != PLAYERS]
    level = attribute({"passed": seen}, PLAYERS).levels[0]
    assert value(level).value == pytest.approx(0.2)
    assert "1 checkpoint of 2 left out" in level.notes[0]


def test_an_effect_that_needs_an_empty_cell_is_absent_and_never_imputed():
    seen = [o for o in full(ADDITIVE) if "profiler" not in o.coalition]
    level = attribute({"passed": seen}, PLAYERS).levels[0]
    assert len(level.values) == 4
    assert [(e.index, e.players) for e in level.effects] == [("sigma", ("analyzer", "debugger"))]
    assert "No checkpoint has a trial in every cell yet (4 of 8 are empty)" in level.notes[0]


def test_before_any_trial_nothing_is_said():
    found = attribute({"passed": []}, PLAYERS)
    assert found.levels[0].values == found.levels[0].effects == ()
    assert found.notes[0].startswith("No trial has been evaluated yet")
    assert short_answer(found).startswith("No trial has been evaluated yet")


def test_population_intervals_come_with_enough_problems():
    def targets(problems):
        seen = [o for g in range(problems) for o in full(np.roll(ADDITIVE, g), problem=f"p{g}", checkpoint=f"c{g}")]
        found = attribute({"passed": seen}, PLAYERS)
        return [i.target for i in found.levels[0].effects[0].intervals], found.notes

    assert targets(4)[0] == ["these problems"]
    assert any("4 problems: intervals speak of these problems only" in note for note in targets(4)[1])
    assert targets(5)[0] == targets(12)[0] == ["these problems", "population of problems"]
    assert any("reliable only from 12" in note for note in targets(5)[1])
    assert not any("reliable" in note for note in targets(12)[1])


def test_ceilings_are_counted_stratified_and_set_the_no_op_score():
    seen = full(ADDITIVE, problem="low", checkpoint="1") + full(np.ones(8), problem="high", checkpoint="2")
    level = attribute({"passed": seen}, PLAYERS, ceilings={"passed": {"2"}}).levels[0]
    assert (level.ceiling_checkpoints, level.no_op) == (1, 0.5)
    below, at = level.strata
    assert (below.name, at.name) == ("below the level before", "at the level before")
    assert effect(below, "banzhaf", "analyzer").value == pytest.approx(0.3)
    assert effect(at, "banzhaf", "analyzer").value == pytest.approx(0)
    assert effect(level, "banzhaf", "analyzer").value == pytest.approx(0.15)
    assert "1 checkpoint met this level before" in level.notes[0]


def test_a_given_no_op_score_is_kept_and_without_ceilings_it_is_unknown():
    assert attribute({"passed": full(ADDITIVE)}, PLAYERS, no_op={"passed": 0.25}).levels[0].no_op == 0.25
    assert attribute({"passed": full(ADDITIVE)}, PLAYERS).levels[0].no_op is None
    assert attribute({"passed": full(ADDITIVE)}, PLAYERS, ceilings={"passed": ()}).levels[0].no_op == 0


def test_effects_of_a_player_with_a_placebo_are_structural():
    found = attribute({"passed": full(ADDITIVE)}, PLAYERS, structural={"c": ["profiler"], "elsewhere": ["analyzer"]})
    marked = {e.players for e in found.levels[0].effects if e.structural}
    assert marked == {("profiler",), ("analyzer", "profiler"), ("debugger", "profiler")}
    assert any(note.startswith("profiler could not report") for note in found.notes)


def test_infrastructure_failures_bound_the_values_of_their_coalition():
    seen = [o for o in full(ADDITIVE) if not (o.coalition == ("analyzer",) and o.block >= 8)]
    found = attribute({"passed": seen}, PLAYERS, infrastructure_failed={("c", ("analyzer",)): 2})
    hit, other = value(found.levels[0], "analyzer"), value(found.levels[0])
    assert (hit.infrastructure_failed, hit.worst, hit.best) == (2, pytest.approx(0.5), pytest.approx(0.7))
    assert (other.infrastructure_failed, other.worst, other.best) == (0, None, None)
    assert found.infrastructure_failed == 2
    assert any("worst and best cases" in note for note in found.notes)


def test_exclusions_are_counted_and_said():
    found = attribute({"passed": full(ADDITIVE)}, PLAYERS, contaminated=3, infrastructure_failed=1)
    assert (found.trials, found.contaminated, found.infrastructure_failed) == (80, 3, 1)
    assert any("3 contaminated trials left out" in note for note in found.notes)
    assert any("1 trial without an outcome" in note for note in found.notes)


def test_modelled_speed_is_never_called_fast_alone():
    found = attribute({"fast_modelled": full(ADDITIVE)}, PLAYERS)
    assert any("not measured" in note for note in found.notes)
    assert "fast (modelled)" in short_answer(found).lower()


@pytest.mark.parametrize("players", [(), ("a", "a"), tuple("abcdefg")])
def test_players_must_be_one_to_six_and_distinct(players):
    with pytest.raises(BadRequest, match="1 to 6 distinct"):
        attribute({}, players)


def test_the_short_answer_names_what_helps_what_hurts_and_what_is_open():
    harmful = np.array([0.1 + 0.8 * (m & 1) if not m & 4 else 0.1 for m in range(8)])
    found = attribute({"passed": full(harmful, repeats=20)}, PLAYERS)
    verdicts = {finding.player: finding.verdict for finding in findings(found)}
    assert verdicts == {"analyzer": "helps", "profiler": "hurts", "debugger": "unclear"}
    assert short_answer(found).startswith(
        "Passed: analyzer (+0.40) helped; profiler (-0.40) hurt; debugger (+0.00) open."
    )


def test_at_the_level_regressed_a_positive_effect_is_harm():
    found = attribute({"regressed": full(ADDITIVE, repeats=20)}, PLAYERS)
    assert next(f.verdict for f in findings(found) if f.player == "analyzer") == "hurts"


@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sampled_from("12"), st.sampled_from(COALITIONS), st.booleans()), max_size=40
    )
)
def test_any_experiment_however_incomplete_gives_values_inside_their_intervals(rows):
    seen = [
        trial(coalition, success, problem=problem, checkpoint=problem + unit, block=k)
        for k, (problem, unit, coalition, success) in enumerate(rows)
    ]
    found = attribute({"passed": seen}, PLAYERS)
    assert Attribution.model_validate_json(found.model_dump_json()) == found
    for row in (*found.levels[0].values, *found.levels[0].effects):
        for interval in row.intervals:
            assert interval.low - 1e-9 <= row.value <= interval.high + 1e-9
