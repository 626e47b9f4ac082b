"""Speed of the CPU engine: kernels on it against a plain loop, by mode and check, and what starting costs.

    python benchmarks/engine.py [--json] [--rounds N]

Each process times kernels (launch and synchronise, best of several) and, between them, the textbook triple loop of `g++ -O2`;
ratios are of times from one process. Limits: GEMM 256^3 at most 1.2 times the loop in run mode and 1.8 times faster with two threads; each check at
most 6 times and all checks at most 10 times the loop; the module of a CUB sort loaded and decoded in 0.3 s; memory for each byte that is checked: 1 for
memcheck and initcheck, 8 for racecheck.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.table import Table

from cudanalyst.tools.engine.build import EngineInstallation, find_host_compiler, install_engine
from cudanalyst.tools.toolchain.discovery import Toolkit, find_toolkit

RUN_LIMIT, CHECK_LIMIT, CHECKS_LIMIT = 1.2, 6.0, 10.0
THREADS_LIMIT, START_LIMIT_S = 1.8, 0.3
SHADOW_LIMITS = {"memcheck": 1.0, "initcheck": 1.0, "racecheck": 8.0}
ALL_CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
MODES: dict[str, dict[str, str]] = {
    "run, 1 thread": {},
    "run, 2 threads": {"CUDANALYST_THREADS": "2"},
    **{check: {"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": check} for check in ALL_CHECKS},
    "all checks": {"CUDANALYST_MODE": "check"},
    "profile": {"CUDANALYST_MODE": "profile"},
}

LOOP = """void loop(float* c, const float* a, const float* b, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
"""
KERNELS = """#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
void loop(float* c, const float* a, const float* b, int n);
__global__ void gemm(float* c, const float* a, const float* b, int n) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
__global__ void reduce(float* out, const float* x, int n) {
  __shared__ float part[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < 8 ? part[threadIdx.x] : 0;
    for (int d = 4; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}
__global__ void histogram(unsigned* bins, const unsigned* x, int n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i] & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
__global__ void transpose(float* y, const float* x, int n) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * n + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) y[(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}
__global__ void stencil(float* y, const float* x, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
    y[i * n + j] = 0.25f * (x[i * n + j - 1] + x[i * n + j + 1] + x[(i - 1) * n + j] + x[(i + 1) * n + j]);
}
using Clock = std::chrono::steady_clock;
static double since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }
template <class F>
static double once(F launch) {
  const auto begun = Clock::now();
  launch();
  if (cudaDeviceSynchronize() != cudaSuccess) std::exit(2);
  return since(begun);
}
int main(int argc, char** argv) {
  const int rounds = std::atoi(argv[1]), n = 256, m = 1024;
  std::vector<float> a(m * m), b(m * m), c(n * n), d(n * n);
  for (int i = 0; i < m * m; ++i) a[i] = float(i * 7 % 13 - 6), b[i] = float(i * 5 % 11 - 5);
  float *da, *db, *dc;
  unsigned *bins, *values;
  cudaMalloc(&da, m * m * 4); cudaMalloc(&db, m * m * 4); cudaMalloc(&dc, n * n * 4);
  cudaMalloc(&bins, 1024); cudaMalloc(&values, m * m * 4);
  cudaMemcpy(da, a.data(), m * m * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), m * m * 4, cudaMemcpyHostToDevice);
  std::vector<unsigned> random(m * m);
  unsigned state = 1;
  for (auto& v : random) v = (state = state * 1664525u + 1013904223u) >> 16;
  cudaMemcpy(values, random.data(), m * m * 4, cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, 1024); cudaMemset(dc, 0, n * n * 4);
  double best[6] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
  for (int k = 0; k < rounds; ++k) {
    for (int again = 0; again < 3; ++again) {
      const auto begun = Clock::now();
      loop(d.data(), a.data(), b.data(), n);
      best[0] = std::min(best[0], since(begun));
      best[1] = std::min(best[1], once([&] { gemm<<<dim3(16, 16), dim3(16, 16)>>>(dc, da, db, n); }));
    }
    if (k == 0) {
      cudaMemcpy(c.data(), dc, n * n * 4, cudaMemcpyDeviceToHost);
      if (c != d) return 3;
    }
    best[2] = std::min(best[2], once([&] { reduce<<<64, 256>>>(dc, da, m * m); }));
    best[3] = std::min(best[3], once([&] { histogram<<<64, 256>>>(bins, values, m * m); }));
    best[4] = std::min(best[4], once([&] { transpose<<<dim3(32, 32), dim3(32, 8)>>>(db, da, m); }));
    best[5] = std::min(best[5], once([&] { stencil<<<dim3(32, 128), dim3(32, 8)>>>(db, da, m); }));
    cudaMemcpy(db, b.data(), m * m * 4, cudaMemcpyHostToDevice);
  }
  const char* names[] = {"loop", "gemm", "reduce", "histogram", "transpose", "stencil"};
  for (int k = 0; k < 6; ++k) std::printf("%s %.9f\\n", names[k], best[k]);
}
"""
SHADOW = """#include <cstdio>
#include <cstring>
__global__ void touch(float* y, const float* x) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  y[i] = x[i] + 1;
}
static long resident() {
  long pages = 0, ignored;
  FILE* f = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(f, "%ld %ld", &ignored, &pages) != 2) return 0;
  std::fclose(f);
  return pages * 4096;
}
int main() {
  const size_t checked = size_t(16) << 20, reserved = size_t(512) << 20;
  float *x, *y;
  cudaMalloc(&x, reserved); cudaMalloc(&y, reserved);
  cudaMemset(x, 0, checked); cudaMemset(y, 0, checked);
  touch<<<1, 256>>>(y, x);
  cudaDeviceSynchronize();
  touch<<<checked / 1024, 256>>>(y, x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  std::printf("%ld %zu\\n", resident(), 2 * checked);
}
"""
LARGE = """#include <cub/cub.cuh>
#include <chrono>
#include <cstdio>
int main() {
  using Clock = std::chrono::steady_clock;
  unsigned *x, *y;
  void* work = nullptr;
  size_t bytes = 0;
  double seconds[2];
  for (double& s : seconds) {
    const auto begun = Clock::now();
    cudaMalloc(&x, 4096); cudaMalloc(&y, 4096); cudaMemset(x, 0, 4096);
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, x, y, 1024);
    cudaMalloc(&work, bytes);
    cub::DeviceRadixSort::SortKeys(work, bytes, x, y, 1024);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    s = std::chrono::duration<double>(Clock::now() - begun).count();
  }
  std::printf("%.9f\\n", seconds[0] - seconds[1]);
}
"""


def compile_program(
    toolkit: Toolkit, engine: EngineInstallation, folder: Path, name: str, text: str, *more: str
) -> Path:
    """A program for the engine, as the toolchain compiles it."""
    source, output = folder / f"{name}.cu", folder / name
    source.write_text(text, encoding="utf-8")
    argv: list[str | Path] = [
        toolkit.nvcc, "-std=c++17", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo", "-compress-mode=none", "-cudart", "none",
        f"-L{engine.library_dir}", "-l:libcudart.so.13", "-Xlinker", f"-rpath={engine.library_dir}", source, *more, "-o", output,
    ]  # fmt: skip
    subprocess.run(argv, check=True)
    return output


def execute(argv: list[str], settings: dict[str, str]) -> str:
    """Standard output of a program with these settings of the engine."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CUDANALYST_")}
    return subprocess.run(argv, check=True, env=clean | settings, capture_output=True, text=True).stdout


