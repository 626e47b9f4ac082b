"""Flaws of the published method: each shows the old result wrong and ours right, and a mutant that brings it back is caught."""

from types import MappingProxyType

import numpy as np
import pytest

from cudanalyst.kernels.problem import Fault
from cudanalyst.resources import blocks, delivery
from cudanalyst.resources.attribution import cells, effects, frame, game
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.planted import planted_values
from cudanalyst.resources.attribution.power import resolvable
from cudanalyst.resources.attribution.published import published
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.delivery import DeliveredEvidence
from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.trials import Trial
from cudanalyst.tools.source import Source
from tests.resources.attribution.trial_rows import COALITIONS, PLAYERS, effect, full, row, value

# 1: Shapley under the name of Banzhaf; a pair term of the empty context


def all_three_needed():
    return full(np.array([float(mask == 7) for mask in range(8)]))


def banzhaf_is_banzhaf():
    part = analyse(all_three_needed()).slice_of("passed")
    assert effect(part, "banzhaf", "analyzer").value == pytest.approx(1 / 4)
    assert effect(part, "shapley", "analyzer").value == pytest.approx(1 / 3)


def pairs_interact_in_every_context():
    part = analyse(all_three_needed()).slice_of("passed")
    assert effect(part, "banzhaf_interaction", "analyzer", "debugger").value == pytest.approx(0.5)
    assert effect(part, "sigma", "analyzer", "debugger").value == pytest.approx(0)


def test_flaw_1_what_was_published_as_banzhaf_is_shapley_and_misses_an_interaction():
    old = published(all_three_needed(), "passed")
    assert old.called_banzhaf["analyzer"] == pytest.approx(1 / 3)
    assert old.pairs["analyzer+debugger"] == 0
    banzhaf_is_banzhaf()
    pairs_interact_in_every_context()


# 2: exclusive labels; speed given that a candidate passed


def promoted():
    """The profiler turns every passing candidate into a fast one, and changes nothing else."""
    return [
        row(coalition, rung=None if r >= 8 else "fast" if "profiler" in coalition else "passed", block=r)
        for r in range(10)
        for coalition in COALITIONS
    ]


def levels_are_nested():
    found = analyse(promoted())
    assert effect(found.slice_of("passed"), "banzhaf", "profiler").value == pytest.approx(0)
    assert effect(found.slice_of("fast_modelled"), "banzhaf", "profiler").value == pytest.approx(0.8)


def rescued():
    """The debugger rescues hard candidates, which pass and are slow: it never makes anything slower."""
    return [
        row(coalition, rung="fast" if r < 4 else "passed" if "debugger" in coalition else None, block=r)
        for r in range(10)
        for coalition in COALITIONS
    ]


def speed_counts_failures():
    found = analyse(rescued())
    assert effect(found.slice_of("passed"), "banzhaf", "debugger").value == pytest.approx(0.6)
    assert effect(found.slice_of("score_modelled"), "banzhaf", "debugger").value == pytest.approx(0)


def test_flaw_2_exclusive_labels_make_a_helpful_profiler_look_harmful():
    assert published(promoted(), "passed").called_banzhaf["profiler"] == pytest.approx(-0.8)
    levels_are_nested()


def test_flaw_2_speed_given_passed_makes_a_rescuer_look_slow():
    speeds = {with_it: [] for with_it in (True, False)}
    for one in rescued():
        if one.passed:
            speeds["debugger" in one.coalition].append(np.log(one.modelled_speedup))
    assert np.mean(speeds[True]) < np.mean(speeds[False])
    speed_counts_failures()


# 3: components that never ran on the same program


def disjoint():
    """Only broken programs were debugged, only working ones analysed and profiled; evidence does nothing at all."""
    broken = [((), 1), (("debugger",), 1)]
    working = [(some, 9) for some in ((), ("analyzer",), ("profiler",), ("analyzer", "profiler"))]
    return [
        row(coalition, rung="passed" if r < successes else None, problem=problem, block=r)
        for problem, cells in (("broken", broken), ("working", working))
        for r in range(10)
        for coalition, successes in cells
    ]


def programs_are_never_compared_with_each_other():
    part = analyse(disjoint()).slice_of("passed")
    assert {one.index for one in part.effects} <= {"sigma", "moebius"}
    assert all(one.value == pytest.approx(0) for one in part.effects)


def placebos_are_marked():
    part = analyse(full(np.linspace(0, 0.7, 8), structural=("debugger",))).slice_of("passed")
    assert effect(part, "banzhaf", "debugger").structural
    assert not effect(part, "banzhaf", "analyzer").structural


def test_flaw_3_pooling_over_programs_makes_evidence_that_does_nothing_look_harmful_and_helpful():
    pooled = {
        coalition: np.mean([one.passed for one in disjoint() if one.coalition == coalition])
        for coalition in ((), ("debugger",), ("analyzer",))
    }
    assert pooled["debugger",] - pooled[()] < -0.3
    assert pooled["analyzer",] - pooled[()] > 0.3
    programs_are_never_compared_with_each_other()
    placebos_are_marked()


