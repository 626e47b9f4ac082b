"""Games with known truth, and experiments drawn from them many at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cudanalyst.resources.attribution.cells import Blocks, Cells, Floats, Ints

NORMAL_95 = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""
KINDS = ("additive", "synergy", "redundancy", "dummy", "distractor")


@dataclass(frozen=True)
class Game:
    """Success probabilities of three problems (these problems), or how problems are drawn (population)."""

    name: str
    n: int
    problems: int
    repeats: int
    """Trials per coalition; where coalitions are sampled, trials per checkpoint."""
    draw: Callable[[np.random.Generator, int], Floats]
    """Probabilities of many experiments, shape `(experiments or 1, problems, 2**n)`."""
    truth: Floats
    """The table that intervals must cover, shape `(2**n,)`."""
    degenerate: bool = False
    """Cells at or near 0 or 1, or too few trials: a floor of coverage only."""
    moment: float = 0.0
    """Every trial of a block shares a moment that adds or takes this much."""
    design: Literal["blocks", "counts", "sampled"] = "blocks"


def has(n: int) -> Floats:
    """Which players are in each coalition, shape `(2**n, n)`."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.float64)


def table(kind: str, n: int) -> Floats:
    """A game of a kind, within [0.2, 0.8]."""
    inside = has(n)
    if kind == "additive":
        return 0.25 + inside @ np.linspace(0.1, 1, n) * 0.5 / np.linspace(0.1, 1, n).sum()
    if kind == "synergy":  # the first two only together
        return 0.3 + 0.4 * inside[:, 0] * inside[:, 1]
    if kind == "redundancy":
        return 0.3 + 0.4 * np.maximum(inside[:, 0], inside[:, 1])
    if kind == "dummy":  # only the first does anything
        return 0.3 + 0.4 * inside[:, 0]
    if kind == "distractor":  # the last does harm, most where the first is present
        return 0.4 + 0.35 * inside[:, 0] - 0.1 * inside[:, -1] - 0.15 * inside[:, 0] * inside[:, -1]
    raise ValueError(kind)


def fixed(tables: Floats) -> tuple[Callable[[np.random.Generator, int], Floats], Floats]:
    """The same problems in every experiment."""
    return (lambda _rng, _number: tables[None]), tables.mean(axis=0)


def these_games() -> Iterator[Game]:
    """Games for intervals that speak of these problems."""
    shift = np.array([-0.05, 0.0, 0.05])[:, None]
    for n in (3, 4, 5, 6):
        for kind in KINDS:
            draw, truth = fixed(table(kind, n) + shift)
            yield Game(f"{kind} n={n}", n, 3, 10, draw, truth)
    for n in range(7, 13):
        for kind in KINDS[n % 2 :: 2]:
            draw, truth = fixed(table(kind, n) + shift)
            yield Game(f"{kind} n={n}, sampled", n, 3, 160, draw, truth, design="sampled")
    for n in (3, 4):
        draw, truth = fixed(0.5 * table("additive", n) + 0.25 + shift)
        yield Game(f"shared moments n={n}", n, 3, 10, draw, truth, moment=0.2)
        yield Game(f"not in blocks n={n}", n, 3, 10, draw, truth, design="counts")
        yield Game(f"one checkpoint n={n}", n, 1, 20, *fixed(0.5 * table("distractor", n)[None] + 0.25))
    for n in (3, 4):
        sizes = has(n).sum(axis=1)
        rows = {
            "3 repeats": (np.tile(table("additive", n), (3, 1)), 3),
            "1 repeat": (np.tile(table("additive", n), (3, 1)), 1),
            "rare success": (np.full((3, 1 << n), 0.03), 10),
            "nearly sure": (np.tile(np.where(sizes > 0, 0.97, 0.1), (3, 1)), 10),
            "some cells at 0": (np.tile(np.where(sizes > 1, 0.6, 0.0), (3, 1)), 10),
            "every cell at 0 or 1": (np.tile(np.where(sizes == n, 1.0, 0.0), (3, 1)), 10),
            "one checkpoint, 5 repeats": (table("synergy", n)[None], 5),
        }
        for name, (tables, repeats) in rows.items():
            yield Game(f"{name} n={n}", n, len(tables), repeats, *fixed(tables), degenerate=True)


