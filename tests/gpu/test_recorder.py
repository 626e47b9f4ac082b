"""The recorder against a real driver: its answers are the driver's, and what it writes down runs right."""

import asyncio
import struct
from pathlib import Path

import pytest

from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.executor import ExecutorCommand, ExecutorFailed, plainly, start_executor
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import BufferSpec, Build, Call, CandidateRequest, ScalarSpec
from cudanalyst.tools.toolchain.recording import Recorder
from cudanalyst.tools.toolchain.recording import record as record_calls
from cudanalyst.tools.toolchain.replaying import SLOT, Code, LoadedModule, load_module, make_table
from cudanalyst.tools.trace.read import Operations
from cudanalyst.tools.trace.table import BufferSet, Region

pytestmark = [pytest.mark.anyio, pytest.mark.gpu]

KERNELS = 6
OCCUPANCY = """
#include <cuda_runtime.h>
__global__ void small(float* y) { y[threadIdx.x] = 1; }
__global__ void __launch_bounds__(256, 1) bounded(const float* x, float* y) {
  float v[64];
  #pragma unroll
  for (int i = 0; i < 64; i++) v[i] = x[i * 256 + threadIdx.x];
  #pragma unroll
  for (int j = 0; j < 8; j++)
    for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i + 17) % 64] + 1;
  #pragma unroll
  for (int i = 0; i < 64; i++) y[i * 256 + threadIdx.x] = v[i];
}
__global__ void shared_a(float* y) { __shared__ float s[1000]; s[threadIdx.x % 1000] = 1; __syncthreads(); y[threadIdx.x] = s[(threadIdx.x + 1) % 1000]; }
__global__ void shared_b(float* y) { __shared__ float s[12000]; s[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = s[threadIdx.x + 1]; }
__global__ void middle(const double* x, double* y) {
  double v[20];
  #pragma unroll
  for (int i = 0; i < 20; i++) v[i] = x[i * 1024 + threadIdx.x];
  #pragma unroll
  for (int i = 0; i < 20; i++) y[i * 1024 + threadIdx.x] = v[i] / v[(i + 7) % 20];
}
__global__ void opted(float* y) { extern __shared__ float d[]; d[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = d[0]; }
extern "C" int solve(float* y, int which, cudaStream_t stream) {
  const void* kernels[] = {(const void*)small, (const void*)bounded, (const void*)shared_a, (const void*)shared_b, (const void*)middle, (const void*)opted};
  const int threads[] = {1, 32, 33, 64, 96, 128, 160, 192, 256, 288, 384, 512, 640, 768, 1024};
  const int dynamic[] = {0, 1, 1000, 1024, 7168, 16384, 32768, 45000, 49152, 75776, 115712, 200000};
  if (which == 5) {
    if (int e = cudaFuncSetAttribute(kernels[5], cudaFuncAttributeMaxDynamicSharedMemorySize, 200000)) return e;
    opted<<<1, 32, 200000, stream>>>(y);
  }
  for (int t : threads)
    for (int d : dynamic) {
      int blocks = 0;
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels[which], t, d);
    }
  return 0;
}
"""


@pytest.fixture(scope="module")
def gpu(anyio_backend) -> GpuToolchain:
    return GpuToolchain(progress=print)


async def _built(gpu: GpuToolchain, text: str) -> Build:
    build = await gpu.build(Source(text=text, problem="recorder"))
    assert build.status == "compiled", (build.reason, build.diagnostics)
    return build


async def occupancy_differences(gpu: GpuToolchain, folder: Path) -> tuple[int, list[dict[str, object]]]:
    """How many answers were compared, and those that are not the driver's."""
    build = await _built(gpu, OCCUPANCY)
    parts = await gpu._ready()
    assert build.binary is not None
    assert build.image is not None
    code = Code(build.binary, build.image, build.symbols)
    recorder = Recorder(parts.engine.runner, (parts.engine.root,), parts.confinement, folder, {})
    compared, wrong = 0, []
    async with gpu.lease() as (lease, _):
        command = ExecutorCommand(parts.engine.executor, plainly(folder, parts.environment(lease.uuid)), parts.driver)
        async with start_executor(command, timeout_s=120) as executor:
            device = await executor.open(0)
            module: LoadedModule = await load_module(executor, SLOT, code)
            address = await executor.buffer("y", 1 << 20)
            table = make_table(
                code, device, module, parameters=(BufferSpec("y", "f32", "out"), ScalarSpec("which", "int")), sizes={}
            )
            sets = tuple(BufferSet({"y": Region(address, 1 << 20)}, {"which": which}) for which in range(KERNELS))
            table = type(table)(**{**vars(table), "sets": sets})
            recording = await record_calls(recorder, table, timeout_s=30, settings={})
            for which, reading in enumerate(recording.calls):
                assert isinstance(reading, Operations), (which, reading, recording.process.stderr.text)
                if reading.operations:
                    path = folder / f"{which}.trace"
                    await asyncio.to_thread(path.write_bytes, reading.canonical)
                    await executor.trace(str(which), SLOT, path)
                    await executor.call(str(which))
                for query in reading.queries:
                    _, symbol, threads, dynamic, _, answer = query.split()
                    compared += 1
                    try:
                        told = (await executor.command("occupancy", SLOT, symbol, threads, dynamic))["blocks"]
                    except ExecutorFailed as error:
                        told = error.name
                    if told != int(answer):
                        wrong.append({"query": query, "driver": told})
    return compared, wrong


