"""Whether one source is another in disguise: renamed, reformatted, with other comments, or with something around it."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN: Final = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:\\.|[^\"\\\n])*\"|[^\s\w]")
_FIXED: Final = re.compile(
    r"__\w+|cuda\w*|(?:thread|block)Idx|(?:block|grid)Dim|float\d?|double\d?|half\d?|u?int\d*(?:_t)?|unsigned|char|short|long"
    r"|bool|void|size_t|const|static|extern|if|else|for|while|do|return|sizeof|template|typename|struct|auto|constexpr|dim3"
)
"""Words that cannot be renamed."""
_RUN: Final = 12
"""Tokens in a row that are compared, each run with its names in the order in which they come."""
ALIKE: Final = 0.8
"""Share of a program's runs that another holds from which it counts as the same. Among the bundled kernels, those of two problems
share at most 0.70."""


def resembles(source: str, program: str) -> bool:
    """Whether a source holds most of a program, whatever its names and comments are."""
    return shared(source, program) >= ALIKE


def shared(source: str, program: str) -> float:
    """Share of a program's runs of tokens that a source holds."""
    theirs, own = _runs(source), _runs(program)
    return (theirs & own).total() / own.total()


@lru_cache(maxsize=256)
def _runs(text: str) -> Counter[tuple[str, ...]]:
    tokens = _TOKEN.findall(_COMMENT.sub(" ", text))
    return Counter(_plain(tokens[start : start + _RUN]) for start in range(max(1, len(tokens) - _RUN + 1)))


def _plain(run: Sequence[str]) -> tuple[str, ...]:
    """A run with its names and figures replaced: they may be changed at will."""
    names: dict[str, str] = {}
    return tuple(_kind(token, names) for token in run)


def _kind(token: str, names: dict[str, str]) -> str:
    if token[0].isdigit():
        return "0"
    if not (token[0].isalpha() or token[0] == "_") or _FIXED.fullmatch(token):
        return token
    return names.setdefault(token, f"name {len(names)}")
