"""Error rates of tests, sequences and summaries, on experiments drawn from known games."""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.known_games.games import NORMAL_95, Game, experiments, has, table, units
from benchmarks.known_games.shares import SLACK, chunks
from cudanalyst.resources.attribution.cells import Cells, by_problem
from cudanalyst.resources.attribution.compare import Matched, lifts, slope_contrasts
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.inference.bootstrap import bootstrap_limits
from cudanalyst.resources.attribution.inference.drift import trend
from cudanalyst.resources.attribution.inference.heterogeneity import per_problem, random_effects
from cudanalyst.resources.attribution.inference.intervals import population_of_problems, these_problems
from cudanalyst.resources.attribution.inference.multiplicity import max_t
from cudanalyst.resources.attribution.inference.sequences import confidence_sequence


def promises(simulations: int, seed: int) -> list[dict[str, Any]]:
    """Error rates of tests and sequences; `promise` is what they may reach at most, or must reach at least."""
    return [
        *_peeking(max(simulations // 2, 1), seed),
        *_families(max(simulations // 5, 1), seed),
        *_equivalence(simulations, seed),
        *_comparisons(simulations, seed),
        *_random_effects(max(simulations // 5, 1), seed),
        *_bootstraps(max(simulations // 10, 1), seed),
        *_drift(max(simulations // 5, 1), seed),
    ]


def _promise(
    what: str, value: float, simulations: int, *, most: float | None = None, least: float | None = None
) -> dict[str, Any]:
    return {"what": what, "rate": float(value), "at_most": most, "at_least": least, "simulations": simulations}


def _peeking(simulations: int, seed: int) -> list[dict[str, Any]]:
    """A look after every round: how often a sequence, and a fixed-size interval, ever miss the truth."""
    rows = []
    for kind, problems, rounds in (("dummy", 1, 60), ("synergy", 3, 40), ("distractor", 12, 20)):
        rng, wanted = np.random.default_rng(seed), terms(3).only("banzhaf", "banzhaf_interaction").contrasts
        tables = np.tile(table(kind, 3), (problems, 1))
        game = Game(kind, 3, problems, rounds, lambda _rng, _number, tables=tables: tables[None], tables[0])
        truth, missed, naive, width, number_seen = wanted @ tables[0], np.zeros(6), np.zeros(6), 0.0, 0
        for number in chunks(simulations):
            cells = experiments(game, number, rng)
            found = confidence_sequence(cells, wanted)
            if found is None:
                raise RuntimeError("no blocks")
            estimate, low, high = found
            missed += ((low > truth + SLACK) | (high < truth - SLACK)).any(axis=1).sum(axis=0)
            # What a reader does who looks at a normal interval each time.
            error = (
                np.sqrt(wanted**2 @ (tables[0] * (1 - tables[0])) / problems)
                / np.sqrt(np.arange(1, rounds + 1))[:, None]
            )
            naive += (np.abs(estimate - truth) > NORMAL_95 * error).any(axis=1).sum(axis=0)
            width += float(((high - low)[:, -1] / (2 * NORMAL_95 * error[-1])).sum(axis=0).mean())
            number_seen += number
        name = f"{kind}, {problems} problems, a look after each of {rounds} rounds"
        rows.append(_promise(f"sequence ever misses: {name}", missed.max() / simulations, simulations, most=0.05))
        rows.append(_promise(f"fixed interval ever misses: {name}", naive.max() / simulations, simulations))
        rows.append(
            _promise(f"width of sequence at the end to a fixed interval: {name}", width / number_seen, simulations)
        )
    return rows


def _families(simulations: int, seed: int) -> list[dict[str, Any]]:
    rows = []
    wanted = terms(3).only("banzhaf", "banzhaf_interaction").contrasts
    for problems in (8, 12, 20):
        rng = np.random.default_rng(seed + problems)
        false, single, together = 0, 0, 0
        for _ in range(simulations):
            # Problems differ, effects are symmetric about 0.
            chance = np.clip(0.5 + rng.normal(0, 0.1, (problems, 8)), 0.02, 0.98)
            found = max_t(rng.binomial(5, chance) / 5 @ wanted.T, seed=int(rng.integers(1 << 30)))
            false += bool((found.adjusted <= 0.05).any())
            single += bool((found.p <= 0.05).any())
            together += bool(((found.low <= 0) & (found.high >= 0)).all())
        rows.append(
            _promise(f"any false positive among 6, adjusted, G={problems}", false / simulations, simulations, most=0.05)
        )
        rows.append(
            _promise(f"any false positive among 6, unadjusted, G={problems}", single / simulations, simulations)
        )
        rows.append(
            _promise(
                f"6 simultaneous intervals all cover, G={problems}", together / simulations, simulations, least=0.93
            )
        )
    return rows


def _equivalence(simulations: int, seed: int) -> list[dict[str, Any]]:
    """An effect exactly at the margin must be called equivalent 5 times in 100 at most; one of 0 mostly."""
    rows = []
    for effect, least, most in ((0.1, None, 0.05), (0.0, 0.5, None)):
        rng, wanted = np.random.default_rng(seed), terms(3).only("banzhaf").contrasts[:1]
        game = Game(
            "margin", 3, 12, 10, lambda _r, _n, e=effect: np.tile(0.4 + e * has(3)[:, 0], (12, 1))[None], np.zeros(8)
        )
        called = 0
        for number in chunks(simulations):
            limits = these_problems(experiments(game, number, rng), wanted, alpha=0.1)
            called += int(((limits.low > -0.1) & (limits.high < 0.1)).sum())
        rows.append(
            _promise(
                f"called equivalent within 0.1 at a true effect of {effect}",
                called / simulations,
                simulations,
                most=most,
                least=least,
            )
        )
    return rows


def _comparisons(simulations: int, seed: int) -> list[dict[str, Any]]:
    """Regimes side by side in blocks whose trials share a moment, and slopes over three generations."""
    rng, game_of_three = np.random.default_rng(seed), terms(3).only("banzhaf", "banzhaf_interaction")
    tables = np.concatenate([table("additive", 3), table("distractor", 3) - 0.1]) * 0.5 + 0.2
    spread = np.array([-0.03, 0.0, 0.03])[:, None]
    design = Game("regimes", 4, 3, 12, lambda _r, _n: (tables + spread)[None], tables, moment=0.15)
    shown = {"mean lift": np.zeros(1), "difference of effects": np.zeros(6)}
    for number in chunks(simulations):
        cells = replace(experiments(design, number, rng), players=("a", "b", "c"))
        found = Matched(cells, np.ones(16, dtype=np.bool_))
        for quantity, covered in shown.items():
            weights, _ = lifts(found, quantity, game_of_three)
            limits = these_problems(cells, weights)
            shown[quantity] = covered + ((limits.low <= weights @ tables) & (limits.high >= weights @ tables)).sum(
                axis=0
            )
    rows = [
        _promise(
            f"{quantity} between regimes is covered (least effect)",
            covered.min() / simulations,
            simulations,
            least=0.935,
        )
        for quantity, covered in shown.items()
    ]
    # Interactions grow by 0.1 a generation on average, on some problems more than on others.
    weights, truth, covered = slope_contrasts((0, 1, 2), game_of_three.contrasts), np.zeros(6), np.zeros(6)
    truth[3] = 0.1
    both = (np.arange(8) & 3 == 3).astype(np.float64)
    # An interaction of 0.1 is a success more likely by 0.1 where both are there, and adds half of it to either value.
    truth[:2] = 0.05
    for number in chunks(simulations):
        growth = rng.uniform(0.05, 0.15, (number, 12, 1, 1)) * np.arange(3)[:, None] * both
        chance = (0.3 + growth).reshape(number, 12, 24)
        cells = Cells(("a", "b", "c"), units(12), rng.binomial(5, chance), np.full((12, 24), 5))
        limits = population_of_problems(cells, weights)
        covered += ((limits.low <= truth) & (limits.high >= truth)).sum(axis=0)
    rows.append(
        _promise(
            "slope over 3 generations is covered, G=12 (least effect)",
            covered.min() / simulations,
            simulations,
            least=0.935,
        )
    )
    return rows


def _random_effects(simulations: int, seed: int) -> list[dict[str, Any]]:
    rows = []
    wanted = terms(3).only("banzhaf").contrasts
    for problems in (5, 12, 30):
        rng = np.random.default_rng(seed)
        gain = rng.normal(0.12, 0.06, (simulations, problems, 3))
        chance = np.clip(0.3 + gain @ has(3).T, 0, 1)
        cells = Cells(("a", "b", "c"), units(problems), rng.binomial(10, chance), np.full((problems, 8), 10))
        found = random_effects(*per_problem(cells, wanted))
        new = rng.normal(0.12, 0.06, (simulations, 3))
        inside = ((found.low <= 0.12) & (found.high >= 0.12)).mean()
        ahead = ((found.prediction_low <= new) & (found.prediction_high >= new)).mean()
        rows.append(_promise(f"Hartung-Knapp interval covers, G={problems}", inside, simulations, least=0.93))
        rows.append(
            _promise(f"prediction interval holds a new problem's effect, G={problems}", ahead, simulations, least=0.92)
        )
        rows.append(_promise(f"mean tau^2 to true, G={problems}", found.tau2.mean() / 0.06**2, simulations))
    return rows


def _bootstraps(simulations: int, seed: int) -> list[dict[str, Any]]:
    rows = []
    wanted = terms(3).only("banzhaf").contrasts
    for problems, method in (
        (12, "studentised bootstrap"),
        (40, "studentised bootstrap"),
        (40, "percentile bootstrap"),
    ):
        rng = np.random.default_rng(seed)
        gain = rng.uniform(0, 0.28, (simulations, problems, 3))
        cells = Cells(
            ("a", "b", "c"), units(problems), rng.binomial(10, 0.1 + gain @ has(3).T), np.full((problems, 8), 10)
        )
        low, high = bootstrap_limits(by_problem(cells) @ wanted.T, 0.05, method=method, seed=seed, draws=1000)
        covered = ((low <= 0.14) & (high >= 0.14)).mean()
        rows.append(_promise(f"{method} covers, G={problems}", covered, simulations, least=0.92))
    return rows


def _drift(simulations: int, seed: int) -> list[dict[str, Any]]:
    rows = []
    cell, time = np.tile(np.arange(3), 12), np.repeat(np.linspace(0, 1, 12), 3)
    for change, most, least in ((0.0, 0.06, None), (0.8, None, 0.8)):
        rng = np.random.default_rng(seed)
        seen = [
            trend(cell, time, (rng.random(36) < 0.2 + 0.1 * cell + change * time).astype(np.float64))[1] <= 0.05
            for _ in range(simulations)
        ]
        rows.append(
            _promise(
                f"drift found where success changes by {change}",
                float(np.mean(seen)),
                simulations,
                most=most,
                least=least,
            )
        )
    return rows
