"""Planted = enumerated = inside the interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Fault
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.enumerate import enumerated_values
from cudanalyst.resources.attribution.ground_truth import compare, pool
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.attribution.planted import planted_moebius, planted_values, visible
from cudanalyst.resources.report.view import attribution_of, leads
from cudanalyst.resources.trials import Outcome
from tests.resources.attribution.trial_rows import COALITIONS, PLAYERS, row


def fault(name, *visible_in, level="passed"):
    return Fault(id=name, description=name, visible_in=visible_in, level=level)


AND = fault("race", ("analyzer", "debugger"))
OR = fault("bounds", ("analyzer",), ("debugger",))


def outcome(*, compiled=True, passed=False, fast=False):
    return Outcome(
        base_status_before="wrong",
        base_status_after="passed" if passed else "wrong",
        compiled=compiled,
        passed=passed,
        fast_modelled=fast,
        improved=passed,
        regressed=False,
    )


def test_a_fault_is_visible_through_any_whole_alternative():
    assert visible(OR, ("debugger",))
    assert not visible(AND, ("debugger", "profiler"))
    assert visible(AND, PLAYERS)
    assert not visible(fault("hidden"), PLAYERS)


def test_planted_and_or_and_dummy_have_their_known_coefficients():
    assert dict(enumerate(planted_moebius([AND], PLAYERS, "passed"))) == {m: float(m == 0b011) for m in range(8)}
    either = planted_moebius([OR], PLAYERS, "passed")
    assert (either[0b001], either[0b010], either[0b011]) == (1, 1, -1)
    assert game.banzhaf(game.from_moebius(either))[2] == 0


def test_a_level_is_kept_from_by_faults_of_lower_levels_too():
    syntax, slow = fault("syntax", ("analyzer",), level="compiled"), fault("slow", ("profiler",), level="fast")
    assert planted_values([syntax, slow], PLAYERS, "compiled")[0b001] == 1
    assert planted_values([syntax, slow], PLAYERS, "fast_modelled")[0b100] == 0
    assert planted_values([syntax, slow], PLAYERS, "fast_modelled")[0b101] == 1


COMPONENTS = st.sets(st.sampled_from(PLAYERS), min_size=1, max_size=3).map(lambda some: tuple(sorted(some)))
FAULTS = st.lists(
    st.tuples(st.lists(COMPONENTS, max_size=3), st.sampled_from(["compiled", "passed", "fast"])), max_size=3
).map(lambda rows: [fault(f"fault_{k}", *seen, level=level) for k, (seen, level) in enumerate(rows)])


@given(FAULTS, st.sampled_from(["compiled", "passed", "fast"]))
def test_the_closed_form_equals_the_transform_of_the_values(faults, level):
    values = planted_values(faults, PLAYERS, level)
    assert planted_moebius(faults, PLAYERS, level) == pytest.approx(game.moebius(values), abs=1e-12)


@given(FAULTS, st.floats(0.5, 1), st.floats(0, 0.5))
def test_the_closed_form_holds_for_a_planner_that_trembles(faults, hit, miss):
    def repair(seen):
        chances = {frozenset(): 1.0}
        for one in faults:
            chances = _split(chances, one.id, hit if one.id in seen else miss)
        return chances

    values = planted_values(faults, PLAYERS, "fast", repair)
    closed = planted_moebius(faults, PLAYERS, "fast", hit=hit, miss=miss)
    assert game.from_moebius(closed) == pytest.approx(values, abs=1e-9)


def _split(chances, name, rate):
    found = {}
    for mended, chance in chances.items():
        found[mended | {name}] = found.get(mended | {name}, 0) + chance * rate
        found[mended] = found.get(mended, 0) + chance * (1 - rate)
    return found


def scripted(coalition):
    """Chooses the edit that its evidence points to; trembles; a distractor tempts it with the profiler."""
    points = "mend" if visible(AND, coalition) else "unroll" if "profiler" in coalition else None
    tremble = dict.fromkeys(("mend", "unroll", "rename"), 0.3 / 3)
    if points is None:
        return dict.fromkeys(tremble, 1 / 3)
    return tremble | {points: tremble[points] + 0.7}


def planted_repair(seen, distracted):
    mend = 0.8 if AND.id in seen else 0.1 if distracted else 1 / 3
    return {frozenset({AND.id}): mend, frozenset(): 1 - mend}


def truths():
    policy = {coalition: scripted(coalition) for coalition in COALITIONS}
    results = {"mend": outcome(passed=True), "unroll": outcome(), "rename": outcome()}
    enumerated = enumerated_values(policy, results, PLAYERS, "passed")
    calm, distracted = (
        planted_values([AND], PLAYERS, "passed", lambda seen, far=far: planted_repair(seen, far))
        for far in (False, True)
    )
    has_profiler = np.array(["profiler" in coalition for coalition in COALITIONS])
    return np.where(has_profiler, distracted, calm), enumerated


def attributed(v, repeats, rng):
    """The attribution at `passed` of an experiment drawn from a game, on three problems."""
    found = analyse(
        [
            row(coalition, rung="passed" if rng.random() < p else None, problem=f"p{g}", checkpoint=f"c{g}", block=r)
            for g in range(3)
            for r in range(repeats)
            for coalition, p in zip(COALITIONS, v, strict=True)
        ],
        AnalysisPlan(levels=("passed",)),
    )
    return attribution_of(found, leads(found)[0])


def test_planted_equals_enumerated_and_lies_inside_most_intervals():
    planted, enumerated = truths()
    assert planted == pytest.approx(enumerated, abs=1e-12)
    units = [(f"p{g}", f"c{g}") for g in range(3)]
    inside = of = 0
    for seed in range(20):
        attribution = attributed(enumerated, 10, np.random.default_rng(seed))
        truth = compare(
            attribution,
            planted={"passed": dict.fromkeys(units, planted)},
            enumerated={"passed": dict.fromkeys(units, enumerated)},
        )
        assert truth.equal == truth.equal_of == len(truth.comparisons) == 8 + 3 + 3 + 1 + 3 + 3 + 3 + 3 + 7
        inside, of = inside + truth.inside, of + truth.inside_of
    assert 0.93 <= inside / of <= 0.99


def test_a_tool_that_hides_the_fault_breaks_planted_is_enumerated():
    planted, _ = truths()
    blind = {coalition: dict.fromkeys(("mend", "unroll", "rename"), 1 / 3) for coalition in COALITIONS}
    results = {"mend": outcome(passed=True), "unroll": outcome(), "rename": outcome()}
    enumerated = enumerated_values(blind, results, PLAYERS, "passed")
    attribution = attributed(enumerated, 5, np.random.default_rng(0))
    truth = compare(
        attribution, planted={"passed": {("p0", "c0"): planted}}, enumerated={"passed": {("p0", "c0"): enumerated}}
    )
    assert truth.equal < truth.equal_of
    interaction = next(
        row
        for row in truth.comparisons
        if row.index == "banzhaf_interaction" and row.players == ("analyzer", "debugger")
    )
    assert interaction.planted_is_enumerated is False


def test_a_wrong_estimator_falls_outside_the_interval():
    planted, enumerated = truths()
    attribution = attributed(1 - enumerated, 20, np.random.default_rng(0))
    truth = compare(attribution, planted={"passed": {("p0", "c0"): planted}})
    assert truth.inside < 0.6 * truth.inside_of
    assert truth.equal_of == 0


def test_pooled_truth_weighs_problems_equally():
    low, high = np.zeros(8), np.ones(8)
    assert pool({("a", "1"): low, ("a", "2"): low, ("a", "3"): low, ("b", "1"): high}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({(): {"mend": 1.0}}, "no row for"),
        ({coalition: {"mend": 0.5} for coalition in COALITIONS}, "add up to 1"),
        ({coalition: {"unknown": 1.0} for coalition in COALITIONS}, "evaluate every edit once"),
    ],
)
def test_an_incomplete_policy_is_refused_with_what_to_do(policy, message):
    with pytest.raises(BadRequest, match=message):
        enumerated_values(policy, {"mend": outcome(passed=True)}, PLAYERS, "passed")


def test_unknown_levels_are_refused():
    with pytest.raises(BadRequest, match="unknown level"):
        enumerated_values({}, {}, PLAYERS, "shiny")
    with pytest.raises(BadRequest, match="shiny"):
        planted_values([], PLAYERS, "shiny")