# 4 and 5: the error text reached everyone; evidence was measured anew for every coalition

ERROR = "error: identifier 'threadIdx_x' is undefined"


def checkpoint():
    def said(component, text):
        return Evidence(component=component, candidate="cand", items=(), text=text)

    return Checkpoint(
        source=Source(text="__global__ void k() {}", problem="vector_add"),
        problem="vector_add",
        base_status="compile_failed",
        evidence={
            "analyzer": said("analyzer", "analyzer: stride 32"),
            "debugger": said("debugger", f"debugger: {ERROR}"),
            "profiler": said("profiler", "profiler: 12.5 us"),
        },
    )


def payloads():
    frozen = checkpoint()
    return {
        coalition: delivery.payload_for(
            Trial(
                id="t", experiment="e", checkpoint=frozen.id, problem="vector_add", coalition=coalition,
                repeat=0, block=0, order=0, seed=1,
            ),
            frozen, "Add two vectors.", (), 0.0,
        )
        for coalition in COALITIONS
    }  # fmt: skip


def errors_reach_only_who_has_the_debugger():
    for coalition, payload in payloads().items():
        assert payload.base_status == "compile_failed"
        assert (ERROR in payload.model_dump_json()) == ("debugger" in coalition)


def evidence_is_the_same_bytes_everywhere():
    texts = {}
    for payload in payloads().values():
        for one in payload.evidence:
            texts.setdefault(one.component, set()).add(one.text)
    assert {component: len(seen) for component, seen in texts.items()} == dict.fromkeys(PLAYERS, 1)


def test_flaw_4_an_error_text_that_everyone_sees_hides_what_the_debugger_does():
    fault = Fault(id="typo", description="typo", level="compiled", visible_in=(("debugger",),))
    ours = planted_values([fault], PLAYERS, "compiled")
    assert game.banzhaf(ours)[1] == 1
    everyone = planted_values([fault.model_copy(update={"visible_in": ((),)})], PLAYERS, "compiled")
    assert game.banzhaf(everyone)[1] == 0
    errors_reach_only_who_has_the_debugger()


def test_flaw_5_evidence_that_varies_with_the_coalition_is_not_the_component_s_effect():
    # A profiler whose every other measurement is off misleads: measured anew, coalitions differ by luck alone.
    off = np.array([0.0, 0, 0, 0, 0.8, 0.2, 0.8, 0.2])
    assert game.banzhaf_interaction(off)[1] == pytest.approx(-0.6)
    frozen = np.where(np.arange(8) & 4, 0.8, 0.0)
    assert game.banzhaf_interaction(frozen)[1] == pytest.approx(0)
    evidence_is_the_same_bytes_everywhere()


# 6: failed model calls left the denominator


def truncated():
    """Long profiler evidence makes the planner run out of its budget half of the time."""
    return [
        row(coalition, block=r, planner_failure="truncation")
        if "profiler" in coalition and r % 2
        else row(coalition, rung="passed", block=r)
        for r in range(10)
        for coalition in COALITIONS
    ]


def planner_failures_are_failures():
    part = analyse(truncated()).slice_of("passed")
    assert effect(part, "banzhaf", "profiler").value == pytest.approx(-0.5)
    assert all(one.trials == 10 for one in part.values)


def test_flaw_6_dropping_failed_calls_hides_that_evidence_breaks_the_planner():
    old = published(truncated(), "passed")
    assert old.called_banzhaf["profiler"] == pytest.approx(0)
    assert old.dropped == 20
    planner_failures_are_failures()


def test_flaw_6_infrastructure_failures_are_no_outcomes_but_bound_their_coalition():
    rows = [one for one in full(np.full(8, 0.5)) if not (one.coalition == ("analyzer",) and one.block >= 8)]
    rows += [row(("analyzer",), block=r, state="infrastructure_failed", compiled=None) for r in (8, 9)]
    part = analyse(rows).slice_of("passed")
    hit = value(part, "analyzer")
    assert (hit.trials, hit.infrastructure_failed) == (8, 2)
    assert (hit.worst, hit.best) == (pytest.approx(0.5), pytest.approx(0.7))
    bounded = effect(part, "banzhaf", "analyzer")
    assert bounded.worst <= bounded.value <= bounded.best
    assert value(part).worst is None


# 7: no blocks, no power


def drifting():
    """A served model that stops solving anything half-way through; evidence does nothing."""
    trials = blocks.schedule(
        "e", players=PLAYERS, problems={"c": "p"}, repeats=20, seed=3, mint=lambda n: [str(k) for k in range(n)]
    )
    return [
        row(one.coalition, rung="passed" if k < len(trials) / 2 else None, block=one.block)
        for k, one in enumerate(trials)
    ]