def population_games() -> Iterator[Game]:
    """Games for intervals that speak of a population of problems: effects drawn anew in every experiment."""
    for n in (3, 4):
        for kind in KINDS:
            for problems in (12, 24):
                yield Game(f"{kind} n={n}", n, problems, 5, *_spread(kind, n, problems))
    yield Game("additive n=5", 5, 12, 5, *_spread("additive", 5, 12))
    yield Game("distractor n=6", 6, 12, 5, *_spread("distractor", 6, 12))
    yield Game("synergy n=8, sampled", 8, 12, 64, *_spread("synergy", 8, 12), design="sampled")
    yield Game("additive n=12, sampled", 12, 12, 64, *_spread("additive", 12, 12), design="sampled")
    for problems in (5, 8):
        yield Game("additive n=3", 3, problems, 5, *_spread("additive", 3, problems), degenerate=True)
    for share in (0.2, 0.1):
        for problems in (5, 12, 24):
            name = f"1 in {round(1 / share)} gains n=3"
            yield Game(name, 3, problems, 10, *_few(3, problems, share), degenerate=True)


def _spread(kind: str, n: int, problems: int) -> tuple[Callable[[np.random.Generator, int], Floats], Floats]:
    """Every problem's table is 0.5 + a factor times the game's deviation from it; factors are uniform on [0.2, 1.4]."""
    base = table(kind, n)

    def draw(rng: np.random.Generator, number: int) -> Floats:
        factor = rng.uniform(0.2, 1.4, (number, problems, 1))
        return 0.5 + factor * (base - 0.5)

    return draw, 0.5 + 0.8 * (base - 0.5)


def _few(n: int, problems: int, share: float) -> tuple[Callable[[np.random.Generator, int], Floats], Floats]:
    inside = has(n)

    def draw(rng: np.random.Generator, number: int) -> Floats:
        return 0.05 + 0.3 * (rng.random((number, problems, n)) < share) @ inside.T

    return draw, 0.05 + 0.3 * share * inside.sum(axis=1)


def units(problems: int) -> tuple[tuple[str, str], ...]:
    """One checkpoint of each problem."""
    return tuple((f"problem_{g:03}", "checkpoint") for g in range(problems))


def experiments(game: Game, number: int, rng: np.random.Generator) -> Cells:
    """Many experiments of one design: outcomes lead with an axis of experiments."""
    chance = np.broadcast_to(game.draw(rng, number), (number, game.problems, 1 << game.n))
    shape = (number, game.problems, game.repeats, 1 << game.n)
    players = tuple(f"player_{i}" for i in range(game.n))
    trials = np.full((game.problems, 1 << game.n), game.repeats)
    if game.design == "counts":
        return Cells(players, units(game.problems), rng.binomial(game.repeats, chance), trials)
    moments = game.moment * rng.choice([-1.0, 1.0], shape[:3])[..., None]
    outcomes = (rng.random(shape, dtype=np.float32) < chance[:, :, None, :] + moments).astype(np.float64)
    blocks = Blocks(
        outcomes.reshape(number, -1, shape[-1]), np.repeat(np.arange(game.problems), game.repeats).astype(np.int64)
    )
    return Cells(players, units(game.problems), outcomes.sum(axis=2).astype(np.int64), trials, blocks)


def sampled_trials(game: Game, number: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Uniform coalitions and their outcomes, shape `(experiments, problems, trials)`."""
    chance = np.broadcast_to(game.draw(rng, number), (number, game.problems, 1 << game.n))
    masks = rng.integers(0, 1 << game.n, (number, game.problems, game.repeats))
    outcomes = (rng.random(masks.shape) < np.take_along_axis(chance, masks, axis=2)).astype(np.float64)
    return masks, outcomes
