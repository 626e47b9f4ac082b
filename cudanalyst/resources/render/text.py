"""Bounded, cleaned text with numbered items."""

import re
from collections.abc import Sequence
from typing import Final

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.evidence import Evidence, EvidenceItem

MAX_TEXT: Final = 6000
MAX_ITEM: Final = 800
_FOOTER: Final = 120
"""Characters kept free for the line that says how much was left out."""

_PATH: Final = re.compile(r"(?<![\w./])~?/(?:[\w.+@%~-]+/)+([\w.+@%~-]+)")
_POINTER: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def clean(text: str) -> str:
    """One line without control characters, directories or raw addresses: they differ from machine to machine."""
    return _POINTER.sub("0x...", _PATH.sub(r"\1", " ".join(_CONTROL.sub(" ", text).split())))


def shorten(text: str, limit: int = MAX_ITEM) -> str:
    """Cuts a text at a word where it is longer than `limit`, and says so by an ellipsis."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 4]
    return kept[: kept.rfind(" ")] + " ..." if " " in kept[limit // 2 :] else kept + " ..."


def at(file: str | None, line: int | None, column: int | None = None) -> str:
    """`candidate.cu:12:5`, as far as known; a file's directory is left out."""
    if line is None:
        return "" if file is None else clean(file).rsplit("/", 1)[-1]
    name = "line" if file is None else clean(file).rsplit("/", 1)[-1]
    joint = " " if file is None else ":"
    return f"{name}{joint}{line}" + (f":{column}" if column is not None else "")


def number(value: float) -> str:
    """A figure with up to three digits after the point, without needless zeros."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def build(
    component: Component, candidate: str, heading: str, statements: Sequence[str], *, total: int | None = None
) -> Evidence:
    """Numbers statements, most important first, and keeps as many as fit.

    Args:
        component: Who speaks.
        candidate: Id of the candidate it speaks of.
        heading: First line.
        statements: One per item.
        total: How many there were before the tool itself left some out.
    """
    head = shorten(clean(heading), 400)
    items: list[EvidenceItem] = []
    lines, length = [head], len(head)
    for index, statement in enumerate(statements, start=1):
        item = EvidenceItem(id=f"{component}.{index}", text=shorten(clean(statement)))
        line = f"[{item.id}] {item.text}"
        if length + 1 + len(line) > MAX_TEXT - _FOOTER:
            break
        items.append(item)
        lines.append(line)
        length += 1 + len(line)
    everything = max(len(statements), total or 0)
    if len(items) < everything:
        lines.append(f"Shown: {len(items)} of {everything} statements, the most important first.")
    return Evidence(component=component, candidate=candidate, items=tuple(items), text="\n".join(lines))
