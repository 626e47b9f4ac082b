from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.toolchain.protocol import BufferSpec, ScalarSpec
from cudanalyst.tools.trace.table import BufferSet, Kernel, Region, Table, render_table

TABLE = Table(
    library=Path("/tmp/a b.so"),
    device="NVIDIA H200",
    attributes={39: 2048, 16: 132},
    kernels=(Kernel("k", 32, 1, 2, 3, 1024, 90, 90, ((0, 8), (8, 4))),),
    sizes={"n": 5, "m": 7},
    parameters=(BufferSpec("x", "f32", "in"), ScalarSpec("n", "int"), ScalarSpec("a", "float")),
    sets=(BufferSet({"x": Region(4096, 20)}, {"n": 5, "a": 0.5}),),
    symbols={"s": Region(0x7F0000000000, 4)},
    arena=Region(8192, 100),
    workspace=Region(16384, 200),
    memory_bytes=1000,
)


def test_a_table_is_rendered_line_by_line():
    assert render_table(TABLE).splitlines() == [
        "cudanalyst-table 1",
        "library /tmp/a b.so",
        "device NVIDIA H200",
        "memory 1000",
        "attribute 16 132",
        "attribute 39 2048",
        "kernel k 32 1 2 3 1024 90 90 2 0 8 8 4",
        "symbol s 0x7f0000000000 4",
        "arena 0x2000 100",
        "sizes n=5 m=7",
        "param buffer x f32 in",
        "param int n",
        "param float a",
        "workspace 0x4000 200",
        "set",
        "buffer x 0x1000 20",
        "value n 5",
        "value a 0x1.0000000000000p-1",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"sets": (BufferSet({}, {"n": 1, "a": 1}),)},
        {"sets": (BufferSet({"x": Region(1, 1)}, {"n": 1}),)},
        {"symbols": {"a b": Region(1, 1)}},
        {"sizes": {"n\n": 1}},
        {"device": "a\nset"},
    ],
)
def test_what_cannot_be_written_is_a_bad_request(change):
    with pytest.raises(BadRequest):
        render_table(Table(**{**vars(TABLE), **change}))
