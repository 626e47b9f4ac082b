"""The edits that a scripted planner may choose: which apply to a source, and which the evidence points to."""

import re

from cudanalyst.kernels.problem import Edit, Problem


def apply(edit: Edit, source: str) -> str | None:
    """The source after the edit, or None where its search text does not occur exactly once."""
    if source.count(edit.search) != 1:
        return None
    return source.replace(edit.search, edit.replace)


def applicable(problem: Problem, source: str) -> tuple[Edit, ...]:
    """The edits that apply to a source, in the book's order."""
    return tuple(edit for edit in problem.edits if apply(edit, source) is not None)


def strength(edit: Edit, evidence: str) -> int:
    """How many independent statements of the evidence point to an edit.

    A match of any of `cues` counts one; a group of `cue_groups` counts its length, once all of it matches: an edit that
    answers two findings at once then stands above those that answer one of them. 0: nothing points to it.
    """
    single = int(any(_matches(cue, evidence) for cue in edit.cues))
    groups = [len(group) for group in edit.cue_groups if all(_matches(cue, evidence) for cue in group)]
    return max([single, *groups])


def pointed(problem: Problem, source: str, evidence: str) -> tuple[Edit, ...]:
    """The applicable edits that the evidence points to most strongly; none where it points nowhere."""
    strengths = [(edit, strength(edit, evidence)) for edit in applicable(problem, source)]
    best = max((value for _, value in strengths), default=0)
    return tuple(edit for edit, value in strengths if value == best) if best else ()


def _matches(cue: str, evidence: str) -> bool:
    return re.search(cue, evidence, re.MULTILINE) is not None
