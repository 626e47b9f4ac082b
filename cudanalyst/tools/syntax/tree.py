"""Parsing, with an honest word on how much of the source was understood."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from cudanalyst.tools.result import Place
from cudanalyst.tools.syntax.mend import Attribute, first_branches, mend

MAX_DEPTH = 400
"""Trees deeper than this are hostile; what lies below is counted as not understood."""


@dataclass(frozen=True)
class Tree:
    """A parsed source."""

    root: Node
    source: bytes
    attributes: tuple[Attribute, ...]
    confidence: float
    """Share of the bytes outside error nodes."""
    error_ranges: tuple[tuple[int, int], ...]
    """First and last line, 1-based, of each stretch that was not understood."""
    file: str

    def place(self, node: Node) -> Place:
        """Where a node begins; lines and columns count from 1."""
        row, column = node.start_point
        return Place(file=self.file, line=row + 1, column=column + 1)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def parse(text: str, file: str) -> Tree:
    """Parses CUDA C++; never fails, but may understand nothing (`confidence` says so)."""
    mended = mend(text.encode("utf-8", "replace"))
    best = _parse(mended.source, mended.attributes, file)
    if best.error_ranges and b"#" in mended.source:
        other = _parse(first_branches(mended.source), mended.attributes, file)
        if other.confidence > best.confidence:
            return other
    return best


def _parse(source: bytes, attributes: tuple[Attribute, ...], file: str) -> Tree:
    root = _parser().parse(source).root_node
    bad = [(n.start_byte, n.end_byte, n.start_point[0] + 1, n.end_point[0] + 1) for n in _errors(root)]
    lost = sum(end - start for start, end, _, _ in bad)
    confidence = 1.0 if not source else max(0.0, 1.0 - lost / len(source))
    if bad and confidence == 1.0:  # a missing token has no bytes, but something was not understood
        confidence = 1.0 - 1.0 / (len(source) + 1)
    ranges = tuple(sorted({(first, last) for _, _, first, last in bad}))
    return Tree(root, source, attributes, confidence, ranges, file)


def _errors(root: Node) -> Iterator[Node]:
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if node.is_error or node.is_missing or depth > MAX_DEPTH:
            yield node
        elif node.has_error or depth == MAX_DEPTH:
            stack.extend((child, depth + 1) for child in node.children)


def text_of(node: Node) -> str:
    """A node's text, with white space folded."""
    return " ".join((node.text or b"").decode("utf-8", "replace").split())


def walk(node: Node, *, into_lambdas: bool = True) -> Iterator[Node]:
    """The node and all below it in source order, without recursion and bounded in depth."""
    stack: list[tuple[Node, int]] = [(node, 0)]
    while stack:
        current, depth = stack.pop()
        yield current
        if depth < MAX_DEPTH and (into_lambdas or current.type != "lambda_expression"):
            stack.extend((child, depth + 1) for child in reversed(current.children))


def ancestors(node: Node, until: Node) -> Iterator[tuple[Node, Node]]:
    """Pairs (ancestor, its child on the way to `node`), from the inside out, below `until`."""
    child = node
    parent = node.parent
    while parent is not None and child != until:
        yield parent, child
        child, parent = parent, parent.parent
