"""The `gpu` toolchain without a GPU: on machines that lack something, and whole, with the CPU engine in the place of NVIDIA's driver."""

import asyncio
import dataclasses
import os
import struct
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.engine.build import EngineInstallation, cache_directory, install_engine
from cudanalyst.tools.gpu.lease import Leases
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.state import NvmlMonitor, UnknownMonitor
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.discovery import Toolkit
from cudanalyst.tools.toolchain.executor import start_executor
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.gpu_large import schedule_of, verify_on_device
from cudanalyst.tools.toolchain.gpu_tools import profile
from cudanalyst.tools.toolchain.protocol import (
    BufferSpec,
    Call,
    CandidateRequest,
    ChecksTogether,
    Execution,
    ProgramRequest,
    ScalarSpec,
    Toolchain,
)
from cudanalyst.tools.toolchain.waiting import heard_by
from cudanalyst.tools.toolchain.workspace import workspace
from tests.tools.gpu.fake_nvml import FakeNvml

pytestmark = pytest.mark.anyio
DOUBLE = """
__global__ void k(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i];
}
extern "C" int solve(float* y, const float* x, int n, cudaStream_t s) {
  %s
  k<<<(n + 255) / 256, 256, 0, s>>>(y, x, n);
  return 0;
}
"""
READS_BACK = "float first; cudaMemcpyAsync(&first, x, 4, cudaMemcpyDeviceToHost, s); cudaStreamSynchronize(s); if (first != 1) return 1;"
ASKS_IN_INIT = (
    DOUBLE % "" + 'extern "C" int init(long long n) { float *p, h; return cudaMalloc(&p, 4) || cudaMemset(p, 0, 4) '
    "|| cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); }"
)
"""Cannot be recorded, and breaks no contract."""
PARAMETERS = (BufferSpec("y", "f32", "out"), BufferSpec("x", "f32", "in"), ScalarSpec("n", "int"))
REQUEST = CandidateRequest(
    PARAMETERS,
    {"n": 4},
    (Call({"x": (16, struct.pack("<4f", 1, 2, 3, 4)), "y": (16, bytes(16))}, {"n": 4}, ("y",)),),
    guard_bytes=0,
    timeout_s=30,
)


def unknown() -> tuple[UnknownMonitor, str]:
    return UnknownMonitor(), "nvidia-ml-py is not installed"


def candidate(text: str) -> Source:
    return Source(text=text, problem="double")


def doubled(execution: Execution) -> bool:
    return execution.downloads == ({"y": struct.pack("<4f", 2, 4, 6, 8)},)


@pytest.fixture(scope="module")
async def engine(anyio_backend, toolkit: Toolkit) -> EngineInstallation:
    return await install_engine(cuda_include=toolkit.include, cache=cache_directory())


@pytest.fixture(scope="module")
def runtime(engine: EngineInstallation, tmp_path_factory) -> Path:
    """Another CUDA runtime: the engine's, which does not say that it is one and leaves the runner's report alone."""
    folder = tmp_path_factory.mktemp("runtime")
    data = engine.library.read_bytes()
    for name in (b"cudanalyst_engine\0", b"CUDANALYST_REPORT", b"CUDANALYST_SEAL"):
        data = data.replace(name, b"x" + name[1:])
    (folder / "libcudart.so.13").write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    return {**os.environ, "CUDANALYST_LEASES": str(tmp_path_factory.mktemp("leases"))}


@pytest.fixture(scope="module")
def gpu(engine: EngineInstallation, runtime: Path, environment: dict[str, str]) -> GpuToolchain:
    return GpuToolchain(
        driver=engine.library_dir / "libcuda.so.1", runtime=runtime, monitor=unknown, environment=environment
    )


async def test_without_a_device_everything_is_unavailable_with_a_reason(tmp_path):
    gpu: Toolchain = GpuToolchain(environment={"PATH": ""}, root=tmp_path)
    can = await gpu.capabilities()
    assert (can.build, can.execute, can.sanitize, can.profile) == (False, False, (), False)
    assert all("no NVIDIA GPU here" in can.reasons[name] for name in ("build", "execute", "sanitize", "profile"))
    (device,) = await GpuToolchain(environment={"PATH": ""}, root=tmp_path).abilities()
    assert (device.name, device.status) == ("device", "unavailable")


