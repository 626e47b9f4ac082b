"""A seeded slice of the proof in benchmarks/attribution.py: the same games and estimators, fewer simulations."""

import pytest

from benchmarks.known_games.games import population_games, these_games
from benchmarks.known_games.shares import coverage

SIMULATIONS = 1000
CHANCE = 0.02
"""Three standard errors of a coverage at so many simulations."""
THESE = {game.name: game for game in these_games()}
POPULATION = {(game.name, game.problems): game for game in population_games()}


@pytest.mark.parametrize(
    "name", ["additive n=3", "distractor n=4", "shared moments n=3", "not in blocks n=3", "synergy n=9, sampled"]
)
def test_ordinary_games_are_covered_as_promised_for_these_problems(name):
    row = coverage(THESE[name], SIMULATIONS, 5, population=False)
    assert 0.935 - CHANCE / 2 <= row["coverage"] <= 0.965 + CHANCE / 2
    assert 0.935 - CHANCE <= row["lowest"] <= row["highest"] <= 0.965 + CHANCE
    assert row["width_to_oracle"] < 1.15
    assert row["bias"] < max(0.01, 4 * row["bias_error"])


@pytest.mark.parametrize("name", [game.name for game in THESE.values() if game.degenerate and game.n == 3])
def test_degenerate_games_are_covered_at_least_to_the_floor(name):
    assert coverage(THESE[name], SIMULATIONS, 5, population=False)["lowest"] >= 0.93 - CHANCE


@pytest.mark.parametrize("key", [("additive n=3", 12), ("synergy n=4", 24), ("synergy n=8, sampled", 12)])
def test_a_population_is_covered_from_twelve_problems_on(key):
    row = coverage(POPULATION[key], SIMULATIONS, 5, population=True)
    assert 0.935 - CHANCE / 2 <= row["coverage"] <= 0.965 + CHANCE / 2
    assert 0.935 - CHANCE <= row["lowest"] <= row["highest"] <= 0.965 + CHANCE


def test_there_are_thirty_known_games_of_three_to_twelve_players():
    games = [*these_games(), *population_games()]
    assert len({game.name for game in games if not game.degenerate}) >= 30
    assert {game.n for game in games} == set(range(3, 13))
