"""The statements of PTX by the line that they stand on, numbered as the engine numbers them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FUNCTION: Final = re.compile(r"\.(entry|func)\b")
_NAME: Final = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\))?\s*([\w$.]+)")
_LABEL: Final = re.compile(r"^\s*[\w$]+\s*:(?!:)")
_GUARD: Final = re.compile(r"^\s*@!?%?\w+\s*")


@dataclass(frozen=True)
class Statement:
    """One PTX instruction."""

    function: str
    number: int
    """From 0 within its function, labels and directives not counted."""
    opcode: str
    """With its modifiers."""
    guarded: bool


def statements(lines: Sequence[str]) -> dict[int, Statement]:
    """The statement that begins on each line, by the line's number from 1. Of several on one line, the first."""
    found: dict[int, Statement] = {}
    function, number, depth, head, open_statement = "", 0, 0, "", False
    for at, line in enumerate(lines, 1):
        text = line.split("//")[0]
        if depth == 0:
            head = (head + " " + text) if head or _FUNCTION.search(text) else ""
            if head and (name := _NAME.search(head)):
                function = name[1]
            if head and head.rstrip().endswith(";"):
                head = ""
            if "{" in text and head:
                depth, number, head, open_statement = 1, 0, "", False
            continue
        number, depth, open_statement = _body_line(text, at, function, number, depth, open_statement, found)
    return found


def _body_line(
    text: str,
    at: int,
    function: str,
    number: int,
    depth: int,
    inside: bool,  # noqa: FBT001 - a state of three values, as it is returned
    found: dict[int, Statement],
) -> tuple[int, int, bool]:
    for piece in re.split(r"(?<=;)", text):
        rest = piece.strip()
        while not inside and rest:
            if rest[0] in "{}":
                depth += 1 if rest[0] == "{" else -1
                rest = rest[1:].strip()
                if depth == 0:
                    return number, 0, False
            elif label := _LABEL.match(rest):
                rest = rest[label.end() :].strip()
            else:
                break
        if not rest or rest == ";":
            inside = inside and not rest.endswith(";")
            continue
        if not inside and not rest.startswith("."):
            guard = _GUARD.match(rest) if rest.startswith("@") else None
            words = (rest[guard.end() :] if guard else rest).split(None, 1)
            if words:
                found.setdefault(at, Statement(function, number, words[0].rstrip(";"), guard is not None))
                number += 1
        inside = not rest.endswith(";")
    return number, depth, inside
