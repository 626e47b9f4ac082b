"""How often intervals and tests do what they promise, on experiments drawn from known games.

The estimators are those of the package, run on many experiments at once along a leading axis.
"""

from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.known_games.games import (
    NORMAL_95,
    Floats,
    Game,
    experiments,
    has,
    population_games,
    sampled_trials,
    table,
    these_games,
    units,
)
from cudanalyst.resources.attribution import game as indices
from cudanalyst.resources.attribution.cells import Cells, pooled
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.inference.intervals import Limits, population_of_problems, these_problems
from cudanalyst.resources.attribution.sampling import simulated_team, team_contrast

CHUNK = 250
INDICES = (
    "banzhaf",
    "banzhaf_interaction",
    "banzhaf_third",
    "sigma",
    "shapley",
    "shapley_interaction",
    "shapley_taylor",
)
PAIRS = 8
"""Of sampled games, the pairs that are looked at."""
SLACK = 1e-12


class Tally:
    """Coverage, width and bias of several effects over experiments."""

    def __init__(self, truth: Floats) -> None:
        self.truth, self.number = truth, 0
        self.covered, self.width, self.error, self.square = (np.zeros(len(truth)) for _ in range(4))

    def add(self, limits: Limits, estimate: Floats) -> None:
        inside = (limits.low <= self.truth + SLACK) & (self.truth <= limits.high + SLACK)
        self.covered += inside.sum(axis=0)
        self.width += np.nan_to_num(limits.high - limits.low).sum(axis=0)
        self.error += (estimate - self.truth).sum(axis=0)
        self.square += ((estimate - self.truth) ** 2).sum(axis=0)
        self.number += len(estimate)

    def row(self) -> dict[str, Any]:
        coverage = self.covered / self.number
        spread = np.sqrt(self.square / self.number)
        # The oracle knows the estimate's true spread.
        ratio = (self.width / self.number)[spread > 0] / (2 * NORMAL_95 * spread[spread > 0])
        return {
            "coverage": float(coverage.mean()),
            "lowest": float(coverage.min()),
            "highest": float(coverage.max()),
            "width_to_oracle": float(ratio.mean()) if len(ratio) else None,
            "bias": float(np.abs(self.error / self.number).max()),
            "bias_error": float(spread.max() / np.sqrt(self.number)),
        }


def coverage(game: Game, simulations: int, seed: int, *, population: bool) -> dict[str, Any]:
    """One row of the proof."""
    rng = np.random.default_rng(seed)
    row = {"game": game.name, "problems": game.problems, "repeats": game.repeats, "degenerate": game.degenerate}
    if game.design == "sampled":
        return row | _sampled(game, simulations, rng, population=population)
    wanted = terms(game.n).only(*INDICES).contrasts
    tally = Tally(wanted @ game.truth)
    for number in chunks(simulations):
        cells = experiments(game, number, rng)
        limits = (population_of_problems if population else these_problems)(cells, wanted)
        tally.add(limits, pooled(cells) @ wanted.T)
    return row | tally.row()


def _sampled(game: Game, simulations: int, rng: np.random.Generator, *, population: bool) -> dict[str, Any]:
    teams: list[tuple[int, ...]] = [(i,) for i in range(game.n)]
    teams += list(combinations(range(game.n), 2))[:PAIRS]
    single, double = indices.banzhaf(game.truth), indices.banzhaf_interaction(game.truth)
    truth = np.concatenate([single, double[:PAIRS]])
    tallies = [Tally(truth[k : k + 1]) for k in range(len(teams))]
    for number in chunks(simulations):
        masks, outcomes = sampled_trials(game, number, rng)
        for team, tally in zip(teams, tallies, strict=True):
            cells = simulated_team(masks, outcomes, team, units(game.problems))
            weights = team_contrast(len(team))
            limits = (population_of_problems if population else these_problems)(cells, weights)
            tally.add(limits, pooled(cells) @ weights.T)
    rows = [tally.row() for tally in tallies]
    shares = [row["coverage"] for row in rows]
    return {
        "coverage": float(np.mean(shares)),
        "lowest": min(shares),
        "highest": max(shares),
        "width_to_oracle": float(np.mean([row["width_to_oracle"] for row in rows])),
        "bias": max(row["bias"] for row in rows),
        "bias_error": max(row["bias_error"] for row in rows),
    }


def chunks(simulations: int) -> list[int]:
    return [CHUNK] * (simulations // CHUNK) + ([simulations % CHUNK] if simulations % CHUNK else [])


def coverage_these(simulations: int, seed: int) -> list[dict[str, Any]]:
    """Every game for these problems."""
    return [coverage(game, simulations, seed + k, population=False) for k, game in enumerate(these_games())]


def coverage_population(simulations: int, seed: int) -> list[dict[str, Any]]:
    """Every game for the population of problems."""
    return [coverage(game, simulations, seed + k, population=True) for k, game in enumerate(population_games())]


def coverage_scores(simulations: int, seed: int) -> list[dict[str, Any]]:
    """Log speedup: 0 for failures, else positive and skewed."""
    rows = []
    for k, (n, problems, repeats) in enumerate([(3, 3, 10), (3, 12, 5), (4, 3, 10), (4, 12, 5)]):
        rng = np.random.default_rng(seed + k)
        wanted = terms(n).only("banzhaf", "banzhaf_interaction").contrasts
        chance, mean = table("additive", n), 0.2 + 0.2 * has(n)[:, 0]
        tally = Tally(wanted @ (chance * mean))
        for number in chunks(simulations):
            shape = (number, problems, repeats, 1 << n)
            scores = (rng.random(shape) < chance) * rng.gamma(2.0, mean / 2, shape)
            cells = Cells(
                tuple(map(str, range(n))),
                units(problems),
                scores.sum(axis=2),
                np.full((problems, 1 << n), repeats),
                None,
                (scores**2).sum(axis=2),
            )
            tally.add(these_problems(cells, wanted), pooled(cells) @ wanted.T)
        rows.append(
            {"game": f"score n={n}", "problems": problems, "repeats": repeats, "degenerate": False} | tally.row()
        )
    return rows
