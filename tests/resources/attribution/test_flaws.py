"""Flaws of the published estimator: each test shows the old result wrong and ours right."""

from itertools import permutations

import numpy as np
import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.attribute import attribute
from cudanalyst.resources.attribution.observe import observe
from cudanalyst.resources.attribution.table import Observation
from cudanalyst.resources.trials import Outcome, Trial

PLAYERS = ("analyzer", "debugger", "profiler")
COALITIONS = [game.members(mask, PLAYERS) for mask in range(8)]


def evaluated(number, coalition, *, compiled, passed, fast, **more):
    outcome = Outcome(
        base_status_before="passed",
        base_status_after="passed" if passed else "wrong",
        compiled=compiled,
        passed=passed,
        fast_modelled=fast,
        improved=fast,
        regressed=not passed,
        **more,
    )
    return assigned(number, coalition, state="evaluated", outcome=outcome)


def assigned(number, coalition, **more):
    place = {"experiment": "e", "checkpoint": "c", "problem": "p", "repeat": number, "block": number}
    return Trial(id=f"{number}-{'+'.join(coalition)}", coalition=coalition, order=0, seed=number, **place, **more)


def banzhaf(found, level, player):
    effects = next(one for one in found.levels if one.level == level).effects
    return next(e.value for e in effects if e.index == "banzhaf" and e.players == (player,))


def marginal_over_orders(v, player):
    """What was published as Banzhaf: the mean marginal contribution over orders of arrival."""
    gains = []
    for order in permutations(range(3)):
        before = sum(1 << i for i in order[: order.index(player)])
        gains.append(v[before | 1 << player] - v[before])
    return np.mean(gains)


def test_flaw_1_the_mean_over_orders_is_shapley_not_banzhaf():
    everyone = np.array([float(mask == 7) for mask in range(8)])
    assert marginal_over_orders(everyone, 0) == pytest.approx(game.shapley(everyone)[0]) == pytest.approx(1 / 3)
    assert game.banzhaf(everyone)[0] == pytest.approx(1 / 4)
    seen = [
        Observation(problem="p", checkpoint="c", block=r, coalition=coalition, success=bool(everyone[mask]))
        for r in range(5)
        for mask, coalition in enumerate(COALITIONS)
    ]
    assert banzhaf(attribute({"passed": seen}, PLAYERS), "passed", "analyzer") == pytest.approx(1 / 4)


def test_flaw_1_the_pair_term_at_the_empty_context_is_not_the_interaction():
    # Two components that work together only once the third is there.
    third_needed = np.array([float(mask == 7) for mask in range(8)])
    assert game.sigma(third_needed)[0] == 0
    assert game.banzhaf_interaction(third_needed)[0] == pytest.approx(0.5)


def promoted(coalition, number):
    """The profiler turns every passing candidate into a fast one, and changes nothing else."""
    passed = number < 8
    return evaluated(number, coalition, compiled=True, passed=passed, fast=passed and "profiler" in coalition)


def test_flaw_2_exclusive_labels_make_a_helpful_profiler_look_harmful():
    trials = [promoted(coalition, number) for number in range(10) for coalition in COALITIONS]
    seen = observe(trials, ("compiled", "passed", "fast_modelled")).levels
    found = attribute(seen, PLAYERS)
    assert banzhaf(found, "passed", "profiler") == pytest.approx(0)
    assert banzhaf(found, "fast_modelled", "profiler") == pytest.approx(0.8)

    fast = seen["fast_modelled"]
    exclusive = [
        one.model_copy(update={"success": one.success and not faster.success})
        for one, faster in zip(seen["passed"], fast, strict=True)
    ]
    assert banzhaf(attribute({"passed": exclusive}, PLAYERS), "passed", "profiler") == pytest.approx(-0.8)
    with pytest.raises(BadRequest, match="levels must be nested"):
        attribute({"passed": exclusive, "fast_modelled": fast}, PLAYERS)


def test_flaw_2_contrasting_speed_given_passed_selects_and_is_refused():
    # The debugger rescues hard candidates, which pass and are slow: it never makes anything slower.
    trials = [
        evaluated(
            number,
            coalition,
            compiled=True,
            passed=number < 4 or "debugger" in coalition,
            fast=number < 4,
        )
        for number in range(10)
        for coalition in COALITIONS
    ]
    seen = observe(trials, ("passed", "fast_modelled")).levels
    found = attribute(seen, PLAYERS)
    assert banzhaf(found, "passed", "debugger") == pytest.approx(0.6)
    assert banzhaf(found, "fast_modelled", "debugger") == pytest.approx(0)

    selected = [faster for one, faster in zip(seen["passed"], seen["fast_modelled"], strict=True) if one.success]
    assert banzhaf(attribute({"fast_modelled": selected}, PLAYERS), "fast_modelled", "debugger") == pytest.approx(-0.6)
    with pytest.raises(BadRequest, match="count different trials"):
        attribute({"passed": seen["passed"], "fast_modelled": selected}, PLAYERS)


def test_flaw_6_planner_failures_stay_in_the_denominator():
    # Long profiler evidence makes the planner run out of its budget half of the time.
    trials = [
        evaluated(number, coalition, compiled=False, passed=False, fast=False, planner_failure="truncation")
        if "profiler" in coalition and number % 2
        else evaluated(number, coalition, compiled=True, passed=True, fast=False)
        for number in range(10)
        for coalition in COALITIONS
    ]
    found = attribute(observe(trials, ("passed",)).levels, PLAYERS)
    assert banzhaf(found, "passed", "profiler") == pytest.approx(-0.5)
    assert all(value.trials == 10 for value in found.levels[0].values)

    answered = [trial for trial in trials if trial.outcome.planner_failure is None]
    dropped = attribute(observe(answered, ("passed",)).levels, PLAYERS)
    assert banzhaf(dropped, "passed", "profiler") == pytest.approx(0)


def test_contaminated_waiting_and_failed_trials_are_sorted_out_and_counted():
    trials = [promoted(coalition, 0) for coalition in COALITIONS]
    trials.append(promoted((), 1).model_copy(update={"contaminated": True}))
    trials.append(assigned(2, ("analyzer",), state="infrastructure_failed"))
    trials.append(assigned(3, (), state="open"))
    seen = observe(trials)
    assert (seen.contaminated, seen.pending) == (1, 1)
    assert seen.infrastructure_failed == {("c", ("analyzer",)): 1}
    assert {level: len(rows) for level, rows in seen.levels.items()} == dict.fromkeys(
        ("compiled", "passed", "fast_modelled", "improved", "regressed"), 8
    )