async def test_every_request_is_answered_unavailable_where_there_is_no_device(tmp_path):
    gpu = GpuToolchain(environment={"PATH": ""}, root=tmp_path)
    build = await gpu.build(Source(text="int main() {}"))
    assert (build.status, build.binary) == ("unavailable", None)
    assert build.reason
    request = ProgramRequest()
    for execution in (await gpu.execute(build, request), await gpu.profile(build, request)):
        assert execution.how == "unavailable"
        assert execution.reason
    checked = await gpu.sanitize(build, request, "memcheck")
    assert checked.failed
    assert checked.findings == ()


def machine_with_a_gpu(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir(exist_ok=True)
    (tmp_path / "dev" / "nvidiactl").touch()
    return tmp_path


async def test_a_driver_that_is_too_old_is_said_with_the_remedy(tmp_path):
    old = NvmlMonitor(FakeNvml(nvmlSystemGetCudaDriverVersion_v2=12080, nvmlSystemGetDriverVersion="570.86"))
    gpu = GpuToolchain(root=machine_with_a_gpu(tmp_path), monitor=lambda: (old, None))
    reason = (await gpu.capabilities()).reasons["execute"]
    assert "570.86 runs code up to CUDA 12.8" in reason
    assert "update NVIDIA's driver to 580" in reason


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="NVIDIA's driver library is here")
async def test_a_device_file_without_a_driver_library_does_not_make_it_pretend(tmp_path, engine, environment):
    gpu = GpuToolchain(root=machine_with_a_gpu(tmp_path), monitor=unknown, environment=environment)
    reason = (await gpu.capabilities()).reasons["execute"]
    assert "executor did not start" in reason
    assert "libcuda.so.1" in reason


async def test_a_device_that_nvcc_does_not_know_is_said(tmp_path, engine, environment):
    monitor = NvmlMonitor(FakeNvml(nvmlDeviceGetCudaComputeCapability=(17, 5)))
    driver = engine.library_dir / "libcuda.so.1"
    gpu = GpuToolchain(driver=driver, monitor=lambda: (monitor, None), environment=environment)
    assert "does not build for NVIDIA H200 (sm_175)" in (await gpu.capabilities()).reasons["build"]


async def test_capabilities_say_what_is_here_and_what_a_missing_tool_would_need(gpu):
    can = await gpu.capabilities()
    assert (can.build, can.execute) == (True, True)
    assert can.measured_on.toolchain == "gpu"
    assert can.measured_on.versions["arch"] == "sm_90a"
    abilities = {ability.name: ability for ability in await gpu.abilities()}
    assert abilities["toolkit"].status == "ok"
    assert abilities["timing"].status == "limited"
    assert all(ability.reason for ability in abilities.values() if ability.status != "ok")


async def test_a_candidate_is_built_for_the_device_whatever_it_asks_for(gpu):
    builds = [
        await gpu.build(Source(text=DOUBLE % "", problem="double", options=BuildOptions(arch=arch)))
        for arch in ("sm_90", "sm_80")
    ]
    assert [build.status for build in builds] == ["compiled", "compiled"]
    assert builds[1].cached
    assert all(build.image is not None and build.image.is_file() for build in builds)


async def test_a_candidate_is_recorded_and_replayed_on_the_device(gpu):
    build = await gpu.build(candidate(DOUBLE % ""))
    execution = await gpu.execute(build, REQUEST)
    assert execution.how == "returned", execution.reason
    assert doubled(execution)
    assert execution.extra["trust"] == "replayed"
    assert execution.extra["device"].startswith("GPU-")


async def test_what_cannot_be_recorded_runs_native_on_another_runtime_and_is_labelled(gpu):
    build = await gpu.build(candidate(ASKS_IN_INIT))
    execution = await gpu.execute(build, REQUEST)
    assert execution.how == "returned", execution.reason
    assert doubled(execution)
    assert execution.extra["trust"] == "native"
    assert execution.extra["native_because"].startswith("cudaMemcpy copies to the host in `init`")


