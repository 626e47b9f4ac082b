"""Exact indices against closed forms and an independent library."""

import numpy as np
import pytest
import shapiq
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game

SIZES = st.integers(2, 6)
INDICES = (
    game.banzhaf,
    game.banzhaf_interaction,
    game.banzhaf_third,
    game.sigma,
    game.shapley,
    game.shapley_interaction,
    game.shapley_taylor,
)


@st.composite
def tables(draw, players=SIZES):
    n = draw(players)
    return draw(hnp.arrays(np.float64, 1 << n, elements=st.floats(-1, 1, width=32)))


def unanimity(n, team):
    return np.array([float(mask & team == team) for mask in range(1 << n)])


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=6), st.floats(-1, 1, width=32))
def test_additive_games_give_each_player_its_own_weight_and_no_interaction(weights, empty):
    n = len(weights)
    v = np.array([empty + sum(w for i, w in enumerate(weights) if mask >> i & 1) for mask in range(1 << n)])
    assert game.banzhaf(v) == pytest.approx(weights, abs=1e-12)
    assert game.shapley(v) == pytest.approx(weights, abs=1e-12)
    for index in (game.banzhaf_interaction, game.sigma, game.shapley_interaction):
        assert index(v) == pytest.approx(0, abs=1e-12)


@given(SIZES.flatmap(lambda n: st.tuples(st.just(n), st.integers(1, (1 << n) - 1))))
def test_unanimity_games_have_their_closed_forms(case):
    n, team = case
    v, size = unanimity(n, team), team.bit_count()
    inside = np.array([team >> i & 1 for i in range(n)])
    both = np.array([inside[i] * inside[j] for i, j in game.pairs(n)])
    assert game.banzhaf(v) == pytest.approx(inside / 2 ** (size - 1))
    assert game.shapley(v) == pytest.approx(inside / size)
    assert game.banzhaf_interaction(v) == pytest.approx(both * 2.0 ** (2 - size))
    assert game.shapley_interaction(v) == pytest.approx(both / max(size - 1, 1))
    assert game.sigma(v) == pytest.approx(both * (size == 2))
    assert game.shapley_taylor(v) == pytest.approx(both * 2 / max(size * (size - 1), 1))
    assert game.moebius(v) == pytest.approx(np.eye(1 << n)[team])


def test_and_is_synergy_and_or_is_redundancy():
    both, either = np.array([0.0, 0, 0, 1]), np.array([0.0, 1, 1, 1])
    assert game.banzhaf(both).tolist() == game.banzhaf(either).tolist() == [0.5, 0.5]
    assert (game.banzhaf_interaction(both)[0], game.banzhaf_interaction(either)[0]) == (1.0, -1.0)
    assert game.moebius(either).tolist() == [0, 1, 1, -1]


@given(tables(), st.data())
def test_a_dummy_player_gets_its_constant_and_interacts_with_nobody(v, data):
    n = game.player_count(v)
    gain = data.draw(st.floats(-1, 1, width=32))
    extended = np.concatenate([v, v + gain])
    assert game.banzhaf(extended)[n] == pytest.approx(gain, abs=1e-9)
    assert game.shapley(extended)[n] == pytest.approx(gain, abs=1e-9)
    with_dummy = [k for k, pair in enumerate(game.pairs(n + 1)) if n in pair]
    for index in (game.banzhaf_interaction, game.sigma, game.shapley_interaction):
        assert index(extended)[with_dummy] == pytest.approx(0, abs=1e-9)


@given(tables(), st.randoms(use_true_random=False))
def test_renaming_players_renames_indices(v, random):
    n = game.player_count(v)
    order = list(range(n))
    random.shuffle(order)
    renamed = np.array([v[sum(1 << order[i] for i in range(n) if mask >> i & 1)] for mask in range(1 << n)])
    assert game.banzhaf(renamed) == pytest.approx(game.banzhaf(v)[order], abs=1e-9)
    assert game.shapley(renamed) == pytest.approx(game.shapley(v)[order], abs=1e-9)


@given(tables())
def test_shapley_adds_up_and_moebius_inverts(v):
    assert game.shapley(v).sum() == pytest.approx(v[-1] - v[0], abs=1e-9)
    assert game.from_moebius(game.moebius(v)) == pytest.approx(v, abs=1e-9)


@given(tables())
def test_shapley_taylor_adds_up_with_its_single_terms(v):
    n = game.player_count(v)
    singles = sum(v[1 << i] - v[0] for i in range(n))
    assert singles + game.shapley_taylor(v).sum() == pytest.approx(v[-1] - v[0], abs=1e-9)


@given(tables())
def test_banzhaf_indices_are_mean_derivatives(v):
    n = game.player_count(v)
    for index, teams in (
        (game.banzhaf, [(i,) for i in range(n)]),
        (game.banzhaf_interaction, game.pairs(n)),
        (game.banzhaf_third, game.triples(n)),
    ):
        means = [game.derivative(v, *team).mean() for team in teams]
        assert index(v) == pytest.approx(np.array(means), abs=1e-9)


@given(tables())
def test_every_index_equals_its_contrast(v):
    for index in INDICES:
        assert game.contrast(index, game.player_count(v)) @ v == pytest.approx(index(v), abs=1e-9)


@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_leading_axes_are_separate_games(n, seed):
    v = np.random.default_rng(seed).random((2, 3, 1 << n))
    for index in (*INDICES, game.moebius):
        together = index(v)
        assert together[1, 2] == pytest.approx(index(v[1, 2]), abs=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 9])
@pytest.mark.parametrize("seed", range(2))
def test_indices_agree_with_shapiq(n, seed):
    v = np.random.default_rng(seed).uniform(-1, 1, 1 << n)

    def value(coalitions):
        return v[coalitions.astype(np.int64) @ (1 << np.arange(n))]

    exact = shapiq.ExactComputer(n_players=n, game=value)

    def theirs(index, order, wanted):
        found = exact(index, order=order)
        return np.array([found[who] for who in wanted])

    singles, pairs = [(i,) for i in range(n)], game.pairs(n)
    assert game.banzhaf(v) == pytest.approx(theirs("BV", 1, singles), abs=1e-9)
    assert game.shapley(v) == pytest.approx(theirs("SV", 1, singles), abs=1e-9)
    assert game.banzhaf_interaction(v) == pytest.approx(theirs("BII", 2, pairs), abs=1e-9)
    assert game.shapley_interaction(v) == pytest.approx(theirs("SII", 2, pairs), abs=1e-9)
    assert game.banzhaf_third(v) == pytest.approx(theirs("BII", 3, game.triples(n)), abs=1e-9)
    assert game.shapley_taylor(v) == pytest.approx(theirs("STII", 2, pairs), abs=1e-9)
    everyone = [game.members(mask, range(n)) for mask in range(1, 1 << n)]
    assert game.moebius(v)[1:] == pytest.approx(theirs("Moebius", n, everyone), abs=1e-9)


@pytest.mark.parametrize("v", [[1.0, 2.0, 3.0], [], 1.0])
def test_a_table_that_is_not_a_power_of_two_is_refused(v):
    with pytest.raises(BadRequest, match=r"2\*\*n coalitions"):
        game.banzhaf(v)


def test_coalitions_of_others_or_with_repeats_are_refused():
    with pytest.raises(BadRequest, match="not a player"):
        game.mask_of(["oracle"], ["analyzer"])
    with pytest.raises(BadRequest, match="twice"):
        game.mask_of(["analyzer", "analyzer"], ["analyzer"])
