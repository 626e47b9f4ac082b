import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cudanalyst.tools.trace.parse import HEADER, MAX_BYTES, MAX_RECORDS, MalformedTrace, parse_trace
from cudanalyst.tools.trace.read import Junk, Operations, canonical, read_trace
from cudanalyst.tools.trace.records import CallError, Refusal
from tests.tools.trace.strategies import TABLE, operations


def trace(*lines: str) -> bytes:
    return "\n".join([HEADER, *lines, ""]).encode()


@given(st.lists(operations, max_size=12))
def test_what_is_written_is_read_again(records):
    assert list(parse_trace(canonical(tuple(records))).operations) == records


@given(st.lists(operations, max_size=6), st.data())
def test_damaged_traces_raise_only_their_own_error(records, data):
    raw = bytearray(canonical(tuple(records)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b" ", b"\n", b"0", b"-"])
        )
        if not raw:
            break
    with contextlib.suppress(MalformedTrace):
        parse_trace(bytes(raw))
    read_trace(bytes(raw), TABLE, 0)


@given(st.binary(max_size=300))
@example(b"")
@example(b"\n")
@example(HEADER.encode())
@example(HEADER.encode() + b"\n")
@example(HEADER.encode() + b"\nend 0")
@example(HEADER.encode() + b"\n\xff\nend 0\n")
def test_bytes_that_are_no_trace_are_junk(data):
    with pytest.raises(MalformedTrace):
        parse_trace(data)
    assert isinstance(read_trace(data, TABLE, 0), Junk)


@pytest.mark.parametrize(
    ("lines", "number", "text"),
    [
        (["end 0", "end 0"], 2, "'end' is not a record"),
        (["launch"], 2, "the last record is not `end`"),
        (["launch a", "end 0"], 2, "the grid is missing"),
        (["launch a 0 1 1 1 1 1 0 0 0 0", "end 0"], 2, "the grid '0' is not a number from 1 to 4294967295"),
        (["launch a 01 1 1 1 1 1 0 0 0 0", "end 0"], 2, "the grid '01' is not a number"),
        (["launch a 1 1 1 1 1 1 0 0 0 0 ", "end 0"], 2, "1 words too many"),
        (["launch a 1 1 1 1 1 1 0 0 0 1 abc", "end 0"], 2, "even number of hexadecimal digits"),
        (["launch a 1 1 1 1 1 1 0 0 1 2 00 0", "end 0"], 2, "a launch attribute has 1 bytes and needs 64"),
        (["launch a 1 1 1 1 1 1 0 0 0 9999999", "end 0"], 2, "the number of arguments '9999999'"),
        (["copy 0x10 20 1 1 0 0 0", "end 0"], 2, "'0x10' is not an address"),
        (["copy 10 20 1 1 0 0 0", "", "end 0"], 3, "'' is not a record"),
        (["upload 10 4 2 4 0 00", "end 0"], 2, "2 rows of 4 bytes do not make 1 bytes"),
        (["fill 10 256 1 4 1 0 0", "end 0"], 2, "256 is not a pattern of 1 bytes"),
        (["fill 10 0 3 4 1 0 0", "end 0"], 2, "0 is not a pattern of 3 bytes"),
        (["time_us 0.1", "end 0"], 2, "'time_us' is not a record"),
        (["refused maybe solve: x", "end 0"], 2, "not `refused KIND CALL: TEXT`"),
        (["# comment", "end 0"], 2, "'#' is not a record"),
        (["stream 1 65", "end 0"], 2, "the priority '65' is not a number from -64 to 64"),
        (["end 99999999999"], 2, "the status '99999999999'"),
        (["query x = 1", "copy \x7f", "end 0"], 3, "not printable ASCII"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(lines, number, text):
    with pytest.raises(MalformedTrace) as error:
        parse_trace(trace(*lines))
    assert error.value.line == number
    assert text in error.value.text


def test_sizes_are_bounded():
    with pytest.raises(MalformedTrace, match="longer than"):
        parse_trace(trace("query " + "x" * MAX_BYTES, "end 0"))
    with pytest.raises(MalformedTrace, match="more than 4096 records"):
        parse_trace(trace(*["query x"] * MAX_RECORDS, "end 0"))
    with pytest.raises(MalformedTrace, match="not printable ASCII"):
        parse_trace(b"\n" * (MAX_BYTES - 1) + b"\xff")
    assert len(parse_trace(trace(*["query x"] * (MAX_RECORDS - 1), "end 0")).queries) == MAX_RECORDS - 1


def test_the_first_refusal_decides():
    data = trace("refused contract cudaMalloc: no", "refused unrecordable x: y", "end 0")
    assert read_trace(data, TABLE, 0) == Refusal("contract", "cudaMalloc", "no")


def test_an_error_goes_with_the_operations():
    reading = read_trace(trace("error 1 a kernel launch: cudaErrorInvalidValue", "end -3"), TABLE, 0)
    assert isinstance(reading, Operations)
    assert reading.status == -3
    assert reading.error == CallError(1, "a kernel launch: cudaErrorInvalidValue")


def test_a_trace_is_named_by_its_bytes_and_not_by_what_is_replayed():
    first, second = read_trace(trace("end 0"), TABLE, 0), read_trace(trace("query a = 1", "end 0"), TABLE, 0)
    assert isinstance(first, Operations)
    assert isinstance(second, Operations)
    assert first.name != second.name
    assert first.canonical == second.canonical


def test_no_file_is_no_trace():
    assert read_trace(None, TABLE, 0) == Junk("the process left no trace: the candidate ended it")
