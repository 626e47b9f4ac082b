"""The third road to the truth: what the edit book and the planted faults say, with no tool and no text involved."""

import numpy as np

from cudanalyst.clients.scripted import TREMBLE
from cudanalyst.kernels.editbook import applicable
from cudanalyst.kernels.problem import Edit, Fault, Problem
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.planted import RUNGS, visible


def planted_table(
    problem: Problem, start: str, players: tuple[str, ...], level: str, tremble: float = TREMBLE
) -> game.Table:
    """v(S) of one step of the scripted planner, were every tool to show exactly what the faults declare. Shape `(2**n,)`.

    The planner then picks, but for its tremble, among the edits that mend most of what is visible to S and nothing else; an
    edit's success follows from what it mends and what it breaks.
    """
    state = next(one for one in problem.starts if one.name == start)
    faults = [fault for fault in problem.faults if fault.id in state.faults]
    choices = applicable(problem, state.source)
    meets = {edit.id: _meets(edit, faults, level) for edit in choices}

    def value(mask: int) -> float:
        seen = {fault.id for fault in faults if visible(fault, game.members(mask, players))}
        return sum(chance for edit, chance in _policy(choices, seen, tremble).items() if meets[edit])

    return np.array([value(mask) for mask in range(1 << len(players))])


def _policy(choices: tuple[Edit, ...], seen: set[str], tremble: float) -> dict[str, float]:
    strength = {edit.id: len(edit.fixes) if seen.issuperset(edit.fixes) else 0 for edit in choices}
    best = max(strength.values(), default=0)
    chosen = [edit for edit in strength if strength[edit] == best]
    share = dict.fromkeys(strength, tremble / len(choices))
    for edit in chosen:
        share[edit] += (1 - tremble) / len(chosen)
    return share


def _meets(edit: Edit, faults: list[Fault], level: str) -> bool:
    rung = RUNGS[level]
    left = [fault for fault in faults if fault.id not in {*edit.fixes, *edit.silences}]
    broken = edit.breaks is not None and RUNGS[edit.breaks] <= rung
    return not broken and all(RUNGS[fault.level] > rung for fault in left)
