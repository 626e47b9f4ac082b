"""A trace's bytes as records: strict, since they are the candidate's word."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from cudanalyst.tools.text import clean, one_line
from cudanalyst.tools.trace.records import (
    CallError,
    Copy,
    EventRecord,
    EventWait,
    Fill,
    FunctionAttribute,
    Launch,
    Operation,
    OwnStream,
    Refusal,
    RefusalKind,
    TensorMap,
    Trace,
    Upload,
)

HEADER: Final = "cudanalyst-trace 1"
MAX_BYTES: Final = 4 << 20
MAX_RECORDS: Final = 4096
MAX_PARAMETERS: Final = 32_764
"""A byte each, in the largest parameter space that a kernel can have."""
MAX_ATTRIBUTES: Final = 16
ATTRIBUTE_BYTES: Final = 64
TOKEN_BYTES: Final = 128
MAX_RANK: Final = 5
MAX_PRIORITY: Final = 64
"""Of a stream, either way; an executor takes no other."""
U32: Final = (1 << 32) - 1
I32: Final = (1 << 31) - 1
U63: Final = (1 << 63) - 1

_NOT_ASCII: Final = re.compile(rb"[^\x20-\x7e\n]")
_NUMBER: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,19})\Z")
_ADDRESS: Final = re.compile(r"(?:0|[1-9a-f][0-9a-f]{0,15})\Z")
_DIGITS: Final = re.compile(r"[0-9a-f]*\Z")
_SYMBOL: Final = re.compile(r"[A-Za-z_$.][A-Za-z0-9_$.@]*\Z")
_REFUSAL: Final = re.compile(r"refused (contract|unrecordable) ([^:]*): (.*)\Z")
_ERROR: Final = re.compile(r"error (0|[1-9][0-9]{0,5}) (.+)\Z")


class MalformedTrace(Exception):
    """The bytes are not a trace. `line` counts from 1; the text is fit to be shown."""

    def __init__(self, line: int, text: str) -> None:
        """`text` may quote the trace: it is cleaned here."""
        self.line = line
        self.text = one_line(text)
        super().__init__(f"line {line}: {self.text}")


class UnfinishedTrace(MalformedTrace):
    """The bytes may be the beginning of a trace: whoever wrote it was ended, or somebody wrote half a one."""


class _Bad(Exception):
    """What is wrong with a line."""


class _Words:
    """The words of one line, taken from the left."""

    def __init__(self, line: str) -> None:
        self._words = line.split(" ")
        self._at = 0

    def next(self, what: str) -> str:
        if self._at >= len(self._words):
            raise _Bad(f"{what} is missing")
        self._at += 1
        return self._words[self._at - 1]

    def number(self, what: str, least: int = 0, most: int = U63) -> int:
        word = self.next(what)
        if not _NUMBER.match(word) or not least <= int(word) <= most:
            raise _Bad(f"{what} {word[:40]!r} is not a number from {least} to {most}")
        return int(word)

    def numbers(self, what: str, count: int, least: int = 0, most: int = U63) -> tuple[int, ...]:
        return tuple(self.number(what, least, most) for _ in range(count))

    def address(self, what: str) -> int:
        word = self.next(what)
        if not _ADDRESS.match(word):
            raise _Bad(f"{what} {word[:40]!r} is not an address")
        return int(word, 16)

    def bytes(self, what: str, exactly: int | None = None) -> bytes:
        word = self.next(what)
        if len(word) % 2 or not _DIGITS.match(word):
            raise _Bad(f"{what} is not an even number of hexadecimal digits")
        data = bytes.fromhex(word)
        if exactly is not None and len(data) != exactly:
            raise _Bad(f"{what} has {len(data)} bytes and needs {exactly}")
        return data

    def symbol(self) -> str:
        word = self.next("the symbol")
        if not _SYMBOL.match(word):
            raise _Bad(f"{clean(word, 80)!r} is not a symbol")
        return word

    def end(self) -> None:
        if self._at != len(self._words):
            raise _Bad(f"{len(self._words) - self._at} words too many")


def _stream(words: _Words) -> Operation:
    return OwnStream(
        words.number("the stream", 1, MAX_RECORDS), words.number("the priority", -MAX_PRIORITY, MAX_PRIORITY)
    )


def _attribute(words: _Words) -> Operation:
    return FunctionAttribute(
        words.symbol(), words.number("the attribute", 0, 255), words.number("the value", -1 - I32, I32)
    )


def _extents(words: _Words, what: str) -> tuple[int, int, int]:
    return words.number(what, 1, U32), words.number(what, 1, U32), words.number(what, 1, U32)


def _launch(words: _Words) -> Operation:
    symbol, grid, block = words.symbol(), _extents(words, "the grid"), _extents(words, "the block")
    shared, stream = words.number("dynamic shared memory", 0, U32), words.number("the stream", 0, MAX_RECORDS)
    attributes = tuple(
        (words.number("a launch attribute", 0, 255), words.bytes("a launch attribute", ATTRIBUTE_BYTES))
        for _ in range(words.number("the number of attributes", 0, MAX_ATTRIBUTES))
    )
    count = words.number("the number of arguments", 0, MAX_PARAMETERS)
    arguments = tuple(words.bytes("an argument") for _ in range(count))
    return Launch(symbol, grid, block, shared, stream, attributes, arguments)


def _copy(words: _Words) -> Operation:
    return Copy(
        to=words.address("the destination"),
        source=words.address("the source"),
        row_bytes=words.number("the row", 1),
        rows=words.number("the number of rows", 1),
        to_pitch=words.number("the pitch"),
        source_pitch=words.number("the pitch"),
        stream=words.number("the stream", 0, MAX_RECORDS),
    )


def _upload(words: _Words) -> Operation:
    upload = Upload(
        to=words.address("the destination"),
        row_bytes=words.number("the row", 1),
        rows=words.number("the number of rows", 1),
        to_pitch=words.number("the pitch"),
        stream=words.number("the stream", 0, MAX_RECORDS),
        data=words.bytes("the contents"),
    )
    if upload.row_bytes * upload.rows != len(upload.data):
        raise _Bad(f"{upload.rows} rows of {upload.row_bytes} bytes do not make {len(upload.data)} bytes")
    return upload


def _fill(words: _Words) -> Operation:
    fill = Fill(
        to=words.address("the destination"),
        pattern=words.number("the pattern", 0, U32),
        element_bytes=words.number("the element's size", 1, 4),
        row_elements=words.number("the row", 1),
        rows=words.number("the number of rows", 1),
        pitch=words.number("the pitch"),
        stream=words.number("the stream", 0, MAX_RECORDS),
    )
    if fill.element_bytes == 3 or fill.pattern >> 8 * fill.element_bytes:
        raise _Bad(f"{fill.pattern} is not a pattern of {fill.element_bytes} bytes")
    return fill


def _record(words: _Words) -> Operation:
    return EventRecord(words.number("the event", 0, MAX_RECORDS), words.number("the stream", 0, MAX_RECORDS))


def _wait(words: _Words) -> Operation:
    return EventWait(words.number("the event", 0, MAX_RECORDS), words.number("the stream", 0, MAX_RECORDS))


def _tensor_map(words: _Words) -> Operation:
    token = words.bytes("the token", TOKEN_BYTES)
    kind, rank = words.number("the type", 0, 12), words.number("the rank", 1, MAX_RANK)
    return TensorMap(
        token=token,
        type=kind,
        address=words.address("the tensor"),
        sizes=words.numbers("a size", rank, 1, 1 << 32),
        strides=words.numbers("a stride", rank - 1, 0, (1 << 40) - 1),
        box=words.numbers("a side of the box", rank, 1, 256),
        element_strides=words.numbers("an element stride", rank, 1, 8),
        interleave=words.number("the interleave", 0, 2),
        swizzle=words.number("the swizzle", 0, 6),
        promotion=words.number("the promotion", 0, 3),
        fill=words.number("the fill", 0, 1),
    )


_OPERATIONS: Final[Mapping[str, Callable[[_Words], Operation]]] = {
    "stream": _stream,
    "attribute": _attribute,
    "launch": _launch,
    "copy": _copy,
    "upload": _upload,
    "fill": _fill,
    "record": _record,
    "wait": _wait,
    "tensor_map": _tensor_map,
}


def parse_trace(data: bytes) -> Trace:
    """Reads a trace, which may be anything.

    Raises:
        MalformedTrace: It is not one.
    """
    lines = _lines(data)
    operations: list[Operation] = []
    numbers: list[int] = []
    queries: list[str] = []
    refusal: Refusal | None = None
    error: CallError | None = None
    for number, line in enumerate(lines[1:-1], 2):
        what = line.partition(" ")[0]
        try:
            if what in _OPERATIONS:
                words = _Words(line)
                words.next(what)
                operations.append(_OPERATIONS[what](words))
                words.end()
                numbers.append(number)
            elif what == "query":
                queries.append(one_line(line.removeprefix("query")))
            elif what == "refused":
                refusal = refusal or _refusal(line)
            elif what == "error":
                error = error or _error(line)
            else:
                raise _Bad(f"{what[:40]!r} is not a record")
        except _Bad as bad:
            raise MalformedTrace(number, str(bad)) from None
    return Trace(tuple(operations), tuple(numbers), tuple(queries), refusal, error, _status(lines))


def _lines(data: bytes) -> list[str]:
    if len(data) > MAX_BYTES:
        raise MalformedTrace(1, f"longer than {MAX_BYTES} bytes")
    if bad := _NOT_ASCII.search(data):
        raise MalformedTrace(data.count(b"\n", 0, bad.start()) + 1, "holds bytes that are not printable ASCII")
    if data.count(b"\n") > MAX_RECORDS + 1:
        raise MalformedTrace(MAX_RECORDS + 2, f"more than {MAX_RECORDS} records")
    lines = data.decode("ascii").split("\n")
    if lines[0] != HEADER:
        raise MalformedTrace(1, f"the first line is {lines[0][:80]!r} and not {HEADER!r}")
    if lines.pop() or len(lines) < 2:
        raise UnfinishedTrace(len(lines) + 1, "the trace ends before its last record")
    return lines


def _status(lines: list[str]) -> int:
    words = _Words(lines[-1])
    try:
        if words.next("the last record") != "end":
            raise UnfinishedTrace(len(lines), "the last record is not `end`")
        status = words.number("the status", -1 - I32, I32)
        words.end()
    except _Bad as bad:
        raise MalformedTrace(len(lines), str(bad)) from None
    return status


def _refusal(line: str) -> Refusal:
    match = _REFUSAL.match(line)
    if not match:
        raise _Bad("not `refused KIND CALL: TEXT`")
    kind: RefusalKind = "contract" if match[1] == "contract" else "unrecordable"
    return Refusal(kind, one_line(match[2], 200), one_line(match[3], 1000))


def _error(line: str) -> CallError:
    match = _ERROR.match(line)
    if not match:
        raise _Bad("not `error CODE TEXT`")
    return CallError(int(match[1]), one_line(match[2], 1000))
