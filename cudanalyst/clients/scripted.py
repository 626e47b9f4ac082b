"""Rule-based planners and coders that are honest: what they are given decides how well they do.

They read nothing but what was delivered. Each edit of the problem's book has cues (regular expressions over evidence text); the
edits that the evidence points to most strongly share the probability, but for a tremble that is spread over all edits that apply.
Where the evidence points nowhere, all that apply are equally likely. A plan is a sentence that names the edit; a coder follows it
as far as its character says. So every regime has a known policy, and the true value of every coalition can be enumerated.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from cudanalyst.clients.characters import DEMO, Character, family_of, phrased
from cudanalyst.clients.planner import Code, PlanText, Proposal, State, propose
from cudanalyst.errors import BadRequest
from cudanalyst.kernels.editbook import applicable, apply, pointed
from cudanalyst.kernels.problem import Component, Edit, Problem
from cudanalyst.resources.trials import Usage
from cudanalyst.tools.text import CHARACTERS_A_TOKEN
from cudanalyst.values import content_id

TREMBLE: Final = 0.1
"""Probability that the demo's planner ignores its evidence: no cell of a trial is then surely 0 or 1."""
_ITEM: Final = re.compile(r"\[((?:compiler|analyzer|debugger|profiler)\.\d+)\]")
Book = Callable[[str], Problem]
"""Gives the problem of an id."""
Role = Literal["plan", "code"]
Policy = dict[str, float]
"""The probability of each edit; empty where none applies."""


def led_by(book: Problem, source: str, evidence: Mapping[Component, str], trust: float) -> Policy:
    """The edits that evidence leads to: `trust` is shared by those it points to most strongly, the rest by all that apply."""
    choices = applicable(book, source)
    if not choices:
        return {}
    chosen = pointed(book, source, "\n".join(evidence[component] for component in sorted(evidence))) or choices
    share = {edit.id: (1 - trust) / len(choices) for edit in choices}
    for edit in chosen:
        share[edit.id] += trust / len(chosen)
    return share


def following(named: str | None, obedience: float, otherwise: Policy) -> Policy:
    """What a coder does with a plan: the edit it names with probability `obedience`, else what it would do without it."""
    obeyed = obedience if named in otherwise else 0.0
    share = {edit: chance * (1 - obeyed) for edit, chance in otherwise.items()}
    if named is not None and obeyed:
        share[named] += obeyed
    return share


def named_in(book: Problem, source: str, plan: str) -> str | None:
    """The applicable edit that a plan names, by its title (the longest one, where titles contain each other)."""
    lowered = plan.lower()
    found = [edit for edit in applicable(book, source) if edit.title.lower() in lowered]
    return max(found, key=lambda edit: len(edit.title)).id if found else None


def draw(policy: Policy, seed: str | int) -> str:
    """One edit by a policy. Seeded, and no source of secrets."""
    return random.Random(seed).choices(list(policy), weights=list(policy.values()))[0]  # noqa: S311


def seed_of(character: Character, role: Role, state: State, plan: str | None = None) -> str | int:
    """What a draw hangs on: as with remote models, a trial's seed couples neither models nor roles nor prompts; the demo's does."""
    if character.name == DEMO.name:
        return state.seed if role == "plan" else f"code {state.seed}"
    return content_id("drw", character.name, role, state, plan or "")