def coalitions_are_run_side_by_side():
    part = analyse(drifting()).slice_of("passed")
    assert all(abs(effect(part, "banzhaf", player).value) <= 0.05 for player in PLAYERS)
    assert part.blocks == 20


def one_coalition_after_the_other(*args, **kwargs):
    trials = SCHEDULE(*args, **kwargs)
    return sorted(trials, key=lambda one: (len(one.coalition), one.coalition))


SCHEDULE = blocks.schedule


def test_flaw_7_drift_becomes_an_effect_where_coalitions_follow_each_other(monkeypatch):
    coalitions_are_run_side_by_side()
    monkeypatch.setattr(blocks, "schedule", one_coalition_after_the_other)
    part = analyse(drifting()).slice_of("passed")
    assert all(effect(part, "banzhaf", player).value < -0.3 for player in PLAYERS)


def test_flaw_7_sentinels_tell_of_drift():
    rows = full(np.full(8, 0.5))
    rows += [
        row((), rung="passed" if k < 10 else None, block=k, sentinel=True, submitted_at=float(k)) for k in range(20)
    ]
    found = analyse(rows)
    assert found.drift[0].change < -0.9
    assert found.drift[0].p < 0.001
    assert any("Sentinel trials" in note for note in found.notes)
    assert (found.trials, found.exclusions.sentinels) == (80, 20)


def test_flaw_7_power_is_known_before_the_first_trial():
    known = {(one.index, one.target): one for one in resolvable(3, 10, 1)}
    assert known["banzhaf", "these problems"].half_width == pytest.approx(1.96 / np.sqrt(80), abs=1e-4)
    assert known["banzhaf_interaction", "these problems"].half_width == pytest.approx(2 * 1.96 / np.sqrt(80), abs=1e-4)
    assert known["banzhaf", "these problems"].detectable == pytest.approx(1.43 * 1.96 / np.sqrt(80), abs=2e-3)


# Every flaw, brought back


def exclusive_outcomes():
    def passed(one):
        return float(one.passed and not one.fast_modelled)

    return MappingProxyType({**frame.OUTCOMES, "passed": passed})


def scores_of_passing_ones():
    def score(one):
        return np.log(one.modelled_speedup) if one.passed else np.nan

    return MappingProxyType({**frame.OUTCOMES, "score_modelled": score})


def leaky(trial, frozen, _setting):
    shown = sorted({*trial.coalition, "debugger"})
    return tuple(DeliveredEvidence(component=one, text=frozen.evidence[one].text) for one in shown)


def remeasured(trial, frozen, _setting):
    return tuple(
        DeliveredEvidence(component=one, text=f"{frozen.evidence[one].text} ({len(trial.coalition)})")
        for one in trial.coalition
    )


def without_failed_calls(one, _plan):
    return "pending" if one.compiled is None or one.planner_failure is not None else None


MUTANTS = [
    pytest.param(game, "banzhaf", lambda: game.shapley, banzhaf_is_banzhaf, id="1 Shapley as Banzhaf"),
    pytest.param(
        game, "banzhaf_interaction", lambda: game.sigma, pairs_interact_in_every_context, id="1 empty context"
    ),
    pytest.param(frame, "OUTCOMES", exclusive_outcomes, levels_are_nested, id="2 exclusive labels"),
    pytest.param(frame, "OUTCOMES", scores_of_passing_ones, speed_counts_failures, id="2 speed given passed"),
    pytest.param(
        cells.Cells,
        "usable",
        lambda: lambda self, _contrast: np.ones(len(self.units), dtype=bool),
        programs_are_never_compared_with_each_other,
        id="3 programs pooled",
    ),
    pytest.param(
        frame.Frame, "placebos", lambda: lambda _self: frozenset(), placebos_are_marked, id="3 placebos unmarked"
    ),
    pytest.param(
        delivery, "delivered", lambda: leaky, errors_reach_only_who_has_the_debugger, id="4 error text for all"
    ),
    pytest.param(
        delivery, "delivered", lambda: remeasured, evidence_is_the_same_bytes_everywhere, id="5 measured anew"
    ),
    pytest.param(
        frame, "_excluded", lambda: without_failed_calls, planner_failures_are_failures, id="6 failures dropped"
    ),
    pytest.param(
        blocks, "schedule", lambda: one_coalition_after_the_other, coalitions_are_run_side_by_side, id="7 no blocks"
    ),
]


@pytest.fixture
def fresh_terms():
    effects.terms.cache_clear()
    yield
    effects.terms.cache_clear()


@pytest.mark.usefixtures("fresh_terms")
@pytest.mark.parametrize(("owner", "name", "mutant", "check"), MUTANTS)
def test_a_mutant_that_brings_a_flaw_back_is_caught(owner, name, mutant, check, monkeypatch):
    check()
    effects.terms.cache_clear()
    monkeypatch.setattr(owner, name, mutant())
    with pytest.raises((AssertionError, AttributeError)):
        check()
