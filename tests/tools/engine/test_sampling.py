"""Profiles of launches that are too large to run whole: a sample of the blocks stands for all where blocks are independent, and nowhere else."""

from typing import Any

import pytest

from tests.tools.engine.conftest import Bench

SOURCE = """
#include <cstdio>
#include <cstring>
#include <cooperative_groups.h>
__global__ void even(float* y, const float* x) {
  __shared__ float s[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[127 - threadIdx.x] + x[(i * 2) % (128 * gridDim.x)];
}
__global__ void triangle(float* y) {  // the work of a block grows along the grid
  float sum = 0;
  for (unsigned k = 0; k < blockIdx.x; ++k) sum += y[k % 128] * k;
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}
__global__ void count(int* n, const float* x) { if (x[blockIdx.x * 128 + threadIdx.x] >= 0) atomicAdd(n, 1); }
__global__ void ticket(float* y, int* n) {
  __shared__ int mine;
  if (!threadIdx.x) mine = atomicAdd(n, 1);
  __syncthreads();
  y[mine * 128 + threadIdx.x] = mine;
}
__global__ void flag(volatile int* n, float* y) { y[blockIdx.x * 128 + threadIdx.x] = n[0]; }
__global__ void together(float* y) {
  y[blockIdx.x * 128 + threadIdx.x] = 1;
  cooperative_groups::this_grid().sync();
  y[blockIdx.x * 128 + threadIdx.x] += y[threadIdx.x];
}
int main(int, char** argv) {
  const int blocks = 600;
  float *x, *y; int* n;
  cudaMalloc(&x, blocks * 512); cudaMalloc(&y, blocks * 512); cudaMalloc(&n, 4);
  cudaMemset(x, 0, blocks * 512); cudaMemset(y, 0, blocks * 512); cudaMemset(n, 0, 4);
  const char* which = argv[1];
  if (!std::strcmp(which, "even")) even<<<blocks, 128>>>(y, x);
  if (!std::strcmp(which, "triangle")) triangle<<<blocks, 128>>>(y);
  if (!std::strcmp(which, "count")) count<<<blocks, 128>>>(n, x);
  if (!std::strcmp(which, "ticket")) ticket<<<blocks, 128>>>(y, n);
  if (!std::strcmp(which, "flag")) flag<<<blocks, 128>>>(n, y);
  if (!std::strcmp(which, "together")) {
    void* a[] = {&y};
    cudaLaunchCooperativeKernel((const void*)together, dim3(blocks), dim3(128), a, 0, nullptr);
  }
  if (!std::strcmp(which, "chain")) { even<<<blocks, 128>>>(y, x); count<<<blocks, 128>>>(n, y); }
  std::printf("%d\\n", (int)cudaDeviceSynchronize());
}
"""
COUNTS = (
    "warp_instructions",
    "thread_instructions",
    "global_requests",
    "global_sectors",
    "shared_wavefronts",
    "barriers",
)


def profiles(bench: Bench, which: str, budget: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The profiles of a run, and the refusals to sample."""
    program = bench.compile(SOURCE)
    run = bench.start(program, which, env={"CUDANALYST_MODE": "profile", "CUDANALYST_SAMPLE": str(budget)})
    return run.of_type("profile"), run.of_type("sampling_refused")


@pytest.mark.parametrize("which", ["even", "count"])
def test_blocks_that_are_alike_are_counted_exactly_from_a_few(bench, which):
    [whole], _ = profiles(bench, which, 0)
    [sample], refused = profiles(bench, which, 1000)
    assert not refused
    assert "sampled" not in whole
    assert sample["sampled"]["of"] == 600
    assert sample["sampled"]["blocks"] == 33
    assert {name: sample[name] for name in COUNTS} == {name: whole[name] for name in COUNTS}
    assert sample["sampled"]["warp_instructions_standard_error"] == 0


def test_work_that_grows_along_the_grid_is_estimated_within_its_standard_error(bench):
    [whole], _ = profiles(bench, "triangle", 0)
    [sample], _ = profiles(bench, "triangle", 60000)
    error = sample["sampled"]["warp_instructions_standard_error"]
    assert 0 < error < 0.1 * whole["warp_instructions"]
    assert abs(sample["warp_instructions"] - whole["warp_instructions"]) <= 3 * error


def test_a_launch_within_the_budget_is_run_whole(bench):
    [record], _ = profiles(bench, "even", 10_000_000)
    assert "sampled" not in record


def test_bytes_that_all_blocks_would_touch_are_told_from_the_stretch_that_some_did(bench):
    [whole], _ = profiles(bench, "even", 0)
    [sample], _ = profiles(bench, "even", 1000)
    for name in ("dram_bytes_unique_read", "dram_bytes_unique_written"):
        assert sample[name] == pytest.approx(whole[name], rel=0.06)


@pytest.mark.parametrize(
    ("which", "reason"),
    [("ticket", "what an atomic returns"), ("flag", "what other blocks may write"), ("together", "synchronise")],
)
def test_blocks_that_depend_on_each_other_are_not_sampled_and_the_report_says_why(bench, which, reason):
    _, [refused] = profiles(bench, which, 1000)
    assert reason in refused["reason"]


def test_a_kernel_that_reads_what_a_sampled_launch_wrote_in_part_says_so(bench):
    first, second = sorted(profiles(bench, "chain", 1000)[0], key=lambda record: record["kernel"], reverse=True)
    assert "after_sampled" not in first
    assert second["after_sampled"] is True
