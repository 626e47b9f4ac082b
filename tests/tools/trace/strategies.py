"""Traces and tables for Hypothesis."""

import random

from hypothesis import strategies as st

from cudanalyst.tools.toolchain.protocol import BufferSpec
from cudanalyst.tools.trace.parse import HEADER
from cudanalyst.tools.trace.records import (
    Copy,
    EventRecord,
    EventWait,
    Fill,
    FunctionAttribute,
    Launch,
    OwnStream,
    TensorMap,
    Upload,
)
from cudanalyst.tools.trace.table import BufferSet, Kernel, Region, Table
from tests.tools.trace.conftest import H200

KERNEL = Kernel("_Z4axpyPKfPfi", 32, 1024, 0, 0, 512, 90, 90, ((0, 8), (8, 8), (16, 4), (64, 128)))
TABLE = Table(
    library="/c.so",
    device="NVIDIA H200",
    attributes=H200,
    kernels=(KERNEL,),
    parameters=(BufferSpec("x", "f32", "in"), BufferSpec("y", "f32", "out")),
    sets=(BufferSet({"x": Region(0x10000, 4096), "y": Region(0x20000, 4096)}, {}),),
    symbols={"factors": Region(0x30000, 64)},
    arena=Region(0x40000, 8192),
    workspace=Region(0x50000, 1000),
)
u32 = st.integers(0, 2**32 - 1)
small = st.integers(0, 5)
addresses = st.one_of(
    st.integers(0, 2**64 - 1),
    st.sampled_from([0x10000, 0x20000, 0x30000, 0x40000, 0x50000]).flatmap(
        lambda base: st.integers(0, 64).map(lambda words: base + 16 * words)
    ),
)
lengths = st.one_of(st.integers(1, 128), st.integers(1, 2**62))
pitches = st.one_of(st.just(0), st.integers(0, 128), st.integers(0, 2**62))


@st.composite
def uploads(draw):
    row, rows = draw(st.integers(1, 16)), draw(st.integers(1, 4))
    data = draw(st.binary(min_size=row * rows, max_size=row * rows))
    return Upload(draw(addresses), row, rows, draw(pitches), draw(small), data)


@st.composite
def fills(draw):
    size = draw(st.sampled_from([1, 2, 4]))
    pattern = draw(st.integers(0, 2 ** (8 * size) - 1))
    return Fill(draw(addresses), pattern, size, draw(lengths), draw(st.integers(1, 4)), draw(pitches), draw(small))


@st.composite
def tensor_maps(draw):
    rank = draw(st.integers(1, 5))

    def some(values, count=rank):
        return tuple(draw(values) for _ in range(count))

    token = random.Random(draw(st.integers(0, 2**32))).randbytes(128)
    return TensorMap(
        token, draw(st.integers(0, 12)), draw(addresses), some(st.integers(1, 2**32)),
        some(st.integers(0, 2**36).map(lambda n: n * 16 % 2**40), rank - 1), some(st.integers(1, 256)), some(st.integers(1, 8)),
        draw(st.integers(0, 2)), draw(st.integers(0, 6)), draw(st.integers(0, 3)), draw(st.integers(0, 1)),
    )  # fmt: skip


extents = st.tuples(*[st.integers(1, 2**32 - 1)] * 3) | st.tuples(*[st.integers(1, 8)] * 3)
values64 = st.binary(max_size=12).map(lambda data: data.ljust(64, b"\0")) | st.binary(min_size=64, max_size=64)
launches = st.builds(
    Launch,
    st.sampled_from([KERNEL.symbol, "other"]),
    extents,
    extents,
    u32 | st.just(0),
    small,
    st.lists(st.tuples(st.integers(0, 20), values64), max_size=3).map(tuple),
    st.lists(st.binary(max_size=16), max_size=5).map(tuple)
    | st.tuples(*[st.binary(min_size=size, max_size=size) for _, size in KERNEL.parameters]),
)
copies = st.builds(Copy, addresses, addresses, lengths, st.integers(1, 4), pitches, pitches, small)
operations = st.one_of(
    st.builds(OwnStream, st.integers(1, 5), st.integers(-5, 0)),
    st.builds(FunctionAttribute, st.just(KERNEL.symbol), st.integers(0, 20), st.integers(-5, 300000)),
    launches,
    copies,
    uploads(),
    fills(),
    st.builds(EventRecord, small, small),
    st.builds(EventWait, small, small),
    tensor_maps(),
)
HEADER_LINE = HEADER + "\n"


@st.composite
def orders(draw):
    """Work, events and waits on up to four streams, as a well-formed trace."""
    lines, recorded = [OwnStream(n, 0) for n in (1, 2, 3)], set()
    for _ in range(draw(st.integers(0, 14))):
        kind, stream, event = draw(st.sampled_from("wre")), draw(st.integers(0, 3)), draw(st.integers(0, 2))
        if kind == "w":
            lines.append(Fill(0x20000, 0, 1, 4, 1, 0, stream))
        elif kind == "r":
            recorded.add(event)
            lines.append(EventRecord(event, stream))
        elif event in recorded:
            lines.append(EventWait(event, stream))
    return lines
