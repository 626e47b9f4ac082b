"""What a design can resolve, before a token is spent."""

from math import sqrt
from typing import Final, Literal

from scipy.special import ndtri, stdtrit

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.inference.intervals import POPULATION_MIN
from cudanalyst.resources.attribution.sampling import EXACT_PLAYERS, ORDERS
from cudanalyst.resources.attribution.table import Index, Target
from cudanalyst.values import Frozen

POWER: Final = 0.8
BETWEEN_SD: Final = 0.15
"""Assumed spread of true effects between problems; a design should state its own."""


class Resolution(Frozen):
    """How precisely one kind of effect is found."""

    index: Index
    players: int
    """How many the effect is of."""
    target: Target
    half_width: float
    """Of the 95 % interval."""
    detectable: float
    """Least true effect that the interval excludes 0 for with probability 0.8: 1.43 half-widths for many trials."""


def resolvable(
    players: int,
    repeats: int,
    problems: int,
    checkpoints_per_problem: int = 1,
    *,
    coalitions: Literal["all", "sampled"] = "all",
    trials_per_checkpoint: int | None = None,
    between_sd: float = BETWEEN_SD,
    rate: float = 0.5,
    alpha: float = 0.05,
) -> tuple[Resolution, ...]:
    """Resolvable effects of a design, for every index and both targets.

    The variance of an effect with weights w over coalitions is sum(w^2) p(1-p) / (R C G), R repeats on C checkpoints of
    G problems: half-widths 1.96/sqrt(8R) for a Banzhaf value of three players on one program, twice that for an
    interaction. Sampled, an effect of k players compares 2^k groups of M/2^k trials. For the population of problems the
    spread of true effects is added, and t(G-1) takes the place of the normal quantile; below 5 problems there is none.

    Args:
        players: how many.
        repeats: trials per coalition and checkpoint (all coalitions).
        problems: how many.
        checkpoints_per_problem: how many.
        coalitions: all, or sampled.
        trials_per_checkpoint: sampled only: M.
        between_sd: standard deviation of true effects between problems.
        rate: success probability; 0.5 is the worst case.
        alpha: error.

    Raises:
        BadRequest: a number that is not positive, all coalitions of more than six players, or sampling without M.
    """
    if min(players, repeats, problems, checkpoints_per_problem) < 1 or not 0 < rate < 1 or between_sd < 0:
        msg = (
            "players, repeats, problems and checkpoints must be at least 1, rate inside (0, 1), between_sd not negative"
        )
        raise BadRequest(msg)
    if coalitions == "all" and players > EXACT_PLAYERS:
        msg = f"all coalitions are run up to {EXACT_PLAYERS} players, got {players}: sample coalitions instead"
        raise BadRequest(msg)
    if coalitions == "sampled" and not trials_per_checkpoint:
        msg = "sampled coalitions need trials_per_checkpoint, the number of draws on each checkpoint"
        raise BadRequest(msg)
    one = rate * (1 - rate) / (checkpoints_per_problem * problems)
    found = []
    for index, order, factor in _factors(players, repeats, coalitions, trials_per_checkpoint or 0):
        within = factor * one
        found.append(_resolution(index, order, "these problems", sqrt(within), None, alpha))
        if problems >= POPULATION_MIN:
            error = sqrt(within + between_sd**2 / problems)
            found.append(_resolution(index, order, "population of problems", error, problems - 1, alpha))
    return tuple(found)


def _factors(
    players: int, repeats: int, coalitions: Literal["all", "sampled"], draws: int
) -> list[tuple[Index, int, float]]:
    """Sum of squared weights over trials of one checkpoint, for each kind of effect."""
    if coalitions == "sampled":
        return [(index, order, 4.0**order / draws) for order, index in enumerate(ORDERS, start=1) if order <= players]
    wanted = terms(players)
    found: dict[tuple[Index, int], float] = {}
    for (index, who), weights in zip(wanted.labels, wanted.contrasts, strict=True):
        found.setdefault((index, len(who)), float((weights**2).sum()) / repeats)
    return [(index, order, factor) for (index, order), factor in found.items() if index != "moebius" or order <= 2]


def _resolution(
    index: Index, order: int, target: Target, error: float, freedom: int | None, alpha: float
) -> Resolution:
    half, power = (
        float(ndtri(level) if freedom is None else stdtrit(freedom, level)) for level in (1 - alpha / 2, POWER)
    )
    return Resolution(
        index=index, players=order, target=target, half_width=half * error, detectable=(half + power) * error
    )
