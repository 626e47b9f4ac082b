"""Many effects, early stopping, heterogeneity, bootstraps, log odds and drift: their promises by seeded simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.known_games.games import Game, experiments, has, table, units
from cudanalyst.resources.attribution.cells import Cells
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.inference.bootstrap import bootstrap_limits
from cudanalyst.resources.attribution.inference.drift import trend
from cudanalyst.resources.attribution.inference.heterogeneity import per_problem, random_effects
from cudanalyst.resources.attribution.inference.logit import logit_effects
from cudanalyst.resources.attribution.inference.multiplicity import max_t, minimum_problems
from cudanalyst.resources.attribution.inference.sequences import boundary, confidence_sequence

EFFECTS = terms(3).only("banzhaf", "banzhaf_interaction").contrasts


def game(kind, problems, repeats, **more):
    row = table(kind, 3)
    return Game(kind, 3, problems, repeats, lambda _rng, _number: np.tile(row, (problems, 1))[None], row, **more)


def test_the_floor_of_sign_flips_is_six_problems_for_one_test_and_eight_for_six():
    assert [minimum_problems(k) for k in (1, 2, 6, 7)] == [6, 7, 8, 9]
    everyone = np.ones((6, 1)) + np.linspace(0, 0.1, 6)[:, None]
    assert max_t(everyone).p[0] == pytest.approx(2 ** (1 - 6))
    assert max_t(everyone[:5]).p[0] == pytest.approx(2 ** (1 - 5))


def test_a_family_of_nothing_is_seldom_called_something_and_its_limits_hold_together():
    rng, false, together = np.random.default_rng(4), 0, 0
    for _ in range(400):
        found = max_t(rng.normal(0, 1, (9, 1)) + rng.normal(0, 1, (9, 6)))
        false += bool((found.adjusted <= 0.05).any())
        together += bool(((found.low <= 0) & (found.high >= 0)).all())
    assert false / 400 <= 0.075
    assert together / 400 >= 0.92


def test_adjusted_p_values_are_not_below_plain_ones_and_keep_their_order():
    rng = np.random.default_rng(0)
    found = max_t(rng.normal([0, 0.4, 1.2], 0.5, (10, 3)))
    assert (found.adjusted >= found.p - 1e-12).all()
    assert found.adjusted[2] <= found.adjusted[1] <= found.adjusted[0]
    assert found.exact
    assert not max_t(rng.normal(0, 1, (20, 3))).exact


def test_looking_after_every_round_misses_less_than_promised_where_a_fixed_interval_misses_much_more():
    rng, drawn = np.random.default_rng(1), game("dummy", 2, 40)
    estimate, low, high = confidence_sequence(experiments(drawn, 400, rng), EFFECTS)
    truth = EFFECTS @ drawn.truth
    assert ((low > truth) | (high < truth)).any(axis=1).mean(axis=0).max() <= 0.05
    error = np.sqrt(EFFECTS**2 @ (drawn.truth * (1 - drawn.truth)) / 2) / np.sqrt(np.arange(1, 41))[:, None]
    assert (np.abs(estimate - truth) > 1.96 * error).any(axis=1).mean(axis=0).min() > 0.15
    assert ((high - low)[:, -1] / (2 * 1.96 * error[-1])).mean() < 2.2


def test_a_sequence_holds_where_every_block_drifts_and_cells_are_sure():
    rng = np.random.default_rng(2)
    sure = Game("sure", 3, 1, 30, lambda _r, _n: np.where(np.arange(8) & 1, 1.0, 0.0)[None, None], np.zeros(8))
    _, low, high = confidence_sequence(experiments(sure, 2, rng), EFFECTS)
    assert (low[:, -1, 0] > 0.7).all()
    assert (high[:, :, 0] >= 1 - 1e-12).all()
    moving = game("additive", 1, 40, moment=0.2)
    _, low, high = confidence_sequence(experiments(moving, 300, rng), EFFECTS)
    truth = EFFECTS @ moving.truth
    assert ((low > truth) | (high < truth)).any(axis=1).mean(axis=0).max() <= 0.05


def test_there_is_no_sequence_without_complete_blocks():
    cells = experiments(game("dummy", 2, 5, design="counts"), 1, np.random.default_rng(0))
    assert confidence_sequence(cells, EFFECTS) is None


@given(st.floats(0, 1e4), st.floats(0.001, 0.2))
def test_the_boundary_grows_with_time_and_with_confidence(intrinsic, alpha):
    at = boundary(np.array([intrinsic, intrinsic + 1]), alpha)
    assert at[0] <= at[1] + 1e-9
    assert at[0] <= boundary(np.array([intrinsic]), alpha / 2)[0] + 1e-9


def random_problems(problems, spread, number, seed=3):
    rng = np.random.default_rng(seed)
    gain = rng.normal(0.12, spread, (number, problems, 3))
    chance = np.clip(0.3 + gain @ has(3).T, 0, 1)
    cells = Cells(("a", "b", "c"), units(problems), rng.binomial(10, chance), np.full((problems, 8), 10))
    return per_problem(cells, EFFECTS[:3]), rng.normal(0.12, spread, (number, 3))


def test_random_effects_cover_the_mean_and_a_new_problem():
    effects, new = random_problems(12, 0.06, 600)
    found = random_effects(*effects)
    assert 0.93 <= ((found.low <= 0.12) & (found.high >= 0.12)).mean() <= 0.97
    assert 0.92 <= ((found.prediction_low <= new) & (found.prediction_high >= new)).mean() <= 0.98


def test_the_variance_between_problems_is_found_where_there_is_one():
    none, much = (random_effects(*random_problems(20, spread, 300)[0]) for spread in (0.0, 0.12))
    assert np.median(none.tau2) < 0.002
    assert np.median(much.tau2) == pytest.approx(0.12**2, rel=0.25)
    assert none.i2.mean() < 0.2
    assert much.i2.mean() > 0.5
    assert (none.q_p < 0.05).mean() < 0.12
    assert (much.q_p < 0.05).mean() > 0.8


def test_two_problems_have_no_prediction_interval():
    found = random_effects(np.array([[0.1], [0.2]]), np.full((2, 1), 0.01))
    assert np.isnan(found.prediction_low).all()
    assert found.mean[0] == pytest.approx(0.15)


def test_bootstraps_are_refused_below_the_problems_that_they_need():
    rng = np.random.default_rng(0)
    rows = rng.normal(0.1, 0.1, (39, 2))
    assert np.isnan(bootstrap_limits(rows, 0.05, method="percentile bootstrap", seed=1)[0]).all()
    assert np.isnan(bootstrap_limits(rows[:11], 0.05, method="studentised bootstrap", seed=1)[0]).all()
    low, high = bootstrap_limits(rows, 0.05, method="studentised bootstrap", seed=1)
    assert (low < rows.mean(axis=0)).all()
    assert (high > rows.mean(axis=0)).all()


def test_a_studentised_bootstrap_covers_a_skewed_mean_from_twelve_problems():
    rng = np.random.default_rng(0)
    rows = rng.exponential(0.1, (400, 12, 1))
    low, high = bootstrap_limits(rows, 0.05, method="studentised bootstrap", seed=1, draws=800)
    assert ((low <= 0.1) & (high >= 0.1)).mean() >= 0.91


def test_log_odds_add_up_where_risk_differences_hit_a_ceiling():
    # Each component adds the same to the log odds; on the probability scale they seem to get in each other's way.
    odds = has(3) @ np.full(3, 2.0) - 1.0
    chance = 1 / (1 + np.exp(-odds))
    cells = Cells(("a", "b", "c"), units(1), np.rint(chance * 100000).astype(int)[None], np.full((1, 8), 100000))
    value, low, high = logit_effects(cells, EFFECTS)
    assert value[:3] == pytest.approx(2, abs=0.02)
    assert value[3:] == pytest.approx(0, abs=0.05)
    assert ((low < value) & (value < high)).all()
    assert (EFFECTS[3:] @ chance).max() < -0.1


def test_a_trend_is_found_within_cells_only():
    cell, time = np.repeat([0, 1], 20), np.tile(np.linspace(0, 1, 20), 2)
    assert trend(cell, time, cell.astype(float))[1] == 1
    slope, p = trend(cell, time, (time > 0.5).astype(float))
    assert slope > 1
    assert p < 1e-4
    assert trend(np.arange(3), np.arange(3.0), np.ones(3)) == (0, 1)
