"""Whole programs as people post them: the correct ones run right and raise no alarm, the faulty ones are found at their line.

The head of a program says what to expect: `expect`, `also` (kinds that a correct program raises on purpose), `analyze`, `message`, `flags`.
In faulty programs `// BUG` marks the lines that may be blamed.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.tools.analyze import analyze
from cudanalyst.tools.debug import DebugRequest, DebugResult, debug
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.protocol import Build, ProgramRequest

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent
LIMIT = 3_000_000
ALARMS = {"divergent_barrier", "missing_barrier", "missing_bounds_guard", "off_by_one_guard", "missing_dynamic_shared"}
"""What the analyzer must not say of a correct program with more than low confidence."""


@dataclass(frozen=True)
class Program:
    """A program and what its head says."""

    name: str
    text: str

    def said(self, key: str) -> str | None:
        found = re.search(rf"^// {key}: (.*)$", self.text, re.MULTILINE)
        return found[1].strip() if found else None

    @property
    def source(self) -> Source:
        return Source(text=self.text, options=BuildOptions(flags=tuple((self.said("flags") or "").split())))

    def lines_with(self, mark: str) -> set[int]:
        return {number for number, line in enumerate(self.text.splitlines(), 1) if f"// {mark}" in line}


def programs(folder: str) -> list[Program]:
    return [Program(path.stem, path.read_text()) for path in sorted((FOLDER / folder).glob("*.cu"))]


Builds = dict[str, asyncio.Task[Build]]
CORRECT, FAULTY = programs("correct"), programs("faulty")


@pytest.fixture(scope="module")
def cpu() -> CpuToolchain:
    return CpuToolchain()


@pytest.fixture(scope="module")
async def builds(anyio_backend, cpu: CpuToolchain) -> AsyncIterator[Builds]:
    """All programs, built as many at once as there are cores, while the first tests already run."""
    await cpu.prepare()
    cores = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def build(program: Program) -> Build:
        async with cores:
            return await cpu.build(program.source)

    async with asyncio.TaskGroup() as group:
        tasks = {program.name: group.create_task(build(program)) for program in CORRECT + FAULTY}
        yield tasks
        for task in tasks.values():
            task.cancel()


async def debugged(program: Program, cpu: CpuToolchain) -> DebugResult:
    return await debug(program.source, None, cpu, DebugRequest(max_warp_instructions=LIMIT))


def by_name(program: Program) -> str:
    return program.name


@pytest.mark.parametrize("program", CORRECT, ids=by_name)
async def test_a_correct_program_passes_its_own_check(program: Program, cpu: CpuToolchain, builds: Builds):
    build = await builds[program.name]
    assert build.status == "compiled", build.diagnostics
    execution = await cpu.execute(build, ProgramRequest(max_warp_instructions=LIMIT))
    assert (execution.how, execution.exit_status) == ("returned", 0), execution.stdout


@pytest.mark.parametrize("program", CORRECT, ids=by_name)
async def test_a_correct_program_raises_no_alarm(program: Program, cpu: CpuToolchain, builds: Builds):
    assert (await builds[program.name]).status == "compiled"
    result = await debugged(program, cpu)
    assert {finding.kind for finding in result.findings} == set((program.said("also") or "").split()), result.summary
    assert result.status == ("findings" if program.said("also") else "clean"), result.summary
    analysis = analyze(program.source)
    assert not [s for s in analysis.suspicions if s.kind in ALARMS and s.confidence != "low"]
    assert analysis.error_ranges == ()


@pytest.mark.parametrize("program", FAULTY, ids=by_name)
async def test_the_fault_is_found_at_its_line(program: Program, cpu: CpuToolchain, builds: Builds):
    await builds[program.name]  # from then on it is in the cache
    result = await debugged(program, cpu)
    expected, message = program.said("expect"), program.said("message") or ""
    assert expected is not None
    if expected == "clean":
        assert result.status == "clean", result.summary
    elif expected == "compile_failed":
        assert result.status == "compile_failed"
        assert message in result.summary
    elif expected == "unsupported":
        assert result.status == "tool_failed"
        assert message in (result.reason or "")
    else:
        check, kind = expected.split()
        lines = program.lines_with("BUG")
        right = [f for f in result.findings if f.check == check and f.kind.startswith(kind) and message in f.message]
        assert right, (result.summary, result.findings)
        assert not lines or {finding.line for finding in right} <= lines, right
    if suspicion := program.said("analyze"):
        sure = {s.kind for s in analyze(program.source).suspicions if s.confidence != "low"}
        assert suspicion in sure


MEASURED = {
    "nbody_float4": {"forces": (35, 470)},
    "matrix_inverse_batched": {"invert": (36, 162)},
    "flash_attention_small": {"attention": (860, 3640)},
    "gemm_cp_async_double_buffer": {"gemm": (256, 4096)},
    "conv2d_constant_halo": {"conv": (312, 1040)},
    "softmax_layernorm": {"online_softmax": (165, 759), "layernorm": (330, 1432)},
}
"""Requests and sectors of global loads and stores that ncu counted on an H200 (CUDA 13.0)."""


@pytest.mark.parametrize("name", MEASURED)
async def test_global_traffic_is_what_was_counted_on_a_gpu(name: str, cpu: CpuToolchain, builds: Builds):
    execution = await cpu.profile(await builds[name], ProgramRequest())
    records = [record for record in execution.report if record["type"] == "profile"]
    counted = {
        kernel: (record["global_requests"], record["global_sectors"])
        for kernel in MEASURED[name]
        for record in records
        if re.search(rf"\b{kernel}\b", str(record["kernel"]))
    }
    assert counted == MEASURED[name]


WAVEFRONTS = {
    "float": (1, 1, 1, 1, 1, 1, 1, 2, 4, 1),
    "float2": (1, 1, 2, 2, 1, 2, 1, 4, 4, 1),
    "float4": (2, 2, 4, 4, 2, 4, 2, 8, 4, 2),
}
"""By pattern of wide_shared_loads.cu: l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld of ncu on an H200."""


async def test_wavefronts_of_wide_shared_loads_are_what_was_counted_on_a_gpu(cpu: CpuToolchain, builds: Builds):
    program = next(program for program in CORRECT if program.name == "wide_shared_loads")
    execution = await cpu.profile(await builds[program.name], ProgramRequest())
    load = program.lines_with("LOAD")
    counted: dict[str, dict[int, int]] = {}
    for record in execution.report:
        if record["type"] == "profile":
            found = re.search(r"probe<(\w+), (\d+)>", str(record["kernel"]))
            assert found is not None
            on_line = [line for line in record["lines"] if line["line"] in load]
            counted.setdefault(found[1], {})[int(found[2])] = sum(line["shared_wavefronts"] for line in on_line)
    assert {name: tuple(by[pattern] for pattern in sorted(by)) for name, by in counted.items()} == WAVEFRONTS
