"""Blanks what tree-sitter-cuda misparses, byte for byte, and keeps the facts that were blanked.

The grammar breaks on three-argument `__launch_bounds__`, on attributes after `void`, on `__align__`, on
`__device__` lambdas and on the underlying type of an enumeration. Every blanked stretch becomes spaces of the same length, so places stay right.
"""

import re
from dataclasses import dataclass

_SKIP = rb"""//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_ATTRIBUTE = rb"\b(__launch_bounds__|__cluster_dims__|__maxnreg__|__block_size__|__align__|alignas|__attribute__)\s*\("
_WORD = rb"\b(__grid_constant__|__noinline__|__forceinline__|__inline_hint__|__nv_pure__)\b"
_PRAGMA = rb"^[ \t]*#[ \t]*pragma\b[^\n]*"
_LAMBDA = rb"(\[[^\[\]\n]{0,200}\]\s*)((?:__host__\s*|__device__\s*)+)(?=[({])"
_ENUM = rb"\benum\b(?:\s+(?:class|struct))?(?:\s+\w+)?\s*(?P<underlying>:[\w\s:]{1,80}?)(?=\s*\{)"
_TOKENS = re.compile(
    rb"(?P<skip>"
    + _SKIP
    + rb")|(?P<pragma>"
    + _PRAGMA
    + rb")|(?P<attribute>"
    + _ATTRIBUTE
    + rb")|(?P<word>"
    + _WORD
    + rb")"
    rb"|(?P<lambda>" + _LAMBDA + rb")"
    rb"|(?P<enum>" + _ENUM + rb")",
    re.DOTALL | re.MULTILINE,
)
_MAX_ARGUMENT_BYTES = 2000


@dataclass(frozen=True)
class Attribute:
    """A blanked attribute or pragma: where it began, its name and its arguments."""

    offset: int
    end: int
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Mended:
    """Source of the same length that the grammar can parse, and what was taken out of it."""

    source: bytes
    attributes: tuple[Attribute, ...]


def mend(source: bytes) -> Mended:
    """Blanks attributes, pragmas and `__device__` of lambdas, outside comments and strings."""
    out = bytearray(source)
    found: list[Attribute] = []
    position = 0
    while match := _TOKENS.search(source, position):
        position = match.end()
        kind = match.lastgroup
        if match.group("attribute") is not None:
            opening = match.end() - 1
            closing = closing_parenthesis(source, opening)
            if closing is None:
                continue
            name = match.group("attribute")[:-1].strip().decode()
            arguments = split_arguments(source[opening + 1 : closing].decode("utf-8", "replace"))
            found.append(Attribute(match.start(), closing + 1, name, arguments))
            _blank(out, match.start(), closing + 1)
            position = closing + 1
        elif match.group("pragma") is not None:
            words = match.group("pragma").decode("utf-8", "replace").split("pragma", 1)[1].split()
            found.append(Attribute(match.start(), match.end(), "#pragma", tuple(words)))
            _blank(out, match.start(), match.end())
        elif match.group("word") is not None:
            found.append(Attribute(match.start(), match.end(), match.group("word").decode(), ()))
            _blank(out, match.start(), match.end())
        elif match.group("enum") is not None:
            _blank(out, match.start("underlying"), match.end("underlying"))
        elif match.group("lambda") is not None and kind is not None:
            head = _LAMBDA_PARTS.match(match.group("lambda"))
            if head is not None:
                _blank(out, match.start() + head.start(2), match.start() + head.end(2))
    return Mended(bytes(out), tuple(found))


_LAMBDA_PARTS = re.compile(rb"(\[[^\[\]\n]{0,200}\]\s*)((?:__host__\s*|__device__\s*)+)")
_CONDITIONAL = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[^\n]*", re.MULTILINE)


def first_branches(source: bytes) -> bytes:
    """Blanks conditional directives and every branch but one, for sources whose braces they split.

    The first branch is kept; of `#if 0` the next one.
    """
    out = bytearray(source)
    keeping: list[bool] = []
    taken: list[bool] = []
    start = 0
    for match in [*_CONDITIONAL.finditer(source), None]:
        if not all(keeping):
            _blank(out, start, match.start() if match else len(source))
        if match is None:
            break
        word = match.group(1)
        if word in {b"if", b"ifdef", b"ifndef"}:
            keep = not (word == b"if" and match.group(0).split()[-1] == b"0")
            keeping.append(keep)
            taken.append(keep)
        elif word == b"endif":
            if keeping:
                keeping.pop()
                taken.pop()
        elif keeping:
            keeping[-1] = not taken[-1]
            taken[-1] = True
        _blank(out, match.start(), match.end())
        start = match.end()
    return bytes(out)


def closing_parenthesis(source: bytes, opening: int) -> int | None:
    """Offset of the `)` that closes the `(` at `opening`, or None within a bounded distance."""
    depth = 0
    for offset in range(opening, min(len(source), opening + _MAX_ARGUMENT_BYTES)):
        byte = source[offset]
        if byte == ord("("):
            depth += 1
        elif byte == ord(")"):
            depth -= 1
            if depth == 0:
                return offset
    return None


def split_arguments(text: str) -> tuple[str, ...]:
    """Splits at commas outside brackets."""
    parts: list[str] = []
    depth = 0
    current = ""
    for character in text:
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        if character == "," and depth <= 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return tuple(parts)


def _blank(out: bytearray, start: int, end: int) -> None:
    for offset in range(start, end):
        if out[offset] not in b"\r\n":
            out[offset] = ord(" ")
