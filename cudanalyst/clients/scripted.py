"""A rule-based planner that is honest: what it is given decides how well it does.

It reads nothing but the delivered evidence. Each edit of the problem's book has cues (regular expressions over evidence text);
the edits that the evidence points to most strongly share the probability, but for a tremble that is spread over all edits that
apply. Where the evidence points nowhere, all that apply are equally likely. Its policy is a known function, so that the true
value of every coalition can be enumerated.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Final

from cudanalyst.clients.planner import Proposal, State
from cudanalyst.errors import BadRequest
from cudanalyst.kernels.editbook import applicable, apply, pointed
from cudanalyst.kernels.problem import Component, Problem

TREMBLE: Final = 0.1
"""Probability that the planner ignores its evidence: no cell of a trial is then surely 0 or 1."""
_ITEM: Final = re.compile(r"\[((?:compiler|analyzer|debugger|profiler)\.\d+)\]")


class ScriptedPlanner:
    """The planner of the demo and of tests of the attribution."""

    name = "scripted"

    def __init__(self, problems: Callable[[str], Problem], tremble: float = TREMBLE) -> None:
        """A planner over the edit books of problems.

        Args:
            problems: Gives the problem of an id.
            tremble: Probability of ignoring the evidence, in [0, 1].
        """
        if not 0 <= tremble <= 1:
            raise BadRequest(f"tremble must lie in [0, 1], got {tremble}")
        self._problems = problems
        self._tremble = tremble

    def policy(self, problem: str, source: str, evidence: Mapping[Component, str]) -> dict[str, float]:
        """The probability of each edit that applies, given the evidence; empty where none applies."""
        book = self._problems(problem)
        choices = applicable(book, source)
        if not choices:
            return {}
        chosen = pointed(book, source, "\n".join(evidence[component] for component in sorted(evidence))) or choices
        share = {edit.id: self._tremble / len(choices) for edit in choices}
        for edit in chosen:
            share[edit.id] += (1 - self._tremble) / len(chosen)
        return share

    async def propose(self, state: State) -> Proposal:
        """Draws an edit by the policy with the state's seed, and applies it."""
        policy = self.policy(state.problem, state.source, state.evidence)
        if not policy:
            return Proposal(plan="No edit of the book applies to this source.", source=None)
        # One draw for all coalitions of a block: random.Random is seeded, not a source of secrets.
        draw = random.Random(state.seed).choices(list(policy), weights=list(policy.values()))[0]  # noqa: S311
        edit = next(edit for edit in self._problems(state.problem).edits if edit.id == draw)
        text = "\n".join(state.evidence.values())
        cues = [*edit.cues, *(cue for group in edit.cue_groups for cue in group)]
        cited = tuple(
            dict.fromkeys(
                item.group(1)
                for line in text.splitlines()
                if any(re.search(cue, line) for cue in cues)
                for item in _ITEM.finditer(line)
            )
        )
        return Proposal(plan=edit.title, source=apply(edit, state.source), edit=edit.id, cites=cited)
