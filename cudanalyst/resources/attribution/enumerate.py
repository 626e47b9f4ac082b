"""True games of a scripted planner: its policy is known, so evaluating every edit once makes v(S) an exact sum."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.levels import SUCCESS
from cudanalyst.resources.trials import Outcome

Policy = Mapping[tuple[str, ...], Mapping[str, float]]
"""By coalition, the probability of each edit."""


def enumerated_values(policy: Policy, outcome: Mapping[str, Outcome], players: Sequence[str], level: str) -> game.Table:
    """v(S) = sum over edits of P(edit | evidence of S) * [the edit meets the level]; shape `(2**n,)`.

    Args:
        policy: every coalition's edit probabilities; each row adds up to 1.
        outcome: what evaluating each edit on the checkpoint gave.
        players: the order of the table's bits.
        level: a success level.

    Raises:
        BadRequest: an unknown level, a coalition without a row, an edit without an outcome, or a row that is no
            distribution.
    """
    if level not in SUCCESS:
        msg = f"unknown level {level!r}; use one of {', '.join(SUCCESS)}"
        raise BadRequest(msg)
    meets = {edit: SUCCESS[level](found) for edit, found in outcome.items()}
    rows = {game.mask_of(coalition, players): row for coalition, row in policy.items()}
    values = np.zeros(1 << len(players))
    for mask in range(len(values)):
        values[mask] = _expected(rows.get(mask), meets, game.members(mask, players))
    return values


def _expected(row: Mapping[str, float] | None, meets: Mapping[str, bool], coalition: Collection[str]) -> float:
    name = " + ".join(coalition) or "no evidence"
    if row is None:
        msg = f"the policy has no row for {name}: give the edit probabilities of every coalition"
        raise BadRequest(msg)
    if unknown := sorted(set(row) - set(meets)):
        msg = f"no outcome for edit {unknown[0]!r}, which the policy may choose: evaluate every edit once"
        raise BadRequest(msg)
    if min(row.values(), default=0) < 0 or abs(sum(row.values()) - 1) > 1e-9:
        msg = f"edit probabilities for {name} must be >= 0 and add up to 1, got {sum(row.values()):g}"
        raise BadRequest(msg)
    return float(sum(chance for edit, chance in row.items() if meets[edit]))
