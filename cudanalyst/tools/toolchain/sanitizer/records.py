"""Reads the XML that `compute-sanitizer --xml --save` writes, as plain trees. Pure, bounded, and never raises on any bytes.

The standard library's expat does the reading, with document types, entities and external references refused, so that a file cannot
expand beyond its own size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from cudanalyst.tools.text import one_line

MAX_XML_BYTES: Final = 32 << 20
MAX_RECORDS: Final = 20_000
_MAX_DEPTH: Final = 16
_MAX_TEXT: Final = 4000
_MAX_CHILDREN: Final = 1000
_ROOT: Final = "ComputeSanitizerOutput"
_RECORD: Final = "record"


@dataclass
class Element:
    """An element: its text, and the elements in it."""

    tag: str
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def child(self, *path: str) -> "Element | None":
        """The first element under a path of tags."""
        found: Element | None = self
        for tag in path:
            if found is None:
                return None
            found = next((one for one in found.children if one.tag == tag), None)
        return found

    def all(self, tag: str) -> Iterator["Element"]:
        """The elements of a tag directly in this one."""
        return (one for one in self.children if one.tag == tag)

    def word(self, *path: str) -> str:
        """The text under a path as one line; empty where there is none."""
        found = self.child(*path)
        return "" if found is None else one_line(found.text)


@dataclass(frozen=True)
class Records:
    """What was read, and what was wrong with the file, if anything."""

    records: tuple[Element, ...]
    problem: str | None = None


class _Refused(Exception):
    """The file holds what no file of the tool holds."""


class _Reader:
    def __init__(self) -> None:
        self.records: list[Element] = []
        self.complete = False
        self._open: list[Element] = []
        self._root: str | None = None
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        self._parser = parser

    def read(self, data: bytes) -> None:
        self._parser.Parse(data, True)

    def _refuse(self, *_: object) -> int:
        raise _Refused("it declares a document type or an entity")

    def _start(self, tag: str, _: object) -> None:
        if self._root is None:
            if tag != _ROOT:
                raise _Refused(f"its root is {one_line(tag, 60)}")
            self._root = tag
        if len(self._open) >= _MAX_DEPTH:
            raise _Refused(f"its elements are nested deeper than {_MAX_DEPTH}")
        element = Element(tag)
        if len(self._open) > 1 and len(self._open[-1].children) < _MAX_CHILDREN:
            self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        if not self._open:
            self.complete = True
        elif len(self._open) == 1 and element.tag == _RECORD:
            if len(self.records) >= MAX_RECORDS:
                raise _Refused(f"it holds more than {MAX_RECORDS} records")
            self.records.append(element)

    def _characters(self, text: str) -> None:
        if len(self._open) > 1 and len(self._open[-1].text) < _MAX_TEXT:
            self._open[-1].text += text[:_MAX_TEXT]


def read_records(data: bytes) -> Records:
    """The records of a file, as far as it can be read, and why no farther."""
    if len(data) > MAX_XML_BYTES:
        return Records((), f"the file of records is longer than {MAX_XML_BYTES} bytes")
    if not data.strip():
        return Records((), "the file of records is empty")
    reader = _Reader()
    try:
        reader.read(data)
    except expat.ExpatError as error:
        where = "truncated" if error.code in _UNFINISHED else "malformed"
        return Records(tuple(reader.records), f"the file of records is {where}: {expat.ErrorString(error.code)}")
    except _Refused as error:
        return Records(tuple(reader.records), f"the file of records was refused: {error}")
    problem = None if reader.complete else "the file of records is truncated"
    return Records(tuple(reader.records), problem)


_UNFINISHED: Final = frozenset(
    expat.errors.codes[name]
    for name in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)


def integer(text: str) -> int | None:
    """A decimal or hexadecimal number of at most 64 bits."""
    try:
        number = int(text, 16) if text[:2].lower() == "0x" else int(text.replace(",", ""))
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None


def triple(element: Element | None) -> tuple[int, int, int] | None:
    """Coordinates of a thread or a block."""
    if element is None:
        return None
    x, y, z = (integer(element.word(axis)) for axis in ("x", "y", "z"))
    return None if x is None or y is None or z is None else (x, y, z)


def texts(elements: Sequence[Element]) -> tuple[str, ...]:
    """The texts of some records, for messages of the tool about itself."""
    return tuple(text for element in elements if (text := element.word("what", "text")))
