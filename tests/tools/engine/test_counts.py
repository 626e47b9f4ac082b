"""Counts of a profile against what Nsight Compute counted on an H200 for the same kernels (`benchmarks/recorded`)."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.tools.engine.conftest import Bench, Run

ROOT = Path(__file__).parents[3] / "benchmarks"
RECORD = ROOT / "recorded" / "h200-driver580-cuda13.0" / "variants.json.gz"
KERNELS = {
    "transpose": ("conflicts", "padded", "row_per_thread", "strided_read", "tile16", "vector4"),
    "triad": ("chunked", "halves", "strided", "vector4"),
    "stencil": ("columns", "shared", "small_blocks", "vector4"),
    "histogram": ("per_warp", "shared", "vector"),
}
SIZE = 1
"""The size whose counters were recorded."""
MAIN = """
static void run(const Problem& p, int (*launch)(void* const*, const long*, cudaStream_t)) {
  const long* n = p.sizes[SIZE].data();
  std::vector<void*> at;
  for (const Array& a : p.arrays(n)) {
    at.push_back(nullptr);
    cudaMalloc(&at.back(), a.bytes.size());
    cudaMemcpy(at.back(), a.bytes.data(), a.bytes.size(), cudaMemcpyHostToDevice);
  }
  launch(at.data(), n, 0);
  for (void* p : at) cudaFree(p);
}
"""
OPERATIONS = {"load": ("ld",), "store": ("st",), "atomic": ("red", "atom")}


def program() -> str:
    """All kernels in one program: each variant's `launch`, and each problem's `problem`, under a name of its own."""
    parts = [(ROOT / "variants" / name).read_text() for name in ("problem.hpp", "launch.h")]
    calls = []
    for problem, variants in KERNELS.items():
        folder = ROOT / "variants" / problem
        parts.append((folder / "problem.cpp").read_text().replace("problem()", f"problem_{problem}()"))
        for variant in variants:
            text = (folder / f"{variant}.cu").read_text()
            parts.append(text.replace("int launch(", f"int launch_{problem}_{variant}("))
            calls.append(f"  run(*problem_{problem}(), launch_{problem}_{variant});")
    source = "\n".join(parts) + MAIN.replace("SIZE", str(SIZE)) + "int main() {\n" + "\n".join(calls) + "\n}\n"
    return re.sub(r'#include "\.\./.*|#pragma once|constexpr int tile.*', "", source)


@pytest.fixture(scope="module")
def profiles(bench: Bench) -> dict[str, dict[str, Any]]:
    """Profile records by the kernel's name."""
    run: Run = bench.run(program(), env={"CUDANALYST_MODE": "profile"})
    assert run.process.exit_status == 0, run.process.stderr.text
    return {str(record["kernel"]).partition("(")[0]: record for record in run.of_type("profile")}


COUNTED = [f"{problem}_{variant}" for problem, variants in KERNELS.items() for variant in variants]


@pytest.fixture(scope="module")
def counters() -> dict[str, dict[str, Any]]:
    """What ncu counted, by the kernel's name."""
    with gzip.open(RECORD) as file:
        record = json.load(file)
    return {kernel["kernel"]: kernel for kernels in record["counters"].values() for kernel in kernels}


@pytest.mark.parametrize("kernel", COUNTED)
def test_requests_and_sectors_of_global_memory_are_those_of_the_hardware(
    kernel: str, profiles: dict[str, dict[str, Any]], counters: dict[str, dict[str, Any]]
) -> None:
    for kind, operations in OPERATIONS.items():
        for what in ("requests", "sectors"):
            expected = sum(counters[kernel][f"l1tex__t_{what}_pipe_lsu_mem_global_op_{one}.sum"] for one in operations)
            assert profiles[kernel][f"global_{kind}_{what}"] == expected, (kind, what)


@pytest.mark.parametrize("kernel", COUNTED)
def test_requests_and_conflicts_of_shared_memory_are_those_of_the_hardware(
    kernel: str, profiles: dict[str, dict[str, Any]], counters: dict[str, dict[str, Any]]
) -> None:
    mine, seen = profiles[kernel], counters[kernel]
    requests = sum(seen[f"smsp__inst_executed_op_shared_{one}.sum"] for one in ("ld", "st", "atom"))
    if kernel != "histogram_per_warp":  # ptxas merges the loads of its last loop
        assert mine["shared_requests"] == requests
    conflicts = mine["shared_wavefronts"] - mine["shared_wavefronts_ideal"]
    counted = seen["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
    # The counter also has wavefronts that waited for another user of the data banks, such as loads from global memory that arrive: never fewer than ours.
    assert conflicts <= counted <= conflicts + 0.2 * max(mine["shared_wavefronts"], 1)


def test_instructions_of_the_machine_code_are_near_those_of_ptx(
    profiles: dict[str, dict[str, Any]], counters: dict[str, dict[str, Any]]
) -> None:
    ratios = sorted(profiles[name]["warp_instructions"] / counters[name]["smsp__inst_executed.sum"] for name in COUNTED)
    assert 0.9 < ratios[len(ratios) // 2] < 1.2
    assert ratios[0] > 0.5
    assert ratios[-1] < 1.5


def test_a_profile_tells_local_traffic_lanes_before_predicates_and_lanes_that_share_an_atomic_s_address(
    bench: Bench,
) -> None:
    source = """
__global__ void local(int* y, int n) {
  volatile int kept[16];
  for (int k = 0; k < 16; ++k) kept[k] = k;
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += kept[(k + threadIdx.x % 2) % 16];
  y[threadIdx.x] = sum;
}
__global__ void meet(int* y) { atomicAdd(&y[threadIdx.x / 8], 1); }
int main() {
  int* y;
  cudaMalloc(&y, 4096);
  local<<<1, 32>>>(y, 16);
  meet<<<1, 32>>>(y);
  return cudaDeviceSynchronize();
}
"""
    found = {
        str(record["kernel"]).partition("(")[0]: record
        for record in bench.run(source, env={"CUDANALYST_MODE": "profile"}).of_type("profile")
    }
    local, meet = found["local"], found["meet"]
    # 16 words stored by all lanes, one line each; 16 read at two indices, which lie in two lines.
    assert local["local_requests"] == 32
    assert local["local_sectors"] == 16 * 4 + 16 * 8
    assert int(str(local["issued_lanes"])) >= int(str(local["thread_instructions"]))
    assert (meet["global_atomic_requests"], meet["global_atomic_sectors"]) == (1, 1)
    assert (meet["atomic_addresses"], meet["atomic_serial"]) == (4, 8)
