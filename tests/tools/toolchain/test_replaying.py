"""A candidate is recorded without a device and replayed without its host code; what comes of that reads like a native run."""

import dataclasses
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.buffer_plan import plan_buffers
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.executor import Starter, plainly
from cudanalyst.tools.toolchain.protocol import BufferSpec, Build, Call, CandidateRequest, Execution, ScalarSpec
from cudanalyst.tools.toolchain.replaying import Code, Replaying, replay
from cudanalyst.tools.toolchain.workspace import Workspace

pytestmark = pytest.mark.anyio

# What `solve` does is chosen by a scalar, so that one build serves all tests. Line numbers are in the tests.
SOURCE = r"""#include <cstdio>
#include <cstdlib>
__device__ float table[4];
__global__ void scale(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + table[0];
}
__global__ void strays(float* y) { y[1 << 28] = 1; }
__global__ void spins(volatile float* y) { while (y[0] != 12345.f) {} }
__global__ void says(int n) { if (!threadIdx.x) printf("kernel %d\n", n); }
__global__ void partial(float* sums, const float* x, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += x[i];
  sums[threadIdx.x] = sum;
}
__global__ void total(float* y, const float* sums) { float sum = 0; for (int i = 0; i < 32; i++) sum += sums[i]; *y = sum; }
__global__ void peeks(float* y, const unsigned char* memory) { *y = memory[0]; }
__global__ void adds(float* y, const float* offset, float a) { y[0] = a + offset[0]; }
static float* kept;
extern "C" size_t workspace_bytes(long long n) { return n > 8 ? (size_t)n << 32 : 128 * n; }
extern "C" int init(long long n) {
  const float first = 0.5f;
  if (cudaMalloc(&kept, 4 * n)) return 1;
  if (cudaMemcpy(kept, &first, 4, cudaMemcpyHostToDevice)) return 2;
  return 0;
}
static int calls;
extern "C" int solve(const float* x, float* y, float a, int what, void* memory, size_t bytes, cudaStream_t stream) {
  const int n = 100;
  calls++;
  float back;
  cudaStream_t own;
  cudaEvent_t event;
  switch (what) {
    case 0: scale<<<1, 128, 0, stream>>>(y, x, a, n); return 0;
    case 1: cudaMemcpyAsync(&back, x, 4, cudaMemcpyDeviceToHost, stream); scale<<<1, 128, 0, stream>>>(y, x, back, n); return 0;
    case 2: return cudaStreamSynchronize(stream);
    case 3: *(volatile int*)8 = 1; return 0;
    case 4: strays<<<1, 1, 0, stream>>>(y); return 0;
    case 5: spins<<<1, 32, 0, stream>>>(y); return 0;
    case 6: std::puts("host"); says<<<1, 32, 0, stream>>>(7); return 0;
    case 7: partial<<<1, 32, 0, stream>>>((float*)memory, x, n); total<<<1, 1, 0, stream>>>(y, (float*)memory); return 0;
    case 8: peeks<<<1, 1, 0, stream>>>(y, (unsigned char*)memory); return 0;
    case 9: adds<<<1, 1, 0, stream>>>(y, kept, a + calls); return 0;
    case 10: return 7;
    case 11: throw 1;
    case 12: scale<<<1, 4096, 0, stream>>>(y, x, a, n); return 0;
    case 13: for (;;) {}
    case 14: std::exit(0);
    case 15:
      cudaStreamCreate(&own); cudaEventCreate(&event); cudaEventRecord(event, stream); cudaStreamWaitEvent(own, event, 0);
      scale<<<1, 128, 0, own>>>(y, x, a, n);
      cudaEventRecord(event, own); cudaStreamWaitEvent(stream, event, 0);
      return 0;
    case 16: for (int i = 0; i < 4200; i++) scale<<<1, 128, 0, stream>>>(y, x, a, n); return 0;
  }
  return 0;
}
"""
N, GUARD = 100, 64
FILL = b"\x5a" * GUARD
PARAMETERS = (
    BufferSpec("x", "f32", "in"), BufferSpec("y", "f32", "out"), ScalarSpec("a", "float"), ScalarSpec("what", "int"),
)  # fmt: skip


def guarded(values: Sequence[float]) -> bytes:
    """A buffer's contents with guards."""
    return FILL + struct.pack(f"{len(values)}f", *values) + FILL


def request(*what: int, **changes: object) -> CandidateRequest:
    """One call for each thing to do; `a` counts the calls from 1."""
    calls = tuple(
        Call(
            buffers={"x": (4 * N, guarded(range(N))), "y": (4 * N, guarded([-1] * N))},
            scalars={"a": float(number), "what": one},
            download=("x", "y"),
        )
        for number, one in enumerate(what, 1)
    )
    fields = {"parameters": PARAMETERS, "sizes": {"n": 1}, "calls": calls, "guard_bytes": GUARD, "timeout_s": 20.0}
    return CandidateRequest(**{**fields, **changes})


