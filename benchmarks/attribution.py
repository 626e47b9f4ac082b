"""The proof of the estimators: speed, agreement with an independent library, and coverage on games with known truth.

    python -m benchmarks.attribution [--simulations 10000] [--seed 1] [--json]

Prints tables, or one JSON object. Exit status 1 where a promise is broken. The estimators are those of the package, run on
many simulated experiments at once along a leading axis.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

# Run as a file, the folder above is where the package `benchmarks` lies.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.known_games.games import table
from benchmarks.known_games.promises import promises
from benchmarks.known_games.shares import coverage_population, coverage_scores, coverage_these
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.trial_rows import TrialRow

PLAYERS = ("analyzer", "compiler", "debugger", "profiler")
COALITIONS = tuple(game.members(mask, PLAYERS) for mask in range(16))
INDICES: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("BV", 1, game.banzhaf),
    ("BII", 2, game.banzhaf_interaction),
    ("BII", 3, game.banzhaf_third),
    ("SV", 1, game.shapley),
    ("SII", 2, game.shapley_interaction),
    ("STII", 2, game.shapley_taylor),
    ("Moebius", 2, game.sigma),
)
"""What shapiq calls our indices, and their order; the published pair term is the Moebius coefficient of the pair."""


def rows(problems: int, repeats: int, seed: int) -> list[TrialRow]:
    """Trials of every coalition of four players, with nested outcomes and scores."""
    rng = np.random.default_rng(seed)
    draws, gains = rng.random((problems, repeats, 16)), rng.exponential(0.3, (problems, repeats, 16))
    chance = table("additive", 4)
    return [
        TrialRow(
            experiment="benchmark",
            trial=f"{g}-{r}-{mask}",
            problem=f"problem_{g:02}",
            checkpoint=f"checkpoint_{g:02}",
            coalition=COALITIONS[mask],
            players=PLAYERS,
            block=r,
            repeat=r,
            state="evaluated",
            base_status_before="wrong" if g % 2 else "passed",
            compiled=bool(draws[g, r, mask] < chance[mask] + 0.2),
            passed=(passed := bool(draws[g, r, mask] < chance[mask])),
            fast_modelled=bool(draws[g, r, mask] < chance[mask] - 0.2),
            fast=bool(draws[g, r, mask] < chance[mask] - 0.15),
            improved=passed,
            regressed=not passed,
            modelled_speedup=float(np.exp(gains[g, r, mask])) if passed else 1.0,
            speedup=float(np.exp(gains[g, r, mask])) if passed else 1.0,
            no_op={"compiled": True, "passed": g % 2 == 0},
        )
        for g in range(problems)
        for r in range(repeats)
        for mask in range(16)
    ]


def speed(rounds: int = 5) -> dict[str, float]:
    """Least of several processor times: a whole analysis, and exact indices of ten players."""
    trials = rows(50, 10, 0)
    values = np.random.default_rng(1).random(1 << 10)
    exact = [index for _, _, index in INDICES] + [game.moebius]
    return {
        "analyse_50x16x10_eight_levels_cpu_s": _best(lambda: analyse(trials), rounds),
        "exact_indices_n10_cpu_ms": 1e3 * _best(lambda: [index(values) for index in exact], rounds),
    }


def _best(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def agreement(seed: int, sizes: Sequence[int] = range(3, 11)) -> list[dict[str, Any]]:
    """Greatest difference from shapiq's exact computer on random tables, per index and number of players."""
    import shapiq

    found = []
    for n in sizes:
        v = np.random.default_rng(seed + n).uniform(-1, 1, 1 << n)
        bits = 1 << np.arange(n)
        exact = shapiq.ExactComputer(n_players=n, game=lambda asked, v=v, bits=bits: v[asked.astype(np.int64) @ bits])
        for name, order, index in INDICES:
            theirs = exact(name, order=order)
            pairs = combinations(range(n), order)
            gap = max(abs(ours - theirs[who]) for ours, who in zip(index(v), pairs, strict=True))
            found.append({"index": f"{name} order {order}", "players": n, "greatest_difference": float(gap)})
        theirs = exact("Moebius", order=n)
        gap = max(
            abs(value - theirs[game.members(mask, range(n))]) for mask, value in enumerate(game.moebius(v)) if mask
        )
        found.append({"index": "Moebius, all", "players": n, "greatest_difference": float(gap)})
    return found


