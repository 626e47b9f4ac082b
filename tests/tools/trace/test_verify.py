import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cudanalyst.tools.trace.order import fork_and_join, without_idle_events
from cudanalyst.tools.trace.parse import HEADER
from cudanalyst.tools.trace.read import Junk, Operations, canonical, read_trace
from cudanalyst.tools.trace.records import (
    Copy,
    EventRecord,
    EventWait,
    Fill,
    Launch,
    OwnStream,
    Refusal,
    TensorMap,
    Upload,
)
from tests.tools.trace.strategies import KERNEL, TABLE, copies, fills, operations, orders, tensor_maps, uploads

ARGUMENTS = " ".join(["4", "00" * 8, "00" * 8, "00" * 4, "00" * 128])
COOPERATIVE = "2 01" + "00" * 63


def read(*lines: str, index: int | None = 0):
    return read_trace("\n".join([HEADER, *lines, "end 0", ""]).encode(), TABLE, index)


def ranges(operation) -> list[tuple[int, int, bool]]:
    """(first byte, one past the last, written) of everything that an operation touches itself."""
    match operation:
        case Copy():
            size, rows = operation.row_bytes, range(operation.rows)
            return [(operation.to + r * operation.to_pitch, size, True) for r in rows] + [
                (operation.source + r * operation.source_pitch, size, False) for r in rows
            ]
        case Upload():
            return [(operation.to + r * operation.to_pitch, operation.row_bytes, True) for r in range(operation.rows)]
        case Fill():
            size = operation.row_elements * operation.element_bytes
            return [(operation.to + r * operation.pitch, size, True) for r in range(operation.rows)]
        case TensorMap():
            return [(operation.address, 1, False)]
    return []


def given_ranges(index: int | None):
    places = [*TABLE.symbols.values(), TABLE.arena]
    if index is not None:
        places += [*TABLE.sets[index].buffers.values(), TABLE.workspace]
    return [(place.address, place.address + place.bytes) for place in places]


@settings(max_examples=200)
@given(st.lists(st.one_of(copies, uploads(), fills(), tensor_maps()), max_size=3), st.sampled_from([0, None]))
def test_no_accepted_trace_touches_what_was_not_given(records, index):
    reading = read_trace(canonical((OwnStream(1, 0), *records) if index == 0 else tuple(records)), TABLE, index)
    if not isinstance(reading, Operations):
        return
    read_only = TABLE.sets[0].buffers["x"]
    for record in records:
        for start, size, written in ranges(record):
            assert any(low <= start and start + size <= high for low, high in given_ranges(index))
            assert not (written and start < read_only.address + read_only.bytes and read_only.address < start + size)


@given(st.lists(operations, max_size=8), st.sampled_from([0, None]))
def test_reading_never_raises_and_what_it_accepts_reads_the_same_again(records, index):
    reading = read_trace(canonical(tuple(records)), TABLE, index)
    if isinstance(reading, Operations):
        again = read_trace(reading.canonical, TABLE, index)
        assert isinstance(again, Operations)
        assert again.canonical == reading.canonical


def paths(records) -> set[tuple[int, int]]:
    """Which work comes before which, by brute force: a graph with an edge for each stream's order and for each wait.

    Work is numbered from 1 in order; 0 is the start of stream 0, and the last number its end.
    """
    edges, last, events = set(), {0: 0}, {}
    node = 0
    work = [0]
    for record in records:
        if isinstance(record, OwnStream):
            continue
        node += 1
        if record.stream in last:
            edges.add((last[record.stream], node))
        if isinstance(record, EventWait) and record.event in events:
            edges.add((events[record.event], node))
        last[record.stream] = node
        if isinstance(record, EventRecord):
            events[record.event] = node
        if isinstance(record, Fill):
            work.append(node)
    node += 1
    work.append(node)
    edges.add((last[0], node))
    reach = edges | {(n, n) for n in range(node + 1)}
    for middle, a, b in itertools.product(range(node + 1), repeat=3):
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    return {(a, b) for a, first in enumerate(work) for b, second in enumerate(work) if (first, second) in reach}


def forked_and_joined(records) -> bool:
    found = paths(records)
    end = max(b for _, b in found)
    return all((0, n) in found and (n, end) in found for n in range(1, end))


@settings(max_examples=200)
@given(orders())
def test_fork_and_join_agree_with_reachability(records):
    assert (fork_and_join(records) is None) == forked_and_joined(records)


@settings(max_examples=60)
@given(orders())
def test_events_that_order_nothing_are_left_out_and_no_others(records):
    assume(fork_and_join(records) is None)
    kept = without_idle_events(records)
    assert [r for r in kept if isinstance(r, Fill)] == [r for r in records if isinstance(r, Fill)]
    assert paths(kept) == paths(records)
    assert fork_and_join(kept) is None
    # Each stream that takes part goes on to work or to a record that is waited for, so a capture is joined as a whole.
    recorded: set[int] = set()
    for number, record in enumerate(kept):
        later = [r for r in kept[number + 1 :] if not isinstance(r, OwnStream)]
        if isinstance(record, EventRecord):
            recorded.add(record.event)
            assert any(isinstance(r, EventWait) and r.event == record.event for r in later)
        if isinstance(record, EventWait):
            assert record.event in recorded
            assert record.stream == 0 or any(r.stream == record.stream and not isinstance(r, EventWait) for r in later)