class ScriptedPlanner:
    """Plans by what its evidence points to."""

    def __init__(self, problems: Book, tremble: float = TREMBLE, character: Character = DEMO) -> None:
        """A planner over the edit books of problems.

        Args:
            problems: Gives the problem of an id.
            tremble: Probability of ignoring the evidence, in [0, 1]; of the demo's character only.
            character: How it reads and writes.
        """
        if not 0 <= tremble <= 1:
            raise BadRequest(f"tremble must lie in [0, 1], got {tremble}")
        self.character = (
            character
            if character is not DEMO
            else DEMO.model_copy(update={"trust": 1 - tremble, "digest_trust": 1 - tremble})
        )
        self.problems = problems
        self._coder = ScriptedCoder(problems, self.character)

    @property
    def name(self) -> str:
        """The character's."""
        return self.character.name

    def policy(self, problem: str, source: str, evidence: Mapping[Component, str]) -> Policy:
        """The probability of each edit that applies, given the evidence; empty where none applies."""
        return led_by(self.problems(problem), source, evidence, self.character.trusts(evidence))

    def as_character(self, character: Character) -> "ScriptedPlanner":
        """The same books, read by another character."""
        return ScriptedPlanner(self.problems, character=character)

    async def plan(self, state: State) -> PlanText:
        """Draws an edit by the policy with the state's seed, and says so in its family's words."""
        policy = self.policy(state.problem, state.source, state.evidence)
        if not policy:
            return PlanText(text=None, failure="refusal")
        if self._breaks_off(state):
            return PlanText(text=None, failure="truncation", usage=self._usage(state, ""))
        chosen = draw(policy, seed_of(self.character, "plan", state))
        edit = next(edit for edit in self.problems(state.problem).edits if edit.id == chosen)
        text = phrased(edit.title, self.character.family)
        return PlanText(text=text, cites=cited(edit, state.evidence), usage=self._usage(state, text))

    async def propose(self, state: State) -> Proposal:
        """Plans, and writes with a coder of the same character."""
        return await propose(self, self._coder, state)

    def _breaks_off(self, state: State) -> bool:
        if not self.character.truncates:
            return False
        return random.Random(f"cut {seed_of(self.character, 'plan', state)}").random() < self.character.truncates  # noqa: S311

    def _usage(self, state: State, text: str) -> Usage:
        return usage_of(self.name, [state.task, state.source, *state.references, *state.evidence.values()], text)


class ScriptedCoder:
    """Writes what a plan names; without a plan, what it reads in the evidence itself."""

    def __init__(self, problems: Book, character: Character = DEMO) -> None:
        """A coder over the edit books of problems."""
        self.character = character
        self.problems = problems

    @property
    def name(self) -> str:
        """The character's."""
        return self.character.name

    def policy(self, state: State, plan: str | None) -> Policy:
        """The probability of each edit that applies."""
        book = self.problems(state.problem)
        alone = led_by(book, state.source, state.evidence, self.character.trusts_directly(state.evidence))
        family = None if plan is None else family_of(plan)
        if plan is None or family is None:
            return alone
        return following(named_in(book, state.source, plan), self.character.follows.get(family, 0.0), alone)

    async def write(self, state: State, plan: str | None) -> Code:
        """Draws an edit by the policy with the state's seed, and applies it."""
        policy = self.policy(state, plan)
        if not policy:
            return Code(source=None, failure="refusal")
        chosen = draw(policy, seed_of(self.character, "code", state, plan))
        edit = next(edit for edit in self.problems(state.problem).edits if edit.id == chosen)
        source = apply(edit, state.source)
        given = [state.task, state.source, *state.references, *state.evidence.values(), plan or ""]
        return Code(source=source, edit=chosen, usage=usage_of(self.name, given, source or ""))


def cited(edit: Edit, evidence: Mapping[Component, str]) -> tuple[str, ...]:
    """The items of the evidence that point to an edit."""
    cues = [*edit.cues, *(cue for group in edit.cue_groups for cue in group)]
    return tuple(
        dict.fromkeys(
            item.group(1)
            for text in evidence.values()
            for line in text.splitlines()
            if any(re.search(cue, line) for cue in cues)
            for item in _ITEM.finditer(line)
        )
    )


def usage_of(model: str, given: list[str], answer: str) -> Usage:
    """What a model that reads and writes as much would be charged for, at a rough number of characters a token."""
    return Usage(
        model=f"scripted:{model}",
        input_tokens=round(sum(map(len, given)) / CHARACTERS_A_TOKEN),
        output_tokens=round(len(answer) / CHARACTERS_A_TOKEN),
    )
