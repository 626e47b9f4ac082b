"""Checking a candidate through record and replay: the executor and the recorder are real, on the CPU engine's driver; the tool is a script."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.cases import Limits, plan_debug
from cudanalyst.tools.checks import report_of
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.outcome import Unrecordable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.replaying import Replaying
from cudanalyst.tools.toolchain.sanitizer import candidates
from cudanalyst.tools.toolchain.sanitizer.candidates import allocations, sanitize_candidate
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer
from tests.tools.fakes import ended

pytestmark = pytest.mark.anyio
NAMES = PathNames("candidate.cu", {})
ADD = """#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {{ int i = blockIdx.x * 128 + threadIdx.x; {body} }}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {{
  {host} add<<<(n + 127) / 128, 128, 0, stream>>>(a, b, out, n); return 0;
}}
"""
RIGHT = "if (i < n) out[i] = a[i] + b[i];"
# Stands in for compute-sanitizer: runs its target, and tells of one overrun at the address that it is asked for.
TOOL = """#!{python}
import pathlib, subprocess, sys
words = sys.argv[1:]
value = lambda option: words[words.index(option) + 1]
target = words[next(i for i, word in enumerate(words) if word.endswith("cudanalyst-executor")):]
status = subprocess.call(target)
pathlib.Path(value("--save")).write_text('<?xml version="1.0" encoding="utf-8"?>\\n<ComputeSanitizerOutput/>\\n')
summary = "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" if value("--tool") == "racecheck" else "ERROR SUMMARY: 0 errors"
pathlib.Path(value("--log-file")).write_text("========= COMPUTE-SANITIZER\\n========= " + summary + "\\n")
sys.exit(status)
"""


@pytest.fixture(scope="module")
def toolchain(anyio_backend) -> CpuToolchain:
    return CpuToolchain()


@pytest.fixture
def tool(tmp_path) -> Sanitizer:
    path = tmp_path / "compute-sanitizer"
    path.write_text(TOOL.format(python=sys.executable))
    path.chmod(0o755)
    return Sanitizer(path, "2025.3.1.0")


def request(timeout_s: float = 20.0, guard: int = 0):
    problem = Catalogue().problem("vector_add")
    plan = plan_debug(problem, "c", problem.sizes["test"][0], b"secret", Limits(timeout_s))
    return replace(plan, guard_bytes=guard)


def place_of(toolchain: CpuToolchain, tool: Sanitizer, work: Path) -> Replaying:
    """Replays on the engine's driver without the sandbox around the executor, as on a GPU."""
    from cudanalyst.tools.toolchain.executor import plainly

    parts = toolchain._parts
    assert parts is not None
    made = toolchain._replaying(parts, request(), "run", {})
    return replace(made, starter=lambda space, _: plainly(space.path, {}), has_report=False)


@pytest.fixture
async def checked(toolchain, tool, tmp_path):
    async def check(body: str, host: str = "", checks=("memcheck", "racecheck"), timeout_s: float = 20.0):
        source = Source(text=ADD.format(body=body, host=host), problem="vector_add")
        build = await toolchain.build(source)
        assert build.status == "compiled", build
        return await sanitize_candidate(
            tool, checks, place_of(toolchain, tool, tmp_path), build, request(timeout_s), NAMES
        )

    return check


async def test_a_clean_candidate_is_replayed_under_each_tool(checked) -> None:
    results = await checked(RIGHT)
    assert [result.check for result in results] == ["memcheck", "racecheck"]
    for result in results:
        assert report_of(result.check, [result]).report.verdict == "clean", result
        assert {one.name for one in allocations(result.execution)} == {"a", "b", "out"}
        assert result.execution.extra["trust"] == "replayed"


async def test_what_cannot_be_recorded_is_handed_back(checked) -> None:
    result = await checked(RIGHT, host="cudaGraph_t graph; cudaGraphCreate(&graph, 0);")
    assert isinstance(result, Unrecordable)
    assert "cudaGraphCreate" in result.reason


async def test_what_the_contract_forbids_is_no_clean_check(checked) -> None:
    (result,) = await checked(
        RIGHT,
        host="float first = 0; cudaMemcpyAsync(&first, a, 4, cudaMemcpyDeviceToHost, stream);",
        checks=("memcheck",),
    )
    assert report_of("memcheck", [result]).report.verdict == "incomplete"


async def test_a_kernel_that_hangs_is_a_finding(checked) -> None:
    (result,) = await checked("while (i >= 0) { } out[0] = 1;", checks=("memcheck",), timeout_s=4.0)
    outcome = report_of("memcheck", [result])
    assert [finding.kind for finding in outcome.findings] == ["endless_loop"]
    assert (outcome.findings[0].kernel or "").startswith("add(")


async def test_a_launch_that_is_refused_is_one_finding_and_the_rest_incomplete(checked) -> None:
    memcheck, racecheck = await checked(RIGHT, host="add<<<1, 128, 400 << 10, stream>>>(a, b, out, n);")
    outcomes = [report_of(result.check, [result]) for result in (memcheck, racecheck)]
    assert [(one.kind, one.count) for one in outcomes[0].findings] == [("invalid_launch", 1)]
    assert "409600 B of dynamic shared memory" in outcomes[0].findings[0].message
    assert [one.report.verdict for one in outcomes] == ["findings", "incomplete"]
    assert outcomes[0].report.reason is None
    assert "`solve` failed" in (outcomes[1].report.reason or "")


async def test_guards_would_hide_an_overrun_and_are_refused(toolchain, tool, tmp_path) -> None:
    await toolchain.prepare()
    build = await toolchain.build(Source(text=ADD.format(body=RIGHT, host=""), problem="vector_add"))
    with pytest.raises(BadRequest, match="guard_bytes = 0"):
        await sanitize_candidate(
            tool, ("memcheck",), place_of(toolchain, tool, tmp_path), build, request(guard=64), NAMES
        )


async def test_the_device_is_held_once_for_all_checks(monkeypatch, tool, tmp_path) -> None:
    held: list[str] = []

    @contextlib.asynccontextmanager
    async def lease():
        held.append("taken")
        yield
        held.append("given back")

    async def replayed(place, *_):
        async with place.lease():
            held.append("replayed")
        assert place.poison is False
        return ended("returned", report=({"type": "allocation", "name": "x", "address": "0x10", "bytes": 4},))

    monkeypatch.setattr(candidates, "replay", replayed)

    class Recorder:
        scratch = tmp_path

        class confinement:  # noqa: N801 - stands for the field
            level = "none"

    place = Replaying(recorder=Recorder(), executor=tmp_path, starter=lambda *_: None, lease=lease)

    class Build:
        kernels = ()

    results = await sanitize_candidate(tool, ("memcheck", "initcheck"), place, Build(), request(), NAMES)
    assert held == ["taken", "replayed", "replayed", "given back"]
    assert [report_of(result.check, [result]).report.verdict for result in results] == ["tool_failed"] * 2


def test_records_of_another_shape_are_no_allocations() -> None:
    execution = ended("returned", report=({"type": "allocation", "name": 3, "address": "x"}, {"type": "end"}))
    assert allocations(execution) == ()