async def test_occupancy_answers_are_the_drivers(gpu, record, tmp_path):
    compared, wrong = await occupancy_differences(gpu, tmp_path)
    record("recorder/occupancy", {"compared": compared, "wrong": wrong})
    assert compared == KERNELS * 15 * 12
    assert wrong == []


TMA = """
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
__global__ void tile(const __grid_constant__ CUtensorMap map, float* y) {
  __shared__ alignas(128) float s[512];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(&barrier), to = (uint32_t)__cvta_generic_to_shared(s);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(0),
                 "r"((int)blockIdx.x * 32), "r"(at)
                 : "memory");
  }
  __syncthreads();
  uint32_t done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
  for (int i = threadIdx.x; i < 512; i += blockDim.x) y[blockIdx.x * 512 + i] = 2 * s[i];
}
extern "C" int solve(float* y, const float* x, int n, cudaStream_t stream) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  if (found != cudaDriverEntryPointSuccess) return 90;
  CUtensorMap map;
  cuuint64_t sizes[2] = {16, (cuuint64_t)n / 16}, strides[1] = {64};
  cuuint32_t box[2] = {16, 32}, steps[2] = {1, 1};
  if (int e = ((decltype(&cuTensorMapEncodeTiled))entry)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void*)x, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) return e;
  tile<<<n / 512, 128, 0, stream>>>(map, y);
  return cudaGetLastError();
}
"""
CHAINED = """
#include <cooperative_groups.h>
#include <cuda_runtime.h>
__constant__ float factor;
__global__ void first(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;");
  if (i < n) y[i] = x[i];
}
__global__ void second(float* y, int n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] *= factor;
}
__global__ void grid_wide(float* y, int n) {
  cooperative_groups::this_grid().sync();
  (void)y; (void)n;
}
extern "C" int init(long) { float two = 2; return cudaMemcpyToSymbol(factor, &two, 4); }
extern "C" int solve(float* y, const float* x, int n, cudaStream_t stream) {
  cudaStream_t own;
  cudaEvent_t forked, joined;
  cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, -1);
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(own, forked, 0);
  first<<<n / 256, 256, 0, own>>>(x, y, n);
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n / 256);
  config.blockDim = dim3(256);
  config.stream = own;
  config.attrs = at;
  config.numAttrs = 1;
  if (int e = cudaLaunchKernelEx(&config, second, y, n)) return e;
  void* arguments[] = {&y, &n};
  if (int e = cudaLaunchCooperativeKernel(grid_wide, dim3(64), dim3(256), arguments, 0, own)) return e;
  cudaEventRecord(joined, own);
  cudaStreamWaitEvent(stream, joined, 0);
  return cudaGetLastError();
}
"""
N = 1 << 14
X = struct.pack(f"<{N}f", *(float(i % 997 + 1) for i in range(N)))
Y = struct.pack(f"<{N}f", *(2.0 * (i % 997 + 1) for i in range(N)))


@pytest.mark.parametrize("name", ["TMA", "CHAINED"])
async def test_what_was_recorded_runs_right(gpu, record, name):
    build = await _built(gpu, {"TMA": TMA, "CHAINED": CHAINED}[name])
    call = Call({"x": (4 * N, X), "y": (4 * N, bytes(4 * N))}, {"n": N}, ("y",))
    parameters = (BufferSpec("y", "f32", "out"), BufferSpec("x", "f32", "in"), ScalarSpec("n", "int"))
    execution = await gpu.execute(
        build, CandidateRequest(parameters, {"n": N}, (call, call), guard_bytes=0, timeout_s=60)
    )
    record(
        f"recorder/{name.lower()}",
        {
            "how": execution.how,
            "reason": execution.reason,
            "extra": dict(execution.extra),
            "report": list(execution.report),
        },
    )
    assert execution.extra.get("trust") != "native", execution.extra
    assert [download.get("y") == Y for download in execution.downloads] == [True, True], (
        execution.reason,
        execution.report,
    )