def judge(found: dict[str, Any]) -> list[str]:
    """Promises that are broken; single effects and rates have three standard errors of the simulation to spare."""
    broken = [
        f"{part}: {row['game']} ({row['problems']} problems, {row['repeats']} repeats): {wrong}"
        for part in ("these_problems", "population_of_problems", "scores")
        for row in found[part]
        for wrong in _wrong(row, found["simulations"], floor=part != "population_of_problems")
    ]
    for row in found["promises"]:
        slack = 3 * (0.05 * 0.95 / row["simulations"]) ** 0.5
        above = row["at_most"] is not None and row["rate"] > row["at_most"] + slack
        below = row["at_least"] is not None and row["rate"] < row["at_least"] - slack
        broken += [f"{row['what']}: {row['rate']:.4f}"] if above or below else []
    broken += [
        f"{row['index']} of {row['players']} players differs by {row['greatest_difference']:.2g}"
        for row in found["agreement"]
        if row["greatest_difference"] > 1e-9
    ]
    limits = {"analyse_50x16x10_eight_levels_cpu_s": 1, "exact_indices_n10_cpu_ms": 20}
    return broken + [
        f"{name} is {found['speed'][name]:.3f}" for name, most in limits.items() if found["speed"][name] >= most
    ]


def _wrong(row: dict[str, Any], simulations: int, *, floor: bool) -> list[str]:
    error = 3 * (0.95 * 0.05 / simulations) ** 0.5
    wrong = []
    if row["degenerate"]:
        if floor and row["lowest"] < 0.93 - error:
            wrong.append(f"an effect is covered {row['lowest']:.4f}")
    elif not 0.935 <= row["coverage"] <= 0.965:
        wrong.append(f"covered {row['coverage']:.4f}")
    elif row["lowest"] < 0.935 - error or row["highest"] > 0.965 + error:
        wrong.append(f"effects are covered {row['lowest']:.4f} to {row['highest']:.4f}")
    if row["bias"] > max(0.01, 4 * row["bias_error"]):
        wrong.append(f"bias {row['bias']:.4f}")
    return wrong


def main() -> int:
    """Runs everything; exit status 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    start = time.perf_counter()
    found: dict[str, Any] = {"simulations": asked.simulations, "seed": asked.seed, "speed": speed()}
    found["agreement"] = agreement(asked.seed)
    found["these_problems"] = coverage_these(asked.simulations, asked.seed)
    found["population_of_problems"] = coverage_population(asked.simulations, asked.seed)
    found["scores"] = coverage_scores(asked.simulations, asked.seed)
    found["promises"] = promises(asked.simulations, asked.seed)
    found["seconds"] = time.perf_counter() - start
    found["broken"] = judge(found)
    print(json.dumps(found)) if asked.json else _show(found)
    return 1 if found["broken"] else 0


def _show(found: dict[str, Any]) -> None:
    console = Console()
    for name, value in found["speed"].items():
        console.print(f"{name}: {value:.3f}")
    titles = {
        "agreement": "Greatest difference from shapiq",
        "these_problems": "These problems: coverage of 95 % intervals",
        "population_of_problems": "Population of problems: coverage of 95 % intervals",
        "scores": "Scores, these problems: coverage of 95 % intervals",
        "promises": "Error rates of tests, sequences and summaries",
    }
    for part, title in titles.items():
        shown = Table(title=f"{title}, {found['simulations']} simulations")
        for column in found[part][0]:
            shown.add_column(column.replace("_", " "))
        for row in found[part]:
            shown.add_row(*(_cell(cell) for cell in row.values()))
        console.print(shown)
    console.print(f"{found['seconds']:.0f} s; {len(found['broken'])} promises broken")
    for line in found["broken"]:
        console.print(f"BROKEN {line}")


def _cell(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.4f}" if abs(cell) >= 1e-4 or cell == 0 else f"{cell:.1e}"


if __name__ == "__main__":
    sys.exit(main())
