"""The whole analysis of rows: slices, exclusions, comparisons, claims, families, sequences."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan, Claim, EffectName, RegimePair, Stopping
from cudanalyst.resources.attribution.result import Analysis
from cudanalyst.resources.attribution.sampling import sample_coalitions
from cudanalyst.resources.attribution.table import interval_for
from tests.resources.attribution.trial_rows import COALITIONS, PLAYERS, effect, full, row, value

ADDITIVE = np.array([0.2 + 0.3 * (m & 1) + 0.2 * (m >> 1 & 1) for m in range(8)])
THESE = AnalysisPlan(target="these problems")


def problems(number, table=ADDITIVE, **more):
    """The same game on many problems, each a little different."""
    return [
        one
        for g in range(number)
        for one in full(np.clip(table + 0.1 * ((g % 3) - 1), 0, 1), problem=f"p{g:02}", **more)
    ]


def contrast_of(found, against, quantity, *players):
    wanted = EffectName(index="banzhaf", players=players) if players else None
    return next(
        one
        for one in found.contrasts
        if (one.against, one.quantity, one.effect, one.level, one.generation)
        == (against, quantity, wanted, "passed", None)
    )


def test_every_index_of_every_level_comes_with_intervals():
    part = analyse(problems(6)).slice_of("passed")
    assert {one.index for one in part.effects} == {
        "banzhaf", "banzhaf_interaction", "banzhaf_third", "sigma",
        "shapley", "shapley_interaction", "shapley_taylor", "moebius",
    }  # fmt: skip
    assert len([one for one in part.effects if one.index == "moebius"]) == 7
    for one in part.effects:
        assert one.intervals[0].target == "these problems"
        assert all(interval.low <= one.value + 1e-9 and one.value - 1e-9 <= interval.high for interval in one.intervals)
    assert effect(part, "banzhaf", "analyzer").value == pytest.approx(0.3, abs=0.02)
    assert [one.problem for one in part.by_problem] == [f"p{g:02}" for g in range(6)]
    assert {one.effect.index for one in part.heterogeneity} == {"banzhaf", "banzhaf_interaction"}
    assert {one.effect.index for one in part.logit} == {"banzhaf", "banzhaf_interaction"}


def test_an_answer_survives_a_round_trip_as_json():
    found = analyse(problems(5))
    assert Analysis.model_validate_json(found.model_dump_json()) == found


def test_each_generation_has_its_slices_beside_the_pooled_ones():
    rows = problems(4, generation=0) + problems(4, ADDITIVE + 0.1, generation=3, checkpoint="later")
    rows = [one.model_copy(update={"checkpoint": f"{one.problem}-{one.generation}"}) for one in rows]
    found = analyse(rows)
    assert found.generations == (0, 3)
    pooled, first, last = (found.slice_of("passed", generation=g) for g in (None, 0, 3))
    assert (pooled.checkpoints, first.checkpoints, last.checkpoints) == (8, 4, 4)
    assert value(pooled).value == pytest.approx((value(first).value + value(last).value) / 2)
    assert pooled.by_problem
    assert not first.by_problem


def test_what_was_not_measured_is_left_out_and_said():
    found = analyse(full(ADDITIVE))
    assert found.slice_of("fast") is None
    assert any("Nothing was measured for fast, score" in note for note in found.notes)
    partly = full(ADDITIVE, problem="p") + full(ADDITIVE, problem="q", rung="fast", fast=True, speedup=2.0)
    part = analyse(partly).slice_of("fast")
    assert part.problems == 1
    assert any("1 checkpoint left out: fast is not known of every trial" in note for note in part.notes)


def test_scores_are_mean_logs_with_failures_counted_as_one():
    rows = full(np.full(8, 0.5), rung="fast")
    part = analyse(rows).slice_of("score_modelled")
    assert part.scale == "log speedup"
    assert value(part).value == pytest.approx(0.5 * np.log(2))
    assert part.no_op == 0


def test_exclusions_are_counted_each_for_its_reason():
    rows = full(ADDITIVE)
    rows.append(row((), rung="passed", block=90, contaminated=True))
    rows.append(row((), block=91, state="open", compiled=None))
    rows.append(row((), rung="passed", block=92, reused_from="other"))
    rows.append(row((), rung="passed", block=93, open=True))
    found = analyse(rows, AnalysisPlan(exclude_reused=True))
    left = found.exclusions
    assert (left.contaminated, left.pending, left.reused, left.open, found.trials) == (1, 1, 1, 1, 81)
    assert analyse(rows).exclusions.reused == 0
    assert any("must not decide when to stop" in note for note in found.notes)


def test_checkpoints_are_stratified_by_status_and_by_the_level_they_had():
    broken = full(ADDITIVE, problem="a", base_status_before="compile_failed", no_op={"passed": False})
    working = full(np.ones(8), problem="b", base_status_before="passed", no_op={"passed": True})
    part = analyse(broken + working).slice_of("passed")
    strata = {one.name: effect(one, "banzhaf", "analyzer").value for one in part.strata}
    assert strata == {
        "compile_failed": pytest.approx(0.3),
        "passed": pytest.approx(0),
        "below the level before": pytest.approx(0.3),
        "at the level before": pytest.approx(0),
    }
    assert (part.no_op, part.ceiling_checkpoints) == (0.5, 1)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_one_player_or_two_have_the_indices_that_exist(number):
    players = ("analyzer", "compiler", "debugger", "profiler")[:number]
    rows = full(np.linspace(0.2, 0.8, 1 << number), players=players)
    part = analyse(rows).slice_of("passed")
    assert len(part.values) == 1 << number
    assert len([one for one in part.effects if one.index == "banzhaf"]) == number
    assert len([one for one in part.effects if one.index == "banzhaf_interaction"]) == number * (number - 1) // 2
    assert len([one for one in part.effects if one.index == "banzhaf_third"]) == {1: 0, 2: 0, 4: 4}[number]


def test_rows_of_other_players_are_refused():
    with pytest.raises(BadRequest, match="different players"):
        analyse([row(()), row((), players=("analyzer",))])


def test_before_any_trial_there_is_nothing_but_a_note():
    found = analyse([])
    assert found.slices == found.claims == found.families == ()
    assert found.notes[0].startswith("No trial has been evaluated yet") or found.notes[1:]


# Regimes


def test_regimes_are_contrasted_on_the_same_checkpoints_and_blocks():
    rows = problems(6, ADDITIVE) + problems(6, ADDITIVE - 0.1, regime="NP+F")
    rows += full(ADDITIVE, problem="only here")
    found = analyse(rows, THESE)
    lift = contrast_of(found, "NP+F", "mean lift")
    assert lift.value == pytest.approx(0.1, abs=0.02)
    assert (lift.problems, lift.blocked, lift.excludes_zero) == (6, True, True)
    assert contrast_of(found, "NP+F", "difference of effects", "analyzer").value == pytest.approx(0, abs=0.03)


def test_a_regime_without_feedback_is_compared_with_every_coalition():
    bare = [row((), rung="passed" if r < 2 else None, block=r, regime="P+NF") for r in range(10)]
    found = analyse(full(ADDITIVE) + bare)
    assert contrast_of(found, "P+NF", "mean lift").value == pytest.approx(ADDITIVE.mean() - 0.2)
    assert contrast_of(found, "P+NF", "lift with all evidence").value == pytest.approx(0.5)
    assert contrast_of(found, "P+NF", "lift without evidence").value == pytest.approx(0)
    assert not [one for one in found.contrasts if one.quantity == "difference of effects"]
    assert [one.coalition for one in found.slice_of("passed", regime="P+NF").values] == [()]


def test_only_planned_contrasts_are_made_where_there_is_a_plan():
    rows = full(ADDITIVE) + full(ADDITIVE, regime="RF") + full(ADDITIVE, regime="DP")
    found = analyse(rows, AnalysisPlan(contrasts=(RegimePair(regime="RF", against="DP"),)))
    assert {(one.condition.regime, one.against) for one in found.contrasts} == {("RF", "DP")}


def test_pairing_within_blocks_removes_what_both_regimes_share():
    rng, rows = np.random.default_rng(0), []
    for r in range(40):
        good = rng.random() < 0.5
        for regime, rate in (("P+F", 0.75), ("NP+F", 0.65)):
            rows += [
                row(
                    some,
                    rung="passed" if rng.random() < (rate if good else rate - 0.5) else None,
                    block=r,
                    regime=regime,
                )
                for some in COALITIONS
            ]
    lift = contrast_of(analyse(rows), "NP+F", "mean lift")
    apart = [one.model_copy(update={"block": one.block + 100 * (one.regime == "NP+F")}) for one in rows]
    unpaired = contrast_of(analyse(apart), "NP+F", "mean lift")
    assert lift.value == pytest.approx(unpaired.value)
    wide, narrow = (interval_for(one.intervals, "these problems") for one in (unpaired, lift))
    assert narrow.high - narrow.low < wide.high - wide.low


# Generations


def growing(problem, generation, amount):
    table = np.array([0.3 + amount * (m & 3 == 3) for m in range(8)])
    return full(table, problem=problem, checkpoint=f"{problem}-{generation}", generation=generation)


def test_slopes_are_over_problems_that_were_tried_at_every_generation():
    rows = [one for g in range(6) for t in range(3) for one in growing(f"p{g}", t, 0.1 + 0.2 * t)]
    rows += growing("early only", 0, 0.6)
    found = analyse(rows)
    slope = next(
        one for one in found.slopes if one.level == "passed" and one.effect.players == ("analyzer", "debugger")
    )
    assert (slope.problems, slope.generations) == (6, (0, 1, 2))
    assert slope.value == pytest.approx(0.2)
    assert slope.logit_value > 0


# Claims


def judged(rows, **claim):
    plan = THESE.model_copy(update={"claims": (Claim(name="claim", **claim),)})
    return analyse(rows, plan).claims[0]


def test_one_sided_claims_and_equivalence_are_shown_only_where_limits_allow():
    rows = problems(6, repeats=20)
    assert judged(rows, kind="positive", players=("analyzer",)).verdict == "shown"
    assert judged(rows, kind="negative", players=("analyzer",)).verdict == "not shown"
    assert judged(rows, kind="positive", players=("profiler",)).verdict == "not shown"
    assert judged(rows, kind="equivalent", players=("profiler",)).verdict == "shown"
    assert judged(rows, kind="equivalent", players=("profiler",), margin=0.01).verdict == "not shown"
    assert judged(rows, kind="equivalent", players=("analyzer",)).verdict == "not shown"


def test_only_through_interactions_needs_both_halves():
    # The debugger helps with the profiler and hurts without it.
    crossed = np.array([0.5 + 0.2 * (1 if bool(m & 2) == bool(m & 4) else -1) for m in range(8)])
    shown = judged(problems(8, crossed, repeats=20), kind="only_through_interactions", players=("debugger",))
    assert shown.verdict == "shown"
    assert "with profiler +0.8" in shown.text
    assert (
        judged(problems(8, repeats=20), kind="only_through_interactions", players=("debugger",)).verdict == "not shown"
    )
    nothing = problems(8, np.full(8, 0.5), repeats=20)
    assert judged(nothing, kind="only_through_interactions", players=("debugger",)).verdict == "not shown"


def test_interactions_that_grow_are_shown_with_the_log_odds_beside():
    rows = [one for g in range(6) for t in range(3) for one in growing(f"p{g}", t, 0.1 + 0.2 * t)]
    claim = {"kind": "growing", "index": "banzhaf_interaction", "players": ("analyzer", "debugger")}
    found = judged(rows, **claim)
    assert found.verdict == "shown"
    assert "on log odds" in found.text
    assert judged([one for one in rows if one.generation == 0], **claim).verdict == "cannot be tested"


def test_regimes_can_be_claimed_better_or_equal():
    rows = problems(6, ADDITIVE, repeats=20) + problems(6, ADDITIVE - 0.1, repeats=20, regime="NP+F")
    assert judged(rows, kind="regime_positive", against="NP+F").verdict == "shown"
    assert judged(rows, kind="regime_equivalent", against="NP+F", margin=0.05).verdict == "not shown"
    assert judged(rows, kind="regime_positive", against="RF").verdict == "cannot be tested"


def test_whose_plans_transfer_better_can_be_claimed():
    rows = problems(6, ADDITIVE, repeats=20, regime="PT", plan_of="same family")
    rows += problems(6, ADDITIVE - 0.15, repeats=20, regime="PT", plan_of="other family")
    claim = {"kind": "regime_positive", "regime": "PT", "against": "PT"}
    better = judged(rows, **claim, plan_of="same family", against_plan_of="other family")
    worse = judged(rows, **claim, plan_of="other family", against_plan_of="same family")
    assert (better.verdict, worse.verdict) == ("shown", "not shown")
    assert judged(rows, **claim).verdict == "cannot be tested"
    found = analyse(rows, THESE.model_copy(update={"contrasts": (RegimePair(regime="PT", against="PT"),)}))
    lifts = {
        one.condition.plan_of: (one.against_plan_of, one.value)
        for one in found.contrasts
        if one.level == "passed" and one.quantity == "mean lift"
    }
    assert lifts["same family"] == ("other family", pytest.approx(0.15, abs=0.02))


def test_too_few_problems_cannot_speak_of_a_population():
    plan = AnalysisPlan(claims=(Claim(name="c", kind="positive", players=("analyzer",)),))
    found = analyse(problems(4), plan).claims[0]
    assert found.verdict == "cannot be tested"
    assert "5 are the least" in found.text


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"kind": "positive", "players": ("oracle",)}, "no player"),
        ({"kind": "positive", "players": ()}, "needs 1 distinct"),
        ({"kind": "positive", "index": "sigma", "players": ("analyzer", "analyzer")}, "needs 2 distinct"),
        ({"kind": "regime_positive"}, "in `against`"),
    ],
)
def test_claims_that_speak_of_nothing_are_refused(claim, message):
    with pytest.raises(BadRequest, match=message):
        judged(full(ADDITIVE), **claim)


# Families and sequences


def test_a_family_is_refused_below_its_floor_and_tested_above():
    six = tuple(EffectName(index="banzhaf", players=(p,)) for p in PLAYERS)
    six += tuple(EffectName(index="banzhaf_interaction", players=(PLAYERS[i], PLAYERS[j])) for i, j in game.pairs(3))
    few, enough = (analyse(problems(number), AnalysisPlan(primary=six)).families[0] for number in (7, 8))
    assert "6 effects need 8" in few.refused
    assert all(one.adjusted_p is None and one.low is None for one in few.members)
    assert enough.refused is None
    assert enough.members[0].adjusted_p <= 0.05 < enough.members[2].adjusted_p
    assert enough.members[0].low > 0


def test_a_family_of_effects_that_do_not_exist_is_refused():
    for players in (("oracle",), ("analyzer", "debugger"), ()):
        plan = AnalysisPlan(primary=(EffectName(index="banzhaf", players=players),))
        with pytest.raises(BadRequest, match="is no effect here"):
            analyse(full(ADDITIVE), plan)


def test_a_family_of_these_problems_has_simultaneous_limits_and_no_p():
    family = analyse(problems(2), THESE).families[0]
    assert family.refused is None
    assert "Bonferroni over 3" in family.method
    assert family.members[0].equivalent is False
    assert analyse(problems(8, repeats=20), THESE).families[0].members[2].equivalent is True
    assert analyse(problems(4)).families[0].members[2].equivalent is None
    single = effect(analyse(problems(2), THESE).slice_of("passed"), "banzhaf", "analyzer").intervals[0]
    assert family.members[0].low < single.low < single.high < family.members[0].high


def test_a_sequence_says_when_to_stop_and_waits_for_whole_blocks():
    plan = THESE.model_copy(update={"stopping": Stopping(rule="confidence_sequence", min_rounds=4)})
    rows = full(np.where(np.arange(8) & 1, 1.0, 0.0), repeats=25)
    found = analyse(rows, plan)
    stops = {one.effect.players[0]: one.stop for one in found.sequences}
    assert stops["analyzer"]
    half_run = [one for one in rows if one.block < 3] + [row((), rung="passed", block=3)]
    early = analyse(half_run, plan).sequences
    assert [one.points[-1].rounds for one in early] == [3, 3, 3]
    assert not any(one.stop for one in early)
    assert analyse(rows).sequences == ()


def test_scores_have_no_sequence():
    plan = AnalysisPlan(primary_level="score_modelled", stopping=Stopping(rule="confidence_sequence"))
    assert any("no upper bound" in note for note in analyse(full(ADDITIVE), plan).notes)


# Sampled coalitions

MANY = tuple(f"player_{i}" for i in range(8))


def sampled(number, seed=0):
    rng, rows = np.random.default_rng(seed), []
    for g in range(3):
        for k, some in enumerate(sample_coalitions(MANY, number, seed=seed, key=f"c{g}")):
            chance = 0.3 + 0.3 * ("player_0" in some) + 0.2 * ("player_1" in some and "player_2" in some)
            rung = "passed" if rng.random() < chance else None
            rows.append(row(some, rung=rung, problem=f"p{g}", checkpoint=f"c{g}", block=k, players=MANY))
    return rows


def test_eight_players_are_estimated_from_sampled_coalitions():
    found = analyse(sampled(200), AnalysisPlan(coalitions="sampled"))
    part = found.slice_of("passed")
    assert {one.index for one in part.effects} == {"banzhaf", "banzhaf_interaction", "banzhaf_third"}
    for players, truth in ((("player_0",), 0.3), (("player_1",), 0.1), (("player_1", "player_2"), 0.2)):
        one = effect(part, "banzhaf" if len(players) == 1 else "banzhaf_interaction", *players)
        limits = one.intervals[0]
        assert limits.low <= truth <= limits.high
    assert part.values == ()
    assert any("Coalitions were sampled" in note for note in part.notes)


def test_the_trace_of_an_estimate_narrows_as_trials_come_in():
    found = analyse(sampled(200), AnalysisPlan(coalitions="sampled"))
    points = next(one for one in found.traces if one.effect.players == ("player_0",)).points
    assert [one.trials for one in points] == [16, 32, 64, 128, 256, 512, 600]
    widths = [one.high - one.low for one in points if one.low is not None]
    assert widths[-1] < 0.5 * widths[0]
    assert points[-1].estimate == pytest.approx(effect(found.slice_of("passed"), "banzhaf", "player_0").value)


def test_coalitions_are_drawn_by_seed_and_checkpoint():
    first = sample_coalitions(MANY, 400, seed=1, key="a")
    assert first == sample_coalitions(MANY, 400, seed=1, key="a")
    assert first != sample_coalitions(MANY, 400, seed=1, key="b")
    assert first != sample_coalitions(MANY, 400, seed=2, key="a")
    shares = [np.mean([player in some for some in first]) for player in MANY]
    assert all(0.4 < share < 0.6 for share in shares)
    with pytest.raises(BadRequest, match="at least 1"):
        sample_coalitions(MANY, 0, seed=1, key="a")


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("pq"),
            st.sampled_from([0, 1]),
            st.sampled_from(COALITIONS),
            st.sampled_from([None, "compiled", "passed", "fast"]),
            st.sampled_from(["P+F", "NP+F"]),
            st.sampled_from(["evaluated", "infrastructure_failed", "open"]),
        ),
        max_size=30,
    ),
    st.sampled_from(["these problems", "population of problems"]),
)
def test_any_experiment_however_incomplete_can_be_analysed(trials, target):
    rows = [
        row(
            coalition,
            rung=rung,
            problem=problem,
            checkpoint=f"{problem}{generation}",
            generation=generation,
            block=k // 8,
            regime=regime,
            state=state,
            **({} if state == "evaluated" else {"compiled": None}),
        )
        for k, (problem, generation, coalition, rung, regime, state) in enumerate(trials)
    ]
    plan = AnalysisPlan(
        target=target,
        stopping=Stopping(rule="confidence_sequence"),
        claims=(
            Claim(name="a", kind="only_through_interactions", players=("debugger",)),
            Claim(name="b", kind="growing", players=("analyzer",)),
            Claim(name="c", kind="regime_equivalent", against="NP+F"),
        ),
    )
    found = analyse(rows, plan)
    assert Analysis.model_validate_json(found.model_dump_json()) == found
    for part in found.slices:
        for one in (*part.values, *part.effects):
            assert all(i.low - 1e-9 <= one.value <= i.high + 1e-9 for i in one.intervals)
            assert one.worst is None or one.worst - 1e-9 <= one.value <= one.best + 1e-9


def test_a_trial_that_is_there_twice_counts_once():
    trials = problems(3)
    taken = [one.model_copy(update={"trial": f"again {one.trial}", "reused_from": one.trial}) for one in trials]
    plan = AnalysisPlan(target="these problems")
    once = analyse(trials, plan)
    assert analyse([*trials, *trials], plan) == once
    assert analyse([*taken, *trials], plan) == once


def test_rows_without_times_may_come_in_any_order():
    trials = problems(2) + [
        row((), rung="passed" if k < 10 else None, block=k, sentinel=True, problem="p0") for k in range(20)
    ]
    shuffled = random.Random(3).sample(trials, len(trials))
    assert analyse(shuffled).drift == analyse(trials).drift
    assert analyse(trials).drift[0].change < -0.9


def test_a_speedup_that_is_not_finite_is_not_known():
    trials = [
        one.model_copy(update={"modelled_speedup": float("inf")}) if k % 9 == 0 else one
        for k, one in enumerate(problems(2))
    ]
    known = analyse(trials).slice_of("score_modelled")
    assert known is None or all(math.isfinite(one.value) for one in known.values)
