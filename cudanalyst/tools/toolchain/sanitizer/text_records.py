"""Records of compute-sanitizer from the text that it writes as it goes (`--log-file`): all that is left of a run that was stopped. Pure.

They have the shape of the XML's records, so that the same readers understand them.
"""

import re
from itertools import islice
from typing import Final

from cudanalyst.tools.toolchain.sanitizer.context import short_name
from cudanalyst.tools.toolchain.sanitizer.log import MAX_LOG_BYTES
from cudanalyst.tools.toolchain.sanitizer.records import Element

MAX_RECORDS: Final = 1000
_PREFIX: Final = re.compile(r"^=========[ \t]?", re.MULTILINE)
_FRAME: Final = r"(?P<kernel>[^\n]{1,600}?)\+0x[0-9a-f]{1,16}(?: in (?P<path>[^\n]{1,600}):(?P<line>\d{1,9}))?"
_PLACE: Final = rf" +at {_FRAME}\n +by thread (?P<thread>\(\d+,\d+,\d+\)) in block (?P<block>\(\d+,\d+,\d+\))"
_CALLERS: Final = r"(?P<callers>(?:\n +[^\n]{1,800}){0,40})"
_ACCESS: Final = re.compile(
    r"^(?P<text>(?P<how>Invalid|Misaligned|Uninitialized) __\w{1,20}__ [^\n]{1,80}? of size (?P<size>\d{1,6}) bytes)\n"
    rf"{_PLACE}\n +(?:Access (?:to|at)|Address) (?P<address>0x[0-9a-f]{{1,16}})(?P<error>[^\n]{{0,200}}){_CALLERS}",
    re.MULTILINE,
)
_BARRIER: Final = re.compile(
    rf"^Barrier error detected\. (?P<type>[^\n]{{1,200}}?)\.?\n{_PLACE}{_CALLERS}", re.MULTILINE
)
_CALLER: Final = re.compile(rf"^ +Device Frame: {_FRAME}$", re.MULTILINE)
_AXES: Final = ("x", "y", "z")


def records_in(data: bytes) -> tuple[Element, ...]:
    """The wrong accesses, unwritten reads and barriers that the text tells of, the first of them at most."""
    text = _PREFIX.sub("", data[:MAX_LOG_BYTES].decode("utf-8", "replace"))
    found = [_access(match) for match in islice(_ACCESS.finditer(text), MAX_RECORDS)]
    found += [_barrier(match) for match in islice(_BARRIER.finditer(text), MAX_RECORDS)]
    return tuple(found[:MAX_RECORDS])


def _access(match: re.Match[str]) -> Element:
    said = match["error"].strip().removeprefix("is ")
    what = _tree("what", text=match["text"], address=match["address"], size=match["size"], error=said)
    return _record(match, "Initcheck" if match["how"] == "Uninitialized" else "Precise", what)


def _barrier(match: re.Match[str]) -> Element:
    return _record(match, "Synccheck", _tree("what", text="Barrier error", type=match["type"]))


def _record(match: re.Match[str], kind: str, what: Element) -> Element:
    where = Element("where", children=_frame(match))
    callers = [Element("frame", children=_frame(one)) for one in _CALLER.finditer(match["callers"])]
    who = Element("who", children=[_triple("threadIdx", match["thread"]), _triple("blockIdx", match["block"])])
    return Element(
        "record", children=[Element("kind", kind), who, what, where, Element("deviceStack", children=callers)]
    )


def _frame(match: re.Match[str]) -> list[Element]:
    return _tree("frame", func=short_name(match["kernel"]), path=match["path"], line=match["line"]).children


def _tree(tag: str, **words: str | None) -> Element:
    return Element(tag, children=[Element(name, text) for name, text in words.items() if text])


def _triple(tag: str, text: str) -> Element:
    numbers = text.strip("()").split(",")
    return Element(tag, children=[Element(axis, number) for axis, number in zip(_AXES, numbers, strict=True)])
