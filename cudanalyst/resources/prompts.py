"""The words in which a trial is put to a model: one versioned template for every client, so that only the coalition differs.

Sections that a trial does not have leave no heading behind.
"""

import hashlib
from typing import Final, Protocol

from cudanalyst.kernels.problem import BaseStatus, Component

PLANNER: Final = (
    "You plan the next change to a CUDA program. Say what to change and why, step by step, in at most 300 words, without writing "
    "code. Where a statement of the feedback decided you, name its id in square brackets."
)
CODER: Final = (
    "You write CUDA programs. Give the whole new source in one ```cuda block and nothing else; keep the exported signature. The "
    "source must be complete: nothing may be left out or abbreviated."
)
FOLLOW: Final = "Follow the plan."
STATUS: Final[dict[BaseStatus, str]] = {
    "compile_failed": "It does not compile.",
    "crashed": "It compiles, but does not run to its end.",
    "wrong": "It runs, but its results are wrong.",
    "passed": "It gives correct results; make it faster.",
}
HEADINGS: Final = ("Task", "Program", "Status", "Other programs", "Feedback", "Plan")
TEMPLATE: Final = (
    "1-" + hashlib.sha256("\0".join((PLANNER, CODER, FOLLOW, *STATUS.values(), *HEADINGS)).encode()).hexdigest()[:16]
)
"""Version of the template, and a hash of its words: it changes whenever they do."""


class Told(Protocol):
    """One component's text."""

    @property
    def component(self) -> Component:
        """Who speaks."""

    @property
    def text(self) -> str:
        """What it says."""


def planner_prompt(
    *,
    statement: str,
    base_status: BaseStatus,
    source: str,
    references: tuple[str, ...] = (),
    evidence: tuple[Told, ...] = (),
) -> str:
    """What a planner is asked."""
    return _joined(PLANNER, _state(statement, base_status, source, references), _feedback(evidence))


def coder_prompt(
    *,
    statement: str,
    base_status: BaseStatus,
    source: str,
    references: tuple[str, ...] = (),
    evidence: tuple[Told, ...] = (),
    plan: str | None = None,
) -> str:
    """What a coder is asked; `evidence` only where the trial lets it have some."""
    given = [] if plan is None else [_section("Plan", plan), FOLLOW]
    return _joined(CODER, _state(statement, base_status, source, references), _feedback(evidence), *given)


def _state(statement: str, base_status: BaseStatus, source: str, references: tuple[str, ...]) -> str:
    parts = [_section("Task", statement), _section("Program", _code(source)), _section("Status", STATUS[base_status])]
    if references:
        parts.append(_section("Other programs", "\n\n".join(map(_code, references))))
    return "\n\n".join(parts)


def _feedback(evidence: tuple[Told, ...]) -> str:
    return _section("Feedback", "\n\n".join(one.text for one in evidence)) if evidence else ""


def _section(heading: str, text: str) -> str:
    return f"# {heading}\n\n{text}"


def _code(source: str) -> str:
    return f"```cuda\n{source}\n```"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
