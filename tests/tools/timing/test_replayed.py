"""The rig of a real comparison on the CPU engine: everything but the clock is what a GPU gets."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.contents import HostContents, OracleContents
from cudanalyst.tools.timing.models import Uncompared
from cudanalyst.tools.timing.place import TimingPlace, compare_replayed
from cudanalyst.tools.timing.replayed import ReplayedRig, crashed
from cudanalyst.tools.timing.rig import SideFailed
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.executor import ExecutorCommand, ExecutorFailed, plainly, start_executor
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, ComparisonRequest
from cudanalyst.tools.toolchain.replaying import Code, Replaying
from cudanalyst.tools.toolchain.workspace import workspace

pytestmark = pytest.mark.anyio
SIZES = {"n": 1000}
SECRET = b"a secret of the timing tests"
HEAD = "#include <cuda_runtime.h>\n"
SOLVE = 'extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream)'
RIGHT = (
    HEAD
    + "__global__ void add(const float* a, const float* b, float* out, int n) {"
    + "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = a[i] + b[i]; }\n"
    + SOLVE
    + " { add<<<(n + 127) / 128, 128, 0, stream>>>(a, b, out, n); return 0; }"
)
KEEPS_RESULTS = (
    HEAD
    + "__device__ int done;\n"
    + "__global__ void add(const float* a, const float* b, float* out, int n) {"
    + "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && !done) out[i] = a[i] + b[i]; }\n"
    + "__global__ void mark() { done = 1; }\n"
    + SOLVE
    + " { add<<<(n + 127) / 128, 128, 0, stream>>>(a, b, out, n); mark<<<1, 1, 0, stream>>>(); return 0; }"
)
WAITS = HEAD + SOLVE + " { return cudaStreamSynchronize(stream); }"
READS_BACK = HEAD + SOLVE + " { float x; return cudaMemcpyAsync(&x, a, 4, cudaMemcpyDeviceToHost, stream); }"
MAKES_A_GRAPH = HEAD + SOLVE + " { cudaGraph_t graph; return cudaGraphCreate(&graph, 0); }"


@dataclass
class Place:
    toolchain: CpuToolchain
    replaying: Replaying

    async def build(self, text: str) -> Build:
        built = await self.toolchain.build(Source(text=text, problem="vector_add"))
        assert built.status == "compiled", built.diagnostics
        return built

    def command(self, work) -> ExecutorCommand:
        return ExecutorCommand(
            self.replaying.executor, plainly(work.path, {"CUDANALYST_MEMORY": str(1 << 30)}), self.replaying.driver
        )

    @asynccontextmanager
    async def rig(self, a: str, b: str = RIGHT, contents=None) -> AsyncIterator[ReplayedRig]:
        catalogue = Catalogue()
        problem = catalogue.problem("vector_add")
        code = [Code(one.binary, one.image, one.symbols) for one in (await self.build(a), await self.build(b))]
        with workspace(self.replaying.recorder.scratch) as work:
            async with start_executor(self.command(work), timeout_s=60) as executor:
                yield ReplayedRig(
                    executor=executor,
                    device=await executor.open(0),
                    recorder=self.replaying.recorder,
                    problem=problem,
                    sizes=SIZES,
                    candidate=code[0],
                    baseline=code[1],
                    contents=contents or HostContents(problem, SIZES, SECRET, catalogue.expected),
                    folder=work.path,
                    ends_at=time.monotonic() + 60,
                )


@pytest.fixture(scope="module")
async def place(anyio_backend) -> Place:
    toolchain = CpuToolchain(allow_unsandboxed=True)
    parts = await toolchain._ready()
    request = CandidateRequest(parameters=(), sizes={}, calls=())
    return Place(toolchain, toolchain._replaying(parts, request, "run", {}))


async def test_both_sides_are_recorded_for_every_set_and_right_outputs_pass(place) -> None:
    async with place.rig(RIGHT) as rig:
        await rig.place(0, "A")
        for side in ("A", "B"):
            await rig.fill(range(4), 0)
            flaw = await rig.check(range(4))
            assert flaw.fault == "wrong"
            assert "never written" in flaw.message
            await rig.executor.call(*rig.traces(side, 0))
            assert await rig.check(range(4)) is None


async def test_contents_differ_from_number_to_number(place) -> None:
    async with place.rig(RIGHT) as rig:
        await rig.place(0, "B")
        await rig.fill([0, 1, 2, 3], 1)
        await rig.executor.call(*rig.traces("A", 0))
        assert await rig.check([0, 1, 2, 3]) is None
        flaw = await rig.check([1, 2, 3, 0])
        assert flaw.fault == "contract_violation"


async def test_modules_without_variables_are_recorded_once_and_others_at_every_placement(place) -> None:
    async with place.rig(KEEPS_RESULTS, RIGHT) as rig:
        recorded = []
        original = rig._record

        async def counted(side, slot, table):
            recorded.append(slot)
            return await original(side, slot, table)

        rig._record = counted
        await rig.place(0, "A")
        await rig.place(1, "B")
        await rig.place(2, "A")
        assert recorded == ["A0", "B0", "A1", "A2"]
        await rig.fill(range(4), 0)
        await rig.executor.call(*rig.traces("B", 2))
        assert await rig.check(range(4)) is None


async def test_results_kept_in_device_memory_fail_the_check_of_later_calls(place) -> None:
    async with place.rig(KEEPS_RESULTS) as rig:
        await rig.place(0, "A")
        await rig.fill(range(4), 0)
        await rig.executor.call(*rig.traces("A", 0))
        flaw = await rig.check(range(4))
        assert flaw.fault == "wrong"


@pytest.mark.parametrize(
    ("text", "fault"), [(WAITS, "contract_violation"), (READS_BACK, "contract_violation"), (MAKES_A_GRAPH, None)]
)
async def test_what_cannot_be_recorded_names_its_side_and_whose_fault_it_is(place, text, fault) -> None:
    async with place.rig(text) as rig:
        with pytest.raises(SideFailed) as failed:
            await rig.place(0, "A")
    assert failed.value.side == "A"
    assert failed.value.fault == fault
    async with place.rig(RIGHT, text) as rig:
        with pytest.raises(SideFailed) as failed:
            await rig.place(0, "A")
    assert failed.value.side == "B"


async def test_an_oracle_makes_and_compares_the_same_contents_through_files(place) -> None:
    folder = Catalogue().entry("vector_add").folder
    async with GpuOracle(arrays="numpy") as oracle:
        contents = OracleContents(oracle, folder, SIZES, SECRET, _files=True)
        async with place.rig(RIGHT, contents=contents) as rig:
            await rig.place(0, "A")
            await rig.fill(range(4), 0)
            assert (await rig.check(range(4))).fault == "wrong"
            await rig.executor.call(*rig.traces("A", 0))
            assert await rig.check(range(4)) is None
            # The parent's own comparison agrees: both draw the same numbers.
            rig.contents = HostContents(rig.problem, SIZES, SECRET, Catalogue().expected)
            assert await rig.check(range(4)) is None
            await contents.forget()


async def test_a_place_without_a_clock_says_so(place, tmp_path) -> None:
    """The CPU engine captures no graphs; its wall time would say nothing of a GPU anyway."""
    kernels = tmp_path / "kernels"
    kernels.write_text("no module")
    catalogue = Catalogue()
    timing = TimingPlace(place.replaying.recorder, place.command, kernels, DeviceState)
    build = await place.build(RIGHT)
    request = ComparisonRequest(catalogue.problem("vector_add"), SIZES, "warm", SECRET, catalogue.expected)
    results = await compare_replayed(timing, build, build, [request, request])
    assert len(results) == 2
    for result in results:
        assert isinstance(result, Uncompared)
        assert "executor" in result.reason
    none = build.model_copy(update={"image": None})
    assert "have to be built" in (await compare_replayed(timing, none, build, [request]))[0].reason


async def test_large_sizes_need_an_oracle(place) -> None:
    catalogue = Catalogue()
    timing = TimingPlace(place.replaying.recorder, place.command, place.replaying.executor, DeviceState)
    build = await place.build(RIGHT)
    request = ComparisonRequest(catalogue.problem("vector_add"), {"n": 10**7}, "warm", SECRET, catalogue.expected)
    (result,) = await compare_replayed(timing, build, build, [request])
    assert isinstance(result, Uncompared)
    assert "CuPy" in result.reason


@pytest.mark.parametrize(
    ("kind", "command", "fault"),
    [
        ("cuda", "time", "crashed"),
        ("timed_out", "time", "timed_out"),
        ("cuda", "buffer", None),
        ("ended", "time", None),
    ],
)
def test_only_what_happens_in_timed_calls_is_the_candidates_fault(kind, command, fault) -> None:
    flaw = crashed(ExecutorFailed(kind, command, "because"))
    assert (flaw.fault if flaw else None) == fault
