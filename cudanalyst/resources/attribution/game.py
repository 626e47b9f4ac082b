"""Exact indices of a cooperative game, as pure functions of its full table.

A table is a float64 array of shape `(..., 2**n)`: entry `m` is v(S) of the coalition S whose bit `i` says whether
player `i` is in it; leading axes are separate games. Every index is linear in v, so `contrast` turns one into weights
over coalitions, and estimators and their variances need no second formula.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cudanalyst.errors import BadRequest

Table = NDArray[np.float64]
"""v(S) over all coalitions along the last axis."""
MAX_PLAYERS: Final = 16
"""Above this a full table is a mistake: 65,536 coalitions."""


def player_count(v: ArrayLike) -> int:
    """Number of players of a table.

    Raises:
        BadRequest: the last axis is not a power of two.
    """
    size = np.shape(v)[-1] if np.ndim(v) else 0
    n = size.bit_length() - 1
    if size < 1 or 1 << n != size or n > MAX_PLAYERS:
        msg = f"a game over n players needs 2**n coalitions (n <= {MAX_PLAYERS}), got {size}: give v(S) for every S"
        raise BadRequest(msg)
    return n


def mask_of(coalition: Iterable[str], players: Sequence[str]) -> int:
    """Index of a coalition in a table over `players`.

    Raises:
        BadRequest: a member is not a player, or is named twice.
    """
    mask = 0
    for member in coalition:
        if member not in players:
            msg = f"{member!r} is not a player; the players are {', '.join(players)}"
            raise BadRequest(msg)
        bit = 1 << players.index(member)
        if mask & bit:
            msg = f"{member!r} occurs twice in one coalition: name each component once"
            raise BadRequest(msg)
        mask |= bit
    return mask


def members(mask: int, players: Sequence[str]) -> tuple[str, ...]:
    """The coalition behind a table index, in the order of `players`."""
    return tuple(player for i, player in enumerate(players) if mask >> i & 1)


def pairs(n: int) -> tuple[tuple[int, int], ...]:
    """Pairs of players in the order in which pair indices are returned."""
    return tuple(combinations(range(n), 2))


def triples(n: int) -> tuple[tuple[int, int, int], ...]:
    """Triples of players in the order in which indices of three players are returned."""
    return tuple(combinations(range(n), 3))


def moebius(v: ArrayLike) -> Table:
    """Moebius transform (Harsanyi dividends): m(S) = sum over T in S of (-1)^(|S|-|T|) v(T).

    Source: Rota, "On the foundations of combinatorial theory I" (1964); Harsanyi (1963). Shape is kept.
    """
    n = player_count(v)
    table = np.array(v, dtype=np.float64)
    for i in range(n):
        halves = table.reshape(*table.shape[:-1], -1, 2, 1 << i)
        halves[..., 1, :] -= halves[..., 0, :]
    return table


def from_moebius(coefficients: ArrayLike) -> Table:
    """Inverse of `moebius` (zeta transform): v(S) = sum over T in S of m(T)."""
    n = player_count(coefficients)
    table = np.array(coefficients, dtype=np.float64)
    for i in range(n):
        halves = table.reshape(*table.shape[:-1], -1, 2, 1 << i)
        halves[..., 1, :] += halves[..., 0, :]
    return table


def derivative(v: ArrayLike, *players: int) -> Table:
    """Discrete derivative of v in `players`, over coalitions of the others: shape `(..., 2**(n - len(players)))`.

    For one player v(S+i) - v(S); for two v(S+ij) - v(S+i) - v(S+j) + v(S). The order of coalitions is that of the
    table with the bits of `players` removed. Source: Fujimoto, Kojadinovic and Marichal, "Axiomatic characterizations
    of probabilistic and cardinal-probabilistic interaction indices" (2006).
    """
    player_count(v)
    table = np.asarray(v, dtype=np.float64)
    for i in sorted(players, reverse=True):
        halves = table.reshape(*table.shape[:-1], -1, 2, 1 << i)
        table = (halves[..., 1, :] - halves[..., 0, :]).reshape(*table.shape[:-1], -1)
    return table


def banzhaf(v: ArrayLike) -> Table:
    """Banzhaf values, shape `(..., n)`: phi_i = 2^-(n-1) sum over S without i of [v(S+i) - v(S)].

    Equal to E[v | i in S] - E[v | i not in S] under uniform coalitions; they do not add up to v(N) - v(empty).
    Source: Banzhaf (1965); Dubey and Shapley, "Mathematical properties of the Banzhaf power index" (1979).
    """
    return _banzhaf(v, 1)


def banzhaf_interaction(v: ArrayLike) -> Table:
    """Pairwise Banzhaf interaction, shape `(..., n(n-1)/2)` in the order of `pairs`.

    I_ij = 2^-(n-2) sum over S without i, j of [v(S+ij) - v(S+i) - v(S+j) + v(S)].
    Source: Grabisch and Roubens, "An axiomatic approach to the concept of interaction among players" (1999).
    """
    return _banzhaf(v, 2)


def banzhaf_third(v: ArrayLike) -> Table:
    """Banzhaf interaction of three players, in the order of `triples`: the mean third derivative over the others.

    How much one component changes the interaction of two. Source: Grabisch and Roubens (1999).
    """
    return _banzhaf(v, 3)


def _banzhaf(v: ArrayLike, order: int) -> Table:
    # From dividends: sum over S that hold T of 2^(|T|-|S|) m(S); the same mean derivative, at O(n 2^n) for every T.
    return _shared(v, order, lambda sizes: 0.5 ** (sizes - order))


def sigma(v: ArrayLike) -> Table:
    """The pair term of the CUDAnalyst paper (ICML 2026): v(ij) - v(i) - v(j) + v(empty), in the order of `pairs`.

    It is the empty-context term of the Banzhaf interaction, the Moebius coefficient of the pair, and equals the
    interaction only for two players.
    """
    return _stack(v, [derivative(v, i, j)[..., 0] for i, j in pairs(player_count(v))])


def shapley(v: ArrayLike) -> Table:
    """Shapley values, shape `(..., n)`: the weight of S without i is |S|! (n-|S|-1)! / n!; they add up to v(N) - v(empty).

    Computed from dividends as sum over S with i of m(S)/|S|. Source: Shapley, "A value for n-person games" (1953).
    """
    return _shared(v, 1, lambda sizes: 1 / sizes)


def shapley_interaction(v: ArrayLike) -> Table:
    """Shapley interaction index of pairs, shape `(..., n(n-1)/2)` in the order of `pairs`.

    sum over S without i, j of (n-|S|-2)! |S|! / (n-1)! times the derivative; from dividends, sum over S with i, j of
    m(S)/(|S|-1). Source: Grabisch and Roubens (1999).
    """
    return _shared(v, 2, lambda sizes: 1 / (sizes - 1))


def shapley_taylor(v: ArrayLike) -> Table:
    """Shapley-Taylor index of order 2 of pairs, in the order of `pairs`: 2/n sum over S of derivative / C(n-1, |S|).

    Its single terms are v(i) - v(empty), and all of them add up to v(N) - v(empty). From dividends, each m(S) is split
    evenly over the pairs in S. Source: Sundararajan, Dhamdhere and Agarwal, "The Shapley Taylor interaction index" (2020).
    """
    return _shared(v, 2, lambda sizes: 2 / (sizes * (sizes - 1)))


def _shared(v: ArrayLike, order: int, weight: Callable[[Table], Table]) -> Table:
    """Sum over S that hold T of weight(|S|) m(S), for every T of `order` players."""
    n = player_count(v)
    sizes = _sizes(n)
    held = sizes >= order
    weights = np.zeros(1 << n)
    weights[held] = weight(sizes[held])
    table = moebius(v) * weights
    for i in range(n):
        halves = table.reshape(*table.shape[:-1], -1, 2, 1 << i)
        halves[..., 0, :] += halves[..., 1, :]
    return table[..., [sum(1 << i for i in team) for team in combinations(range(n), order)]]


def contrast(index: Callable[[ArrayLike], Table], n: int) -> Table:
    """Weights of a linear index over coalitions: `contrast(index, n) @ v == index(v)`; shape `(effects, 2**n)`."""
    return index(np.eye(1 << n)).T.copy()


def _stack(v: ArrayLike, columns: Sequence[Table]) -> Table:
    if not columns:
        return np.zeros((*np.shape(v)[:-1], 0))
    return np.stack(columns, axis=-1)


def _sizes(n: int) -> Table:
    masks = np.arange(1 << n)
    return sum((masks >> i & 1 for i in range(n)), np.zeros(1 << n, dtype=np.int64)).astype(np.float64)