async def test_a_native_run_on_the_engine_is_refused_by_the_runner(engine, environment):
    gpu = GpuToolchain(
        driver=engine.library_dir / "libcuda.so.1", runtime=engine.library_dir, monitor=unknown, environment=environment
    )
    execution = await gpu.execute(await gpu.build(candidate(ASKS_IN_INIT)), REQUEST)
    assert execution.how == "unavailable"  # nothing of the candidate was loaded: no fault of its own
    assert "the CPU engine was loaded in place of NVIDIA's CUDA runtime" in (execution.reason or "")


FORBIDDEN = (
    """
static long long which;
static char page[4096];
extern "C" int init(long long n) {
  void* p;
  which = n;
  if (n == 4) return cudaMallocManaged(&p, 64);
  if (n == 5) return cudaMallocHost(&p, 64);
  return n == 6 ? cudaHostRegister(page, 4096, 0) : 0;
}
"""
    + DOUBLE
    % (
        "cudaGraph_t g; if (which == 7) cudaGraphCreate(&g, 0);"
        "if (which == 1 || which == 7) cudaLaunchHostFunc(s, [](void*) {}, nullptr);"
        "if (which == 2) cudaDeviceReset();"
        f"if (which == 3) {{ {READS_BACK} }}"
    )
)
"""By the size `n`: 7 comes after what cannot be recorded."""
CALLS = {
    1: "cudaLaunchHostFunc", 2: "cudaDeviceReset", 3: "cudaMemcpyAsync", 4: "managed memory", 5: "pinned memory", 6: "registered memory",
    7: "cudaLaunchHostFunc",
}  # fmt: skip


async def test_what_the_contract_forbids_ends_the_same_on_both_toolchains(gpu):
    """A GPU would carry it out."""
    variable = "__managed__ float kept[16];\n" + DOUBLE % "kept[0] = 1;"
    cases = [(FORBIDDEN, n, call) for n, call in CALLS.items()] + [(variable, 4, "a __managed__ variable")]
    for text, n, called in cases:
        ends = []
        for toolchain in (gpu, CpuToolchain()):
            request = dataclasses.replace(REQUEST, sizes={"n": n})
            execution = await toolchain.execute(await toolchain.build(candidate(text)), request)
            assert (execution.how, execution.extra["trust"]) == ("returned", "replayed"), execution.reason
            (call,) = [record for record in execution.report if record["type"] == "call"]
            ends.append((call["status"], call["message"]))
        assert ends[0] == ends[1]
        assert ends[0][0] == "contract"
        assert str(ends[0][1]).startswith(f"{called} ")


async def test_a_program_runs_in_the_sandbox(gpu):
    program = Source(
        text="""#include <cstdio>
__global__ void k(int* p) { *p = 42; }
int main() {
  int *p, h = 0;
  cudaMalloc(&p, 4);
  k<<<1, 1>>>(p);
  cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
  std::printf("%d %d", h, std::fopen("/etc/passwd", "r") != nullptr);
}"""
    )
    execution = await gpu.execute(await gpu.build(program), ProgramRequest())
    assert execution.how == "returned"
    assert execution.stdout == ("42 0" if execution.sandbox == "full" else execution.stdout)
    assert execution.extra["trust"] == "native"


CRASHES = {
    "host code": ("volatile int* p = nullptr; *p = 1;", "signalled"),
    "a kernel": ("x = nullptr;", "returned"),
    "a hang": ('for (;;) asm volatile("");', "timed_out"),
}


@pytest.mark.parametrize("what", CRASHES)
async def test_what_goes_wrong_costs_one_executor_and_the_next_run_is_right(gpu, what):
    fault, how = CRASHES[what]
    request = CandidateRequest(
        PARAMETERS, REQUEST.sizes, REQUEST.calls, guard_bytes=0, timeout_s=1 if how == "timed_out" else 30
    )
    broken = await gpu.execute(await gpu.build(candidate(DOUBLE % fault)), request)
    assert broken.how == how
    if what == "a kernel":
        assert [record["name"] for record in broken.report if record["type"] == "error"] == ["cudaErrorIllegalAddress"]
    after = await gpu.execute(await gpu.build(candidate(DOUBLE % "")), REQUEST)
    assert doubled(after)