def values(execution: Execution, call: int) -> tuple[float, ...]:
    """The output of a call."""
    return struct.unpack(f"{N}f", execution.downloads[call]["y"][GUARD:-GUARD])


def of_type(execution: Execution, kind: str) -> list[dict[str, object]]:
    """Records of a type."""
    return [dict(record) for record in execution.report if record["type"] == kind]


def statuses(execution: Execution) -> list[object]:
    """How each call ended."""
    return [record["status"] for record in of_type(execution, "call")]


@pytest.fixture(scope="module")
def cpu() -> CpuToolchain:
    return CpuToolchain()


@pytest.fixture(scope="module")
async def without_init(cpu: CpuToolchain) -> Build:
    """What checks are replayed for."""
    return await cpu.build(Source(text=SOURCE.replace('extern "C" int init', "int is_no_init"), problem="replayed"))


@pytest.fixture(scope="module")
async def build(cpu: CpuToolchain) -> Build:
    made = await cpu.build(Source(text=SOURCE, problem="replayed"))
    assert made.status == "compiled", (made.diagnostics, made.reason)
    return made


async def test_a_build_has_its_device_code_and_the_names_of_its_variables(build: Build) -> None:
    assert build.image is not None
    assert build.image.is_file()
    assert "table" in build.symbols


async def test_calls_are_replayed_on_their_own_inputs(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, 15, 0, 0))
    assert (execution.how, execution.extra["trust"]) == ("returned", "replayed"), execution
    for index in range(4):
        assert values(execution, index) == tuple((index + 1.0) * i for i in range(N))
        assert execution.downloads[index]["x"] == guarded(range(N))
    assert statuses(execution) == ["ok"] * 4
    assert execution.report[-1]["type"] == "end"
    assert len(of_type(execution, "launch")) == 4
    assert {record["name"] for record in of_type(execution, "allocation")} >= {"x", "y", "workspace"}


async def test_a_workspace_holds_a_pattern_that_changes_from_call_to_call(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(7, 8, 8))
    assert values(execution, 0)[0] == sum(range(N))
    assert values(execution, 1)[0] != values(execution, 2)[0]


async def test_what_init_made_is_there_and_no_static_survives_a_call(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(9, 9))
    assert [values(execution, index)[0] for index in range(2)] == [1 + 1 + 0.5, 2 + 1 + 0.5]


async def test_a_workspace_that_no_device_has_is_the_candidates_fault(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, sizes={"n": 9}))
    assert statuses(execution) == ["solve_error"]
    assert "a workspace of 38654705664 bytes cannot be allocated" in str(of_type(execution, "call")[0]["message"])


async def test_a_broken_contract_is_the_calls_status_with_the_fix(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, 2, 0))
    assert statuses(execution) == ["ok", "contract"]
    assert "cudaStreamSynchronize waits on the host" in str(of_type(execution, "call")[1]["message"])
    assert execution.how == "returned"
    assert execution.downloads[2] == {}


async def test_what_cannot_be_recorded_runs_natively_and_says_so(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(16))
    assert execution.extra["trust"] == "native"
    assert execution.extra["native_because"] == "solve asks for more than 4096 operations in one call"
    assert statuses(execution) == ["ok"]
    assert values(execution, 0)[2] == 2.0


async def test_what_the_contract_forbids_is_never_run_natively(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, 1, 0))
    assert execution.extra["trust"] == "replayed"
    assert "native_because" not in execution.extra
    assert statuses(execution) == ["ok", "contract"]
    assert "cudaMemcpyAsync copies to the host inside solve" in str(of_type(execution, "call")[1]["message"])


async def test_a_crash_of_host_code_ends_at_its_call(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, 3, 0))
    assert (execution.how, execution.signal) == ("signalled", "SIGSEGV")
    assert statuses(execution) == ["ok"]
    assert values(execution, 0)[2] == 2.0


async def test_leaving_the_process_is_no_answer(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(14))
    assert (execution.how, execution.exit_status, statuses(execution)) == ("exited", 0, [])


async def test_a_fault_of_a_kernel_names_its_line_and_keeps_what_came_before(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(0, 4, 0))
    assert statuses(execution) == ["ok", "cuda_error"]
    assert of_type(execution, "call")[1]["cuda_error_name"] == "cudaErrorIllegalAddress"
    (fault,) = of_type(execution, "error")
    assert (fault["file"], fault["line"]) == ("candidate.cu", 8)
    assert execution.how == "returned"