def timed(program: Path) -> float:
    """Seconds of a whole process."""
    begun = time.perf_counter()
    execute([str(program)], {})
    return time.perf_counter() - begun


def shadow_bytes(program: Path) -> dict[str, float]:
    """Memory that each check takes for a byte that it checks, beyond a run without checks; most of what is allocated is never touched."""
    plain = int(execute([str(program)], {}).split()[0])
    found = {}
    for check in SHADOW_LIMITS:
        resident, checked = (int(word) for word in execute([str(program)], MODES[check]).split())
        found[check] = round((resident - plain) / checked, 2)  # pages of tables are not of the shadow
    return found


def measure(toolkit: Toolkit, engine: EngineInstallation, compiler: Path, rounds: int) -> dict[str, Any]:
    """All figures; times in seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "loop.cpp").write_text(LOOP, encoding="utf-8")
        loop = folder / "loop.o"
        subprocess.run([compiler, "-O2", "-c", folder / "loop.cpp", "-o", loop], check=True)
        kernels = compile_program(toolkit, engine, folder, "kernels", KERNELS, str(loop))
        report = folder / "report.jsonl"
        execute([str(kernels), "1"], {"CUDANALYST_REPORT": str(report)})
        records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        executed = {r["kernel"].split("(")[0]: r["warp_instructions"] for r in records if r["type"] == "launch"}
        load = os.getloadavg()[0]
        figures: dict[str, Any] = {"processors": os.cpu_count(), "load_before": load, "modes": {}}
        for mode, settings in MODES.items():
            lines = execute([str(kernels), str(rounds)], settings).split("\n")
            times = {key: float(value) for key, value in (line.split() for line in lines if line)}
            plain = times.pop("loop")
            figures["modes"][mode] = {
                "loop_s": plain,
                "gemm_ratio": times["gemm"] / plain,
                "kernels": {k: {"s": t, "warp_instructions_per_s": executed[k] / t} for k, t in times.items()},
            }
        figures["shadow_bytes_per_byte"] = shadow_bytes(compile_program(toolkit, engine, folder, "shadow", SHADOW))
        large = compile_program(toolkit, engine, folder, "large", LARGE)
        figures["first_launch_of_cub_sort_s"] = min(float(execute([str(large)], {})) for _ in range(3))
        figures["cub_process_s"] = min(timed(large) for _ in range(3))
        trivial = compile_program(toolkit, engine, folder, "trivial", "int main() { return cudaFree(nullptr); }\n")
        figures["process_s"] = min(timed(trivial) for _ in range(5))
        figures["load_after"] = os.getloadavg()[0]
    modes = figures["modes"]
    one, two = modes["run, 1 thread"], modes["run, 2 threads"]
    # Of the times themselves: the loop beside both runs on one core.
    figures["threads_speedup"] = one["kernels"]["gemm"]["s"] / two["kernels"]["gemm"]["s"]
    figures["met"] = {
        "run": one["gemm_ratio"] <= RUN_LIMIT,
        "two threads": figures["threads_speedup"] >= THREADS_LIMIT,
        "all checks": modes["all checks"]["gemm_ratio"] <= CHECKS_LIMIT,
        **{check: modes[check]["gemm_ratio"] <= CHECK_LIMIT for check in ALL_CHECKS},
        "start": figures["first_launch_of_cub_sort_s"] <= START_LIMIT_S,
        **{
            f"shadow of {check}": figures["shadow_bytes_per_byte"][check] <= limit
            for check, limit in SHADOW_LIMITS.items()
        },
    }
    return figures


def show(figures: dict[str, Any]) -> None:
    """A table for people."""
    table = Table(title="CPU engine: GEMM 256^3 against the plain loop; others in million warp instructions a second")
    for column in (
        "mode",
        "loop ms",
        "gemm ms",
        "ratio",
        "limit",
        "gemm",
        "reduce",
        "histogram",
        "transpose",
        "stencil",
    ):
        table.add_column(column, justify="left" if column == "mode" else "right")
    limits = {"run, 1 thread": RUN_LIMIT, **dict.fromkeys(ALL_CHECKS, CHECK_LIMIT), "all checks": CHECKS_LIMIT}
    for mode, row in figures["modes"].items():
        kernels = row["kernels"]
        rates = (f"{kernels[k]['warp_instructions_per_s'] / 1e6:.1f}" for k in kernels)
        table.add_row(
            mode, f"{row['loop_s'] * 1e3:.1f}", f"{kernels['gemm']['s'] * 1e3:.1f}", f"{row['gemm_ratio']:.2f}", str(limits.get(mode, "")), *rates
        )  # fmt: skip
    console = Console(width=120)
    console.print(table)
    console.print(
        f"first launches of a CUB device sort (load, decode): {figures['first_launch_of_cub_sort_s'] * 1e3:.0f} ms"
    )
    console.print(
        f"a whole process that sorts with CUB (module of a device sort): {figures['cub_process_s'] * 1e3:.0f} ms"
    )
    console.print(f"two threads: {figures['threads_speedup']:.2f} times faster than one (limit {THREADS_LIMIT})")
    shadow = ", ".join(
        f"{check} {bytes_:.2f} (limit {SHADOW_LIMITS[check]:.0f})"
        for check, bytes_ in figures["shadow_bytes_per_byte"].items()
    )
    console.print(f"memory per byte checked: {shadow}")
    missed = [name for name, met in figures["met"].items() if not met]
    console.print(f"limits missed: {', '.join(missed) or 'none'}")
    console.print(f"a process that does nothing: {figures['process_s'] * 1e3:.1f} ms")
    console.print(
        f"{figures['processors']} processors, load {figures['load_before']:.1f} before, {figures['load_after']:.1f} after"
    )


async def prepare() -> tuple[Toolkit, EngineInstallation, Path]:
    """The toolkit, the engine (built if need be), and g++."""
    toolkit = await find_toolkit()
    compiler = await find_host_compiler()
    engine = await install_engine(cuda_include=toolkit.include, progress=lambda line: print(line, file=sys.stderr))
    return toolkit, engine, compiler.path


def main() -> None:
    """Prints a table, or JSON; fails when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=7, help="of each time the best of so many counts")
    arguments = parser.parse_args()
    figures = measure(*anyio.run(prepare), arguments.rounds)
    if arguments.json:
        print(json.dumps(figures))
    else:
        show(figures)
    raise SystemExit(0 if all(figures["met"].values()) else 1)


if __name__ == "__main__":
    main()
