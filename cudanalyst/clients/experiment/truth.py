"""The true game of an experiment whose agents are scripted: what every estimate should come to.

The policies of planner and coder are known functions of what each was given, so the chance of every edit in every cell is an exact
sum over plans; what an edit comes to was judged in the trials. Nothing is drawn.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from cudanalyst.clients.agents import character_of
from cudanalyst.clients.characters import Character, phrased
from cudanalyst.clients.experiment.journal import Answered, Prompt, Record
from cudanalyst.clients.planner import State
from cudanalyst.clients.scripted import Book, Policy, ScriptedCoder, ScriptedPlanner
from cudanalyst.kernels.editbook import apply
from cudanalyst.resources.attribution import game
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.regimes.shapes import SHAPES
from cudanalyst.resources.trial_rows import TrialRow
from cudanalyst.tools.source import BuildOptions, Source

LEVELS: Final = ("compiled", "passed", "fast_modelled")
Reached = Mapping[str, bool]
"""Level -> whether a source reaches it."""
Judge = Callable[[str, str], Reached]
"""(problem, source) to the levels that it reaches."""


class Condition(NamedTuple):
    """Whose cells a true table is over."""

    planner: str
    regime: str
    plan_of: str | None


@dataclass(frozen=True)
class Given:
    """What planner and coder were given in a trial."""

    planner: State | None
    coder: State
    plan: str | None


def given_in(past: Iterable[Record]) -> dict[str, Given]:
    """By trial, from a journal; a trial whose plan broke off has no coder's state and takes the planner's without evidence."""
    records = list(past)
    prompts = {one.prompt: one for one in records if isinstance(one, Prompt)}
    planner: dict[str, State] = {}
    coder: dict[str, tuple[State, str | None]] = {}
    for one in records:
        if isinstance(one, Answered) and one.prompt in prompts:
            asked = prompts[one.prompt]
            if one.role == "plan":
                planner[one.trial] = asked.state
            else:
                coder[one.trial] = (asked.state, asked.plan)
    return {
        trial: Given(
            planner.get(trial), *(coder[trial] if trial in coder else (planner[trial].without_evidence(), None))
        )
        for trial in planner.keys() | coder.keys()
    }


class Truth:
    """True values of the cells of an experiment."""

    def __init__(self, design: Design, books: Book, given: Mapping[str, Given], judge: Judge) -> None:
        """Everything that the values follow from.

        Args:
            design: Whose agents are all scripted.
            books: Gives the problem of an id.
            given: What was given in each trial (`given_in`).
            judge: What a source reaches.
        """
        self._characters: dict[str, Character] = {one.name: character_of(one) for one in design.planners}
        self._coders = {one.name: ScriptedCoder(books, character_of(design.coder_of(one))) for one in design.planners}
        self._planners = {
            name: ScriptedPlanner(books, character=character) for name, character in self._characters.items()
        }
        self._books = books
        self._given = given
        self._judge = judge

    def _plans(self, planner: str, state: State) -> Policy:
        """Chances of the titles that a planner's plan names, given that it makes one."""
        return self._planners[planner].policy(state.problem, state.source, state.evidence)

    def _edits(self, planner: str, given: Given, plans: tuple[str, Policy] | None) -> Policy:
        """Chances of the edits that a coder makes, mixed over the plans that it may be given."""
        coder = self._coders[planner]
        if plans is None:
            return coder.policy(given.coder, given.plan)
        who, policy = plans
        titles = {edit.id: edit.title for edit in self._books(given.coder.problem).edits}
        mixed: Policy = {}
        for named, chance in policy.items():
            text = phrased(titles[named], self._characters[who].family)
            for edit, share in coder.policy(given.coder, text).items():
                mixed[edit] = mixed.get(edit, 0.0) + chance * share
        return mixed

    def value(self, row: TrialRow, source_of_plan: Given | None) -> dict[str, float]:
        """True chance of reaching each level in the cell of a trial.

        Args:
            row: A trial of the cell.
            source_of_plan: For PT: what the other planner was given in its own trial.
        """
        given, shape = self._given[row.trial], SHAPES[row.regime]
        plans, whole = None, 1.0
        if shape.plan == "own" and given.planner is not None:
            plans = (row.planner, self._plans(row.planner, given.planner))
            whole = 1 - self._characters[row.planner].truncates
        elif shape.plan == "transferred" and source_of_plan is not None and source_of_plan.planner is not None:
            plans = (str(row.plan_of), self._plans(str(row.plan_of), source_of_plan.planner))
        edits = self._edits(row.planner, given, plans)
        state = given.coder
        by_id = {edit.id: edit for edit in self._books(state.problem).edits}
        found = dict.fromkeys(LEVELS, 0.0)
        for edit, chance in edits.items():
            reached = self._judge(state.problem, apply(by_id[edit], state.source) or state.source)
            for level in LEVELS:
                found[level] += whole * chance * reached[level]
        return found

    def tables(self, rows: Iterable[TrialRow]) -> dict[Condition, dict[str, dict[tuple[str, str], game.Table]]]:
        """True v(S), by condition, level and (problem, checkpoint); shape `(2**n,)`, in the order of the rows' players.

        Cells of several repeats are averaged: misaligned evidence is drawn anew in each.
        """
        kept = [row for row in rows if not row.sentinel and row.trial in self._given]
        own = {
            (row.planner, row.checkpoint, row.coalition, row.repeat): self._given[row.trial]
            for row in kept
            if row.regime == "P+F"
        }
        sums: dict[Condition, dict[str, dict[tuple[str, str], tuple[game.Table, game.Table]]]] = {}
        for row in kept:
            source = own.get((str(row.plan_of), row.checkpoint, row.coalition, row.repeat))
            if row.plan_of is not None and source is None:
                continue
            mask, size = game.mask_of(row.coalition, row.players), 1 << len(row.players)
            for level, value in self.value(row, source).items():
                unit = (row.problem, row.checkpoint)
                condition = sums.setdefault(Condition(row.planner, row.regime, row.plan_of), {})
                total, count = condition.setdefault(level, {}).setdefault(unit, (np.zeros(size), np.zeros(size)))
                total[mask] += value
                count[mask] += 1
        return {
            condition: {
                level: {unit: total / np.maximum(count, 1) for unit, (total, count) in units.items()}
                for level, units in levels.items()
            }
            for condition, levels in sums.items()
        }


class Judged:
    """Judges sources by the trials that came to them, and notes those that no trial came to."""

    def __init__(self, rows: Iterable[TrialRow], options: BuildOptions) -> None:
        """What trials found.

        Args:
            rows: Evaluated trials.
            options: Build options of the frozen programs.
        """
        self._options = options
        self._known: dict[str, Reached] = {
            row.candidate: {
                "compiled": bool(row.compiled),
                "passed": bool(row.passed),
                "fast_modelled": bool(row.fast_modelled),
            }
            for row in rows
            if row.candidate is not None and row.compiled is not None
        }
        self.missing: dict[str, tuple[str, str]] = {}
        """(problem, source) by candidate."""

    def __call__(self, problem: str, source: str) -> Reached:
        """What a source reaches; nothing, where that is not known yet."""
        made = Source(text=source, problem=problem, options=self._options)
        if made.id in self._known:
            return self._known[made.id]
        self.missing[made.id] = (problem, source)
        return dict.fromkeys(LEVELS, False)

    def add(self, candidate: str, reached: Reached) -> None:
        """What was found out since."""
        self._known[candidate] = reached
        self.missing.pop(candidate, None)