async def test_a_call_hears_of_its_place_in_the_queue_and_waits_for_its_turn(gpu, environment):
    build = await gpu.build(candidate(DOUBLE % ""))
    heard: list[str | None] = []
    waiting = asyncio.Event()

    def listen(words: str | None) -> None:
        heard.append(words)
        waiting.set()

    async def run() -> Execution:
        with heard_by(listen):
            return await gpu.execute(build, REQUEST)

    uuid = gpu.devices[0].uuid
    async with Leases(Path(environment["CUDANALYST_LEASES"])).hold([uuid], wait_s=0):  # another server's
        task = asyncio.create_task(run())
        await waiting.wait()
        assert not task.done()
    execution = await task
    assert heard == ["waiting for the GPU: next in line", None, None]
    assert float(execution.extra["lease_wait_s"]) > 0
    assert doubled(execution)


async def test_a_gpu_that_stays_busy_is_said_and_nothing_is_run(engine, environment, gpu):
    build = await gpu.build(candidate(DOUBLE % ""))
    driver = engine.library_dir / "libcuda.so.1"
    impatient = GpuToolchain(driver=driver, monitor=unknown, environment=environment, lease_wait_s=0.01)
    await impatient.prepare()
    async with Leases(Path(environment["CUDANALYST_LEASES"])).hold([gpu.devices[0].uuid], wait_s=0):
        execution = await impatient.execute(build, REQUEST)
    assert execution.how == "unavailable"
    assert "the GPU was busy" in (execution.reason or "")


async def test_a_cancelled_run_gives_its_lease_and_its_work_directory_back(gpu, environment, folders):
    build = await gpu.build(candidate(DOUBLE % 'for (;;) asm volatile("");'))
    built = len(folders)
    task = asyncio.create_task(gpu.execute(build, REQUEST))
    leases = Leases(Path(environment["CUDANALYST_LEASES"]))
    while len(folders) == built:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with leases.hold([gpu.devices[0].uuid], wait_s=0):
        assert not any(folder.exists() for folder in folders)


async def test_checks_and_counters_that_cannot_be_had_are_said_and_not_taken_for_clean(gpu):
    build = await gpu.build(candidate(DOUBLE % ""))
    can = await gpu.capabilities()
    assert isinstance(gpu, ChecksTogether)
    if not can.sanitize:
        for one in await gpu.sanitize_together(build, REQUEST, ["memcheck", "racecheck"]):
            assert one.failed
            assert one.execution.how == "unavailable"
    if not can.profile:
        assert (await gpu.profile(build, REQUEST)).how == "unavailable"


async def test_the_same_results_come_from_several_runs_at_once(gpu):
    build = await gpu.build(candidate(DOUBLE % ""))
    executions = await asyncio.gather(*(gpu.execute(build, REQUEST) for _ in range(4)))
    assert all(doubled(execution) for execution in executions)


async def test_a_large_size_is_verified_by_the_oracle_where_the_calls_are_replayed(gpu, tmp_path):
    problems = Catalogue.from_environment({})
    problem, folder = problems.problem("vector_add"), problems.entry("vector_add").folder
    parts = await gpu._ready()
    case = schedule_of(
        problem, folder, "test", problem.sizes["test"][0], labels=("a",), seeds=2, secret=b"secret", timeout_s=60
    )
    wrong = problem.baseline.replace("+ b[", "- b[")
    assert wrong != problem.baseline
    found = []
    async with GpuOracle(arrays="numpy") as oracle:
        for text in (problem.baseline, wrong):
            build = await gpu.build(Source(text=text, problem=problem.id))
            async with gpu.lease() as (lease, _):
                on = gpu._on_device(parts, lease)
                with workspace(on.scratch) as work:
                    running = start_executor(on.executor_command(work), timeout_s=120)
                    found.append(await verify_on_device(case, build, running, on.replaying().recorder, work, oracle))
    assert [judgement.unavailable for judgement in found] == [None, None]
    assert [{one.status for one in judgement.cases} for judgement in found] == [{"passed"}, {"wrong"}]


LARGE_ADD = """
__global__ void k(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
extern "C" int init(long long n) {
  float *p, h;
  if (n == 1) return cudaMalloc(&p, 4) || cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
  return n == 2 ? cudaMallocManaged(&p, 4) : 0;
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t s) {
  if (n == 3) cudaLaunchHostFunc(s, [](void*) {}, nullptr);
  if (n == 4) *(volatile int*)8 = 1;
  k<<<(n + 255) / 256, 256, 0, s>>>(a, b, out, n);
  return 0;
}
"""


