"""Untrusted text made safe to show: without control characters, and bounded."""

import re
from typing import Final

CHARACTERS_A_TOKEN: Final = 3.5
"""By which tokens are estimated from characters: cautious for code and numbers."""
_MAX_ERROR: Final = 3000
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\])")
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def printable(text: str) -> str:
    """Text without escape sequences, control characters (but newline and tab), and marks that nobody sees or that reorder text."""
    return _CONTROL.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n")))


def clean(text: str, limit: int) -> str:
    """Printable text of at most `limit` characters and a mark.

    A longer text keeps its head and its tail, since the cause is often first and the error last.
    """
    shown = printable(text)
    if len(shown) <= limit:
        return shown
    head = limit * 2 // 3
    return f"{shown[:head]}\n[... {len(shown) - limit} characters left out ...]\n{shown[len(shown) - (limit - head) :]}"


def one_line(text: str, limit: int = 300) -> str:
    """The same as one line, for messages."""
    flat = " ".join(clean(text, 10 * limit).split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def many(count: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def error_text(error: Exception) -> str:
    """What to tell of an error. Its text may quote an argument, which is as untrusted, and as long, as anything."""
    return clean(str(error), _MAX_ERROR)


def at(file: str | None, line: int | None) -> str:
    """` at candidate.cu:12`, or nothing where the place is unknown."""
    return f" at {file}:{line}" if file and line else ""


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """`1 finding`, `3 findings`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