async def test_a_kernel_without_end_meets_the_watchdog(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(5, max_warp_instructions=10_000))
    assert of_type(execution, "watchdog")
    assert statuses(execution) == ["cuda_error"]


@pytest.mark.parametrize("what", [5, 13])
async def test_what_takes_too_long_is_ended(cpu: CpuToolchain, build: Build, what: int) -> None:
    execution = await cpu.execute(build, request(what, timeout_s=1.0))
    assert execution.how == "timed_out"
    assert execution.reason == "stopped after 1 s"
    assert not [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_executor(entry)]


def _is_executor(entry: Path) -> bool:
    try:
        parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        return (entry / "comm").read_text().startswith("cudanalyst-exec") and parent == str(os.getpid())
    except OSError:
        return False


async def test_both_processes_are_heard(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.execute(build, request(6))
    assert execution.stdout == "host\nkernel 7\n"


@pytest.mark.parametrize(
    ("what", "status", "text"),
    [
        (10, "solve_error", "returned a value other than 0"),
        (11, "solve_error", "solve threw an exception"),
        (12, "cuda_error", "cudaErrorInvalid"),
    ],
)
async def test_a_call_that_failed_says_how(cpu: CpuToolchain, build: Build, what: int, status: str, text: str) -> None:
    execution = await cpu.execute(build, request(what))
    (call,) = of_type(execution, "call")
    assert call["status"] == status
    assert text in f"{call['message']} {call['cuda_error_name']}"


async def test_a_check_finds_what_a_kernel_does_to_the_buffers_by_name(cpu: CpuToolchain, without_init: Build) -> None:
    call = Call(buffers={"x": (4, struct.pack("f", 1)), "y": (4, None)}, scalars={"a": 1.0, "what": 0})
    exact = request(0, calls=(call,), guard_bytes=0)
    found = await cpu.sanitize(without_init, exact, "memcheck")
    assert found.failed is None
    assert {(finding.kind, finding.line) for finding in found.findings} >= {("invalid_global_read", 6)}
    assert any((finding.address or "").startswith("x[4 B]") for finding in found.findings)
    assert found.execution.extra["trust"] == "replayed"
    uninitialised = await cpu.sanitize(without_init, request(8, calls=(_peeks(),), guard_bytes=0), "initcheck")
    assert [finding.line for finding in uninitialised.findings] == [17]


OVERRUNS = """
__global__ void fills(int* p) { p[threadIdx.x] = 1; }
__global__ void writes(float* y) { y[0] = 1; }
static int *first, *second;
extern "C" int init(long long n) {
  if (cudaMalloc(&first, 128) || cudaMalloc(&second, 128)) return 1;
  fills<<<1, 33>>>(first);
  return 0;
}
extern "C" int solve(const float* x, float* y, float a, int what, cudaStream_t s) { writes<<<1, 1, 0, s>>>(y); return 0; }
"""


async def test_an_allocation_of_init_that_is_overrun_into_the_next_is_found(cpu: CpuToolchain) -> None:
    """Replayed, they lie in one piece."""
    overruns = await cpu.build(Source(text=OVERRUNS, problem="saxpy"))
    found = await cpu.sanitize(overruns, request(0, guard_bytes=0, calls=(_peeks(),)), "memcheck")
    assert [(finding.kind, finding.line) for finding in found.findings] == [("invalid_global_write", 2)]
    assert (found.execution.extra["trust"], found.failed) == ("native", None)
    assert (await cpu.execute(overruns, request(0))).extra["trust"] == "replayed"


def _peeks() -> Call:
    return Call(buffers={"x": (4, struct.pack("f", 1)), "y": (4, None)}, scalars={"a": 1.0, "what": 8})


async def test_a_misuse_of_the_api_is_found_where_it_is_recorded(cpu: CpuToolchain, without_init: Build) -> None:
    found = await cpu.sanitize(without_init, request(12), "memcheck")
    assert [finding.kind for finding in found.findings] == ["invalid_launch"]


async def test_a_profile_counts_what_was_replayed(cpu: CpuToolchain, build: Build) -> None:
    execution = await cpu.profile(build, request(7))
    assert {str(record["kernel"]).split("(")[0] for record in of_type(execution, "profile")} == {"partial", "total"}
    assert statuses(execution) == ["ok"]
    assert execution.report[-1]["type"] == "end"


async def test_a_bad_request_is_refused_before_anything_runs(cpu: CpuToolchain, build: Build) -> None:
    with pytest.raises(BadRequest, match="two guards of 32"):
        await cpu.execute(build, request(0, guard_bytes=32))
    call = dataclasses.replace(request(0).calls[0], scalars={"a": 1.0})
    with pytest.raises(BadRequest, match="no value for 'what'"):
        await cpu.execute(build, request(0, calls=(call,)))


async def replaying(cpu: CpuToolchain, folder: Path, **changes: object) -> Replaying:
    """The toolchain's own way, changed."""
    parts = await cpu._ready()
    usual = cpu._replaying(parts, request(0), "run", {})
    return dataclasses.replace(usual, **changes)


def _plainly(work: Workspace, _: Code) -> Starter:
    return plainly(work.path, {})


async def test_without_a_report_the_parent_writes_what_a_judge_reads(
    cpu: CpuToolchain, build: Build, tmp_path: Path
) -> None:
    place = await replaying(cpu, tmp_path, has_report=False, starter=_plainly, profile=True)
    good = await replay(place, build, request(0, 15))
    assert isinstance(good, Execution)
    assert _types(good) == ["engine", "call", "call", "end"]
    assert values(good, 1)[3] == 6.0
    bad = await replay(place, build, request(0, 4))
    assert isinstance(bad, Execution)
    assert _types(bad) == ["engine", "error", "call", "call", "end"]
    assert [record["name"] for record in of_type(bad, "error")] == ["cudaErrorIllegalAddress"]


def _types(execution: Execution) -> list[str]:
    return [record["type"] for record in execution.report if record["type"] != "allocation"]


async def test_an_executor_under_a_tool_keeps_the_tools_output(cpu: CpuToolchain, build: Build, tmp_path: Path) -> None:
    place = await replaying(
        cpu,
        tmp_path,
        prefix=("/bin/sh", "-c", '"$@"; echo tool saw $?', "sh"),
        starter=_plainly,
        has_report=False,
    )
    execution = await replay(place, build, request(0))
    assert isinstance(execution, Execution)
    assert execution.stdout == "tool saw 0\n"
    assert statuses(execution) == ["ok"]


async def test_an_executor_that_cannot_work_is_no_fault_of_the_candidate(
    cpu: CpuToolchain, build: Build, tmp_path: Path
) -> None:
    for changes, text in (
        ({"executor": Path("/bin/false")}, "ended before it answered"),
        ({"driver": tmp_path / "absent.so"}, "absent.so"),
        ({"device_index": 3}, "CUDA_ERROR_INVALID_DEVICE"),
    ):
        execution = await replay(await replaying(cpu, tmp_path, **changes), build, request(0))
        assert isinstance(execution, Execution)
        assert execution.how == "unavailable"
        assert text in (execution.reason or "")
    bad = build.model_copy(update={"image": Path(__file__)})
    execution = await replay(await replaying(cpu, tmp_path), bad, request(0))
    assert isinstance(execution, Execution)
    assert "CUDA_ERROR_INVALID_IMAGE" in (execution.reason or "")
    none = build.model_copy(update={"binary": None, "image": None})
    execution = await replay(await replaying(cpu, tmp_path), none, request(0))
    assert isinstance(execution, Execution)
    assert execution.how == "unavailable"


async def test_the_lease_is_held_while_the_executor_lives(cpu: CpuToolchain, build: Build, tmp_path: Path) -> None:
    events: list[str] = []

    class Lease:
        async def __aenter__(self) -> None:
            events.append("taken")

        async def __aexit__(self, *_: object) -> None:
            events.append("given back")

    await replay(await replaying(cpu, tmp_path, lease=Lease), build, request(0))
    assert events == ["taken", "given back"]


def test_calls_share_allocations_so_that_old_addresses_hold_new_values_and_the_reverse() -> None:
    plan = plan_buffers(request(0, 0, 0, 0, 0))
    names = [chosen["x"][0] for chosen in plan.calls]
    assert names[0] == names[1]
    assert names[2] != names[1]
    assert names[3] == names[0]
    assert len(dict(plan.buffers)) == 2 * len(set(names))


def test_an_uninitialised_buffer_is_one_that_nothing_wrote_to() -> None:
    call = Call(buffers={"x": (4, b"abcd"), "y": (4, None)}, scalars={})
    plan = plan_buffers(request(0, calls=(call, call, call), guard_bytes=0))
    assert len({chosen["y"][0] for chosen in plan.calls}) == 3


def test_calls_of_other_sizes_get_allocations_of_their_own() -> None:
    calls = tuple(Call(buffers={"x": (size, b"a" * size)}, scalars={}) for size in (4, 8, 4))
    plan = plan_buffers(request(0, calls=calls, guard_bytes=0))
    assert dict(plan.buffers)[plan.calls[1]["x"][0]] == 8
    assert [chosen["x"][1] for chosen in plan.calls] == [4, 8, 4]
