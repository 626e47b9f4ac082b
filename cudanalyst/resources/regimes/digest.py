"""Evidence in short, made by rule: the same bytes for the same evidence, and of the same length class for all."""

import re
from typing import Final

from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.text import shorten

DIGEST_VERSION: Final = "1"
STATEMENTS: Final = 3
"""Kept of each component; they stand with the most important first."""
MAX_HEADING: Final = 120
MAX_STATEMENT: Final = 170
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s")


def digest(evidence: Evidence) -> str:
    """The heading and the first sentence of the most important statements, under the ids that a plan can cite."""
    heading = shorten(evidence.text.split("\n", 1)[0], MAX_HEADING)
    lines = [f"[{item.id}] {_first(item.text)}" for item in evidence.items[:STATEMENTS]]
    return "\n".join([heading, *lines])


def _first(text: str) -> str:
    """The first sentence that is long enough to say something."""
    said = ""
    for sentence in _SENTENCE.split(text):
        said = f"{said} {sentence}".strip()
        if len(said) >= MAX_STATEMENT // 2:
            break
    return shorten(said, MAX_STATEMENT)
