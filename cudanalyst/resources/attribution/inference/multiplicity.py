"""Many effects at once: max-T by sign flips of per-problem effects."""

from dataclasses import dataclass
from math import ceil, log2
from typing import Final

import numpy as np

from cudanalyst.resources.attribution.cells import Floats

ENUMERATED: Final = 14
"""Up to so many problems every sign flip is tried."""
DRAWS: Final = 1 << 14
_CLOSE: Final = 1e-9


@dataclass(frozen=True)
class MaxT:
    """A family tested together; shape `(effects,)` each."""

    p: Floats
    adjusted: Floats
    low: Floats
    high: Floats
    flips: int
    exact: bool


def minimum_problems(effects: int, alpha: float = 0.05) -> int:
    """Fewest problems from which a family can be significant at all.

    The least two-sided p of one effect by sign flips is 2^(1-G). In a family each of the effects can be the most extreme
    at flips of its own, so that the floor for K of them is K 2^(1-G): 6 problems for one test, 8 for six, at 5 %.
    """
    return 1 + ceil(log2(max(effects, 1) / alpha) - _CLOSE)


def max_t(effects: Floats, *, alpha: float = 0.05, seed: int = 0) -> MaxT:
    """Gives p values by sign flips, step-down adjusted ones, and simultaneous limits.

    Exact under the hypothesis that a problem's vector of effects is as likely as its negative; a problem's effects are
    flipped together, so that their dependence is kept. Limits use the quantile of the greatest |t| among flips of the
    centred effects. Sources: Westfall and Young, "Resampling-Based Multiple Testing" (1993), algorithm 4.1; Romano and
    Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing" (2005).

    Args:
        effects: shape `(problems, effects)`.
        alpha: error of the family.
        seed: where flips are drawn (more than 14 problems).
    """
    groups, number = effects.shape
    exact = groups <= ENUMERATED
    if exact:
        # The last problem keeps its sign: a flip and its mirror image have the same |t|.
        bits = np.arange(1 << (groups - 1))[:, None] >> np.arange(groups) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (DRAWS, groups))
        bits[0] = 0  # the data themselves count as one of the flips, or p could be 0
    signs: Floats = np.asarray(1.0 - 2.0 * bits, dtype=np.float64)
    flipped = np.abs(_t(signs, effects))
    observed = flipped[0]
    p = (flipped >= observed - _CLOSE).mean(axis=0)
    adjusted, running = np.empty(number), 0.0
    order = np.argsort(-observed, kind="stable")
    for step, k in enumerate(order):
        greatest = flipped[:, order[step:]].max(axis=1)
        running = max(running, float((greatest >= observed[k] - _CLOSE).mean()))
        adjusted[k] = running
    mean = effects.mean(axis=0)
    centred = np.abs(_t(signs, effects - mean)).max(axis=1)
    critical = np.quantile(centred, 1 - alpha, method="higher")
    half = critical * effects.std(axis=0, ddof=1) / np.sqrt(groups)
    return MaxT(p, adjusted, mean - half, mean + half, len(signs), exact)


def _t(signs: Floats, effects: Floats) -> Floats:
    """The t of every effect under every flip; 0 where an effect is 0 on every problem."""
    groups = len(effects)
    mean = signs @ effects / groups
    # Flips leave sums of squares as they are. Equal effects on every problem give an unbounded t: cut at a huge one.
    spread = np.maximum((effects**2).sum(axis=0) - groups * mean**2, 1e-24) / (groups - 1)
    return np.where(np.abs(mean) > 1e-12, mean / np.sqrt(spread / groups), 0.0)