async def test_a_large_size_tells_what_is_forbidden_from_what_cannot_be_recorded_and_from_a_crash(gpu):
    problems = Catalogue.from_environment({})
    problem, folder = problems.problem("vector_add"), problems.entry("vector_add").folder
    parts = await gpu._ready()
    build = await gpu.build(Source(text=LARGE_ADD, problem=problem.id))
    found = []
    for n in range(1, 5):
        case = schedule_of(problem, folder, "test", {"n": n}, labels=("a",), seeds=1, secret=b"secret", timeout_s=60)
        async with GpuOracle(arrays="numpy") as oracle, gpu.lease() as (lease, _):
            on = gpu._on_device(parts, lease)
            with workspace(on.scratch) as work:
                running = start_executor(on.executor_command(work), timeout_s=120)
                found.append(await verify_on_device(case, build, running, on.replaying().recorder, work, oracle))
    unrecorded, *others = found
    assert "copies to the host in `init`" in (unrecorded.unrecordable or "")
    assert (unrecorded.cases, unrecorded.unavailable) == ((), None)
    told = [(one.cases[0].status, one.cases[0].message or "") for one in others]
    assert [status for status, _ in told] == ["contract_violation", "contract_violation", "crashed"]
    assert told[0][1].startswith("managed memory is memory that host code reaches too")
    assert told[1][1].startswith("cudaLaunchHostFunc is not allowed inside solve")
    assert told[2][1] == "host code was ended by SIGSEGV"


TOOL = """#!/bin/sh
[ "$1" = --version ] && {{ echo "NVIDIA stand-in"; echo "Version 2025.3.1.0 (build 1)"; exit 0; }}
{body}
while [ $# -gt 0 ]; do
  case "$1" in
    --save) save=$2 ;;
    --log-file) log=$2 ;;
    */program | */cudanalyst-executor) break ;;
  esac
  shift
done
"$@"
status=$?
summary="========= ERROR SUMMARY: 0 errors"
echo "$summary"
[ -z "$save" ] || echo '<?xml version="1.0"?><ComputeSanitizerOutput></ComputeSanitizerOutput>' > "$save"
[ -z "$log" ] || printf '========= COMPUTE-SANITIZER\n%s\n' "$summary" > "$log"
exit $status
"""


async def test_tools_are_tried_once_and_wrap_the_executor(engine, environment, tmp_path):
    refused = 'echo "==ERROR== ERR_NVGPUCTRPERM - no permission"; exit 1'
    for name, body in (("compute-sanitizer", ""), ("ncu", refused)):
        (tmp_path / name).write_text(TOOL.format(body=body))
        (tmp_path / name).chmod(0o755)
    gpu = GpuToolchain(
        driver=engine.library_dir / "libcuda.so.1",
        monitor=unknown,
        environment={**environment, "PATH": f"{tmp_path}:{environment['PATH']}"},
    )
    can = await gpu.capabilities()
    assert len(can.sanitize) == 4
    assert not can.profile
    assert "NVreg_RestrictProfilingToAdminUsers=0" in can.reasons["profile"]
    assert can.measured_on.versions["compute-sanitizer"] == "2025.3.1.0"
    build = await gpu.build(candidate(DOUBLE % ""))
    for one in await gpu.sanitize_together(build, REQUEST, ["memcheck", "racecheck"]):
        assert (one.failed, one.findings) == (None, ()), one
        assert one.execution.how == "returned"
    profiled = await gpu.profile(build, REQUEST)
    assert "ERR_NVGPUCTRPERM" in (profiled.reason or "")
    program = await gpu.build(Source(text="int main() { return 0; }"))
    (checked,) = await gpu.sanitize_together(program, ProgramRequest(), ["memcheck"])
    if can.measured_on.sandbox == "full":
        assert (checked.failed, checked.execution.how, checked.execution.sandbox) == (None, "returned", "full"), checked
        async with gpu.lease() as (lease, _):
            on = gpu._on_device(await gpu._ready(), lease)
            counted = await profile(on, tmp_path / "ncu", program, ProgramRequest(), Selection())
        assert "in the sandbox nobody is one" in (counted.reason or ""), counted
    elif can.measured_on.sandbox == "partial":
        assert "--allow-unsandboxed" in (checked.failed or "")
