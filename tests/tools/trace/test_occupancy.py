import dataclasses

import pytest

from cudanalyst.tools.process import run_process
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.discovery import find_toolkit
from cudanalyst.tools.trace.read import Operations
from cudanalyst.tools.trace.table import BufferSet
from tests.tools.trace.conftest import CANDIDATES

pytestmark = pytest.mark.anyio
KERNELS = [
    (registers, shared) for registers in (16, 24, 32, 33, 40, 64, 72, 96, 128, 168, 255) for shared in (0, 1, 4096)
]


@pytest.fixture(scope="module")
async def formula(tmp_path_factory, anyio_backend):
    """The toolkit's header as a program."""
    toolkit = await find_toolkit()
    program = tmp_path_factory.mktemp("formula") / "formula"
    source = CANDIDATES / "occupancy.cpp"
    built = await run_process(["g++", "-O1", "-w", "-isystem", toolkit.include, source, "-o", program], timeout_s=60)
    assert built.exit_status == 0, built.stderr.text
    return program


async def test_answers_are_those_of_the_toolkits_formula(recorder, formula):
    built = await recorder._toolchain.build(Source(text=(CANDIDATES / "occupancy.cu").read_text(), problem="occupancy"))
    base = await recorder.table("plain", sets=1)
    kernels = tuple(
        dataclasses.replace(
            base.kernels[0], symbol=f"_Z5askedILi{number}EEvPf", registers=registers, static_shared_bytes=shared,
            max_threads=_largest_block(registers), parameters=((0, 8),),
        )
        for number, (registers, shared) in enumerate(KERNELS)
    )  # fmt: skip
    (one,) = base.sets
    sets = tuple(BufferSet(one.buffers, {**one.values, "which": which}) for which in range(len(KERNELS)))
    table = dataclasses.replace(base, library=built.binary, symbols={}, kernels=kernels, sets=sets)
    recording = await recorder.start("--record", table)
    asked, answered = [], []
    for which, (registers, shared) in enumerate(KERNELS):
        reading = recording.reading(which)
        assert isinstance(reading, Operations)
        for query in reading.queries:
            _, _, threads, dynamic, _, answer = query.split()
            asked.append(f"{registers} {shared} {dynamic} {threads} {_largest_block(registers)}")
            answered.append(int(answer))
    assert len(asked) == len(KERNELS) * 15 * 12
    told = await run_process([formula], stdin="\n".join(asked).encode(), timeout_s=20)
    expected = [max(0, int(line)) for line in told.stdout.text.split()]
    wrong = [(a, got, want) for a, got, want in zip(asked, answered, expected, strict=True) if got != want]
    assert wrong == []


def _largest_block(registers: int) -> int:
    return min(1024, 65536 // ((registers + 7) // 8 * 8 * 32) * 32)