def test_a_stream_that_has_nothing_to_do_is_not_part_of_the_canonical_trace():
    reading = read("stream 1 0", "record 1 1", "wait 1 0", "fill 20000 0 1 4 1 0 0", "record 0 0", "wait 0 1")
    assert isinstance(reading, Operations)
    assert reading.canonical.decode().splitlines()[1:-1] == ["stream 1 0", "fill 20000 0 1 4 1 0 0"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"launch other 1 1 1 1 1 1 0 0 0 {ARGUMENTS}", "names a kernel that the module lacks"),
        (f"launch {KERNEL.symbol} 1 65536 1 1 1 1 0 0 0 {ARGUMENTS}", "a grid of (1, 65536, 1) is larger"),
        (f"launch {KERNEL.symbol} 1 1 1 513 1 1 0 0 0 {ARGUMENTS}", "a block of (513, 1, 1) is larger"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 65 0 0 0 {ARGUMENTS}", "a block of (1, 1, 65) is larger"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 48129 0 0 {ARGUMENTS}", "48129 bytes of dynamic shared memory"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 1 0 {ARGUMENTS}", "stream 1 is not known"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 0 1 00", "1 arguments for a kernel of 4"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 0 4 00 00 00 00", "argument 0 has 1 bytes and the parameter 8"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 1 1 {'00' * 64} {ARGUMENTS}", "launch attribute 1 is not one"),
        (
            f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 1 2 {'02' + '00' * 63} {ARGUMENTS}",
            "launch attribute 2 cannot be 2",
        ),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 1 2 {'01' * 64} {ARGUMENTS}", "has more in it than its value"),
        (f"launch {KERNEL.symbol} 1 1 1 1 1 1 0 0 2 {COOPERATIVE} {COOPERATIVE} {ARGUMENTS}", "given twice"),
        (
            f"launch {KERNEL.symbol} 3 1 1 1 1 1 0 0 1 4 {'02' + '000000' + '01000000' * 2 + '00' * 52} {ARGUMENTS}",
            "clusters",
        ),
        (f"attribute {KERNEL.symbol} 8 232448", "function attribute 8 cannot be 232448"),
        (f"attribute {KERNEL.symbol} 0 1", "function attribute 0 is not one"),
        ("stream 2 0", "stream 2 is not the next one"),
        ("wait 0 0", "event 0, which was not recorded"),
        ("copy 20000 60000 1 1 0 0 0", "copies from memory that is not given"),
        ("copy 20000 10ff0 17 1 0 0 0", "copies from memory that is not given"),
        ("copy 20000 10000 64 2 63 64 0", "pitch does not fit"),
        ("copy 20000 10000 64 1 64 0 0", "pitch does not fit"),
        ("copy ffffffffffffffff 10000 64 1 0 0 0", "writes memory that is not given"),
        ("fill 20002 0 4 1 1 0 0", "not a multiple of the element's size"),
        (f"tensor_map {'00' * 128} 7 1 10000 1025 1 1 0 0 0 0", "not wholly in memory that is given"),
        (f"tensor_map {'00' * 128} 7 1 10008 1 1 1 0 0 0 0", "not multiples of 16"),
    ],
)
def test_what_a_recorder_would_not_write_is_junk(line, reason):
    reading = read(line)
    assert isinstance(reading, Junk), reading
    assert reading.line == 2
    assert reason in reading.reason


def test_more_shared_memory_is_taken_once_it_was_asked_for():
    launch = f"launch {KERNEL.symbol} 1 1 1 1 1 1 100000 0 0 {ARGUMENTS}"
    assert isinstance(read(f"attribute {KERNEL.symbol} 8 100000", launch), Operations)
    assert isinstance(read(f"attribute {KERNEL.symbol} 8 99999", launch), Junk)


def test_an_input_as_the_target_is_named():
    assert read("fill 10000 0 1 4 1 0 0") == Refusal(
        "contract", "a fill", "writes the input `x`: inputs are read-only, write outputs and the workspace only"
    )


def test_init_has_its_own_memory_only():
    assert isinstance(read("fill 40000 0 1 4 1 0 0", index=None), Operations)
    assert isinstance(read("fill 20000 0 1 4 1 0 0", index=None), Junk)
    assert isinstance(read("stream 1 0", index=None), Junk)
    assert isinstance(read("record 0 0", index=None), Junk)


def test_uploads_are_bounded_in_calls_and_not_in_init():
    line = "upload 40000 8192 1 0 0 " + "00" * 8192
    assert isinstance(read(*[line] * 8), Operations)
    refused = read(*[line] * 9)
    assert isinstance(refused, Refusal)
    assert "64 KB" in refused.text
    assert isinstance(read(*[line] * 9, index=None), Operations)


def test_a_token_stands_for_one_map():
    line = f"tensor_map {'00' * 128} 7 1 10000 1024 1 1 0 0 0 0"
    assert isinstance(read(line), Operations)
    assert isinstance(read(line, line), Junk)


def test_a_launch_that_fits_is_taken():
    reading = read(f"launch {KERNEL.symbol} 2147483647 65535 65535 512 1 1 48128 0 1 {COOPERATIVE} {ARGUMENTS}")
    assert isinstance(reading, Operations)
    assert isinstance(reading.operations[0], Launch)
