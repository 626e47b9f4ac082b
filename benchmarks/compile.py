"""Compile times: `CpuToolchain.build` against bare nvcc with the same flags, interleaved in one run, and the cache.

Targets: cold at most 1.15 times bare nvcc, cached at most 10 ms.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.nvcc import NvccPaths, build_argv

KERNEL = """#include <cuda_runtime.h>
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
extern "C" int solve(float* c, const float* a, const float* b, int n, cudaStream_t stream) {
  gemm<<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(c, a, b, n);
  return 0;
}
"""


def bare(paths: NvccPaths, source: Source) -> float:
    """Seconds of nvcc alone, without keeping intermediate files."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "candidate.cu").write_text(source.text)
        argv = build_argv(paths, source.options, "candidate", Path("candidate.cu"), Path("candidate.so"))
        keep = argv.index("-keep")
        argv[keep : keep + 3] = []
        started = time.perf_counter()
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
        return time.perf_counter() - started


async def measure(rounds: int, *, allow_unsandboxed: bool) -> dict[str, object]:
    """Interleaves both, and asks the cache."""
    with tempfile.TemporaryDirectory() as cache:
        # The engine is built once for the machine and linked from there.
        toolchain = CpuToolchain(
            progress=lambda line: print(line, file=sys.stderr), allow_unsandboxed=allow_unsandboxed
        )
        await toolchain.prepare()
        paths = (await toolchain._ready()).builder._compiler.paths
        colds, bares, hits = [], [], []
        for index in range(rounds):
            source = Source(text=f"{KERNEL}// {time.time_ns()} {cache}\n", problem="gemm")
            order = (0, 1) if index % 2 == 0 else (1, 0)
            for which in order:
                if which == 0:
                    bares.append(bare(paths, source))
                else:
                    started = time.perf_counter()
                    build = await toolchain.build(source)
                    colds.append(time.perf_counter() - started)
                    if build.status != "compiled" or build.cached:
                        raise SystemExit(f"the build failed: {build.diagnostics}")
            for _ in range(20):
                started = time.perf_counter()
                await toolchain.build(source)
                hits.append(time.perf_counter() - started)
    return {
        "rounds": rounds,
        "sandbox": build.measured_on.sandbox,
        "bare_s": round(statistics.median(bares), 4),
        "cold_s": round(statistics.median(colds), 4),
        "cold_ratio": round(statistics.median(c / b for c, b in zip(colds, bares, strict=True)), 3),
        "cached_ms": round(statistics.median(hits) * 1e3, 3),
        "cached_max_ms": round(max(hits) * 1e3, 3),
    }


def main() -> None:
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--allow-unsandboxed", action="store_true")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.rounds, allow_unsandboxed=arguments.allow_unsandboxed))
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"bare nvcc            {figures['bare_s']:>8} s   (median of {figures['rounds']})")
    print(
        f"cold build           {figures['cold_s']:>8} s   {figures['cold_ratio']} x bare (target 1.15), sandbox {figures['sandbox']}"
    )
    print(f"cached build         {figures['cached_ms']:>8} ms  worst {figures['cached_max_ms']} ms (target 10)")


if __name__ == "__main__":
    main()
