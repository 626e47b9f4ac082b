"""What a design resolves, and the table that sets the published estimator beside the corrected one."""

import numpy as np
import pytest

from benchmarks.known_games.games import Game, experiments, sampled_trials, table, units
from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.cells import pooled
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.power import resolvable
from cudanalyst.resources.attribution.published import published, replicate
from cudanalyst.resources.attribution.sampling import simulated_team, team_contrast
from tests.resources.attribution.trial_rows import full, row


def named(found, index, target="these problems", players=None):
    return next(one for one in found if (one.index, one.target) == (index, target) and players in {None, one.players})


def test_half_widths_are_what_estimates_spread():
    half = np.full(16, 0.5)
    game = Game("half", 4, 3, 5, lambda _r, _n: half[None, None].repeat(3, axis=1), half)
    seen = pooled(experiments(game, 4000, np.random.default_rng(0)))
    found = resolvable(4, 5, 3)
    for index in ("banzhaf", "banzhaf_interaction", "banzhaf_third", "sigma", "shapley", "shapley_taylor"):
        spread = (seen @ terms(4).only(index).contrasts[0]).std()
        assert named(found, index).half_width == pytest.approx(1.96 * spread, rel=0.06)


def test_sampled_half_widths_are_what_estimates_spread():
    half = np.full(1 << 7, 0.5)
    game = Game("half", 7, 2, 100, lambda _r, _n: half[None, None].repeat(2, axis=1), half, design="sampled")
    masks, outcomes = sampled_trials(game, 3000, np.random.default_rng(0))
    found = resolvable(7, 1, 2, coalitions="sampled", trials_per_checkpoint=100)
    for team, index in (((0,), "banzhaf"), ((0, 3), "banzhaf_interaction")):
        seen = pooled(simulated_team(masks, outcomes, team, units(2))) @ team_contrast(len(team))[0]
        assert named(found, index).half_width == pytest.approx(1.96 * seen.std(), rel=0.07)


def test_a_detectable_effect_is_detected_eight_times_in_ten():
    found = named(resolvable(3, 10, 12), "banzhaf")
    chance = 0.5 + found.detectable * ((np.arange(8) & 1) - 0.5)
    game = Game("just", 3, 12, 10, lambda _r, _n: chance[None, None].repeat(12, axis=1), chance)
    seen = pooled(experiments(game, 3000, np.random.default_rng(0))) @ terms(3).only("banzhaf").contrasts[0]
    assert (seen > found.half_width).mean() == pytest.approx(0.8, abs=0.03)


def test_repeats_do_not_replace_problems():
    many, more = (named(resolvable(3, repeats, 12), "banzhaf", "population of problems") for repeats in (10, 1000))
    assert more.half_width > 0.7 * many.half_width
    assert not [one for one in resolvable(3, 10, 4) if one.target == "population of problems"]


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        ((3, 0, 1), {}, "at least 1"),
        ((7, 1, 1), {}, "sample coalitions"),
        ((7, 1, 1), {"coalitions": "sampled"}, "trials_per_checkpoint"),
    ],
)
def test_designs_that_make_no_sense_are_refused(arguments, more, message):
    with pytest.raises(BadRequest, match=message):
        resolvable(*arguments, **more)


def test_the_replication_table_sets_both_estimators_side_by_side():
    rows = full(table("synergy", 3)) + [
        row(some.coalition, rung="fast", problem="q", block=some.block, planner_failure=None)
        for some in full(np.ones(8))
    ]
    rows = [one.model_copy(update={"planner": "strong", "coder": "strong"}) for one in rows]
    found = replicate(rows)
    assert {one.planner for one in found} == {"strong"}
    assert {one.level for one in found} == {"compiled", "passed", "fast_modelled"}
    pair = next(one for one in found if one.level == "passed" and one.players == ("analyzer", "debugger"))
    assert pair.corrected == pytest.approx(0.2)
    assert "empty context only" in pair.why
    assert "passed excludes fast_modelled" in pair.why


def test_the_published_estimator_needs_every_coalition():
    rows = [one for one in full(np.ones(8)) if one.coalition]
    assert published(rows, "passed") is None
    assert all(one.published is None for one in replicate(rows))
    with pytest.raises(BadRequest, match="one set of players"):
        published([], "passed")
