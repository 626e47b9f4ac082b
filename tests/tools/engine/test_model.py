"""Modelled times of kernels whose order is plain: machine code laid under the engine's counts."""

import asyncio
from collections.abc import Callable

import pytest

from cudanalyst.tools.devices import device_ids, load_device
from cudanalyst.tools.model.counted import StatementCounts, parse_statements
from cudanalyst.tools.model.elf import ptx_lines, sections
from cudanalyst.tools.model.flow import solve
from cudanalyst.tools.model.kernel import KernelCode, kernels_of, retargeted_ptx
from cudanalyst.tools.model.machine import parse
from cudanalyst.tools.model.predict import Prediction, modelled_launch
from cudanalyst.tools.model.statements import statements
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.disassembly import architecture, cubins, find_nvdisasm
from tests.tools.engine.conftest import Bench

SOURCE = r"""
#include <cstdio>
#define K extern "C" __global__ void
K coalesced(float* x, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; x[n * 2048 + t] = x[t] + 1; }
K strided(float* x, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; x[n * 2048 + t % 64 * 1024 + t / 64] = x[t % 64 * 1024 + t / 64] + 1; }
K free_of_conflicts(float* x, int n) {
  __shared__ float s[1024]; int t = threadIdx.x; float a = 0; s[t] = t; __syncthreads();
  for (int k = 0; k < n; ++k) { a += s[(t + k * 32) % 1024]; } x[t] = a;
}
K conflicts(float* x, int n) {
  __shared__ float s[1024]; int t = threadIdx.x; float a = 0; s[t] = t; __syncthreads();
  for (int k = 0; k < n; ++k) { a += s[(t * 32 + k) % 1024]; } x[t] = a;
}
K chained(float* x, int n) { int at = threadIdx.x; for (int k = 0; k < n; ++k) at = (int)x[at] + threadIdx.x; x[65536 + threadIdx.x] = at; }
K apart(float* x, int n) {
  float a = 0;
#pragma unroll 8
  for (int k = 0; k < n; ++k) a += x[threadIdx.x + 32 * k];
  x[65536 + threadIdx.x] = a;
}
K singles(float* x, int n) { float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3; for (int k = 0; k < n; ++k) { a = a * b + 1; b = b * c + 1; c = c * d + 1; d = d * a + 1; } x[threadIdx.x] = a + b + c + d; }
K doubles(float* x, int n) { double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3; for (int k = 0; k < n; ++k) { a = a * b + 1; b = b * c + 1; c = c * d + 1; d = d * a + 1; } x[threadIdx.x] = a + b + c + d; }
K spread(float* x, int n) { atomicAdd(x + blockIdx.x * blockDim.x + threadIdx.x, 1.0f); }
K one_place(float* x, int n) { atomicAdd(x, 1.0f); }
K tiny(float* x, int n) { if (threadIdx.x == 0) x[0] = 1; }
K never(float* x, int n) { for (int k = n; k < 0; ++k) x[k] = 1; }
int main() {
  float* x; cudaMalloc(&x, 1 << 22); cudaMemset(x, 0, 1 << 22);
  coalesced<<<256, 256>>>(x, 64); strided<<<256, 256>>>(x, 64);
  free_of_conflicts<<<132, 1024>>>(x, 64); conflicts<<<132, 1024>>>(x, 64);
  chained<<<1, 32>>>(x, 64); apart<<<1, 32>>>(x, 64);
  cudaMemset(x, 0, 1 << 22);
  singles<<<264, 256>>>(x, 64); doubles<<<264, 256>>>(x, 64);
  spread<<<256, 256>>>(x, 0); one_place<<<256, 256>>>(x, 0); tiny<<<1, 32>>>(x, 0); never<<<1, 32>>>(x, 0);
  std::printf("%d\n", cudaDeviceSynchronize());
}
"""
SLOWER = [
    ("strided", "coalesced"), ("conflicts", "free_of_conflicts"), ("chained", "apart"), ("doubles", "singles"), ("one_place", "spread"), ("coalesced", "tiny"),
]  # fmt: skip
Modelled = Callable[[str, str], Prediction]


@pytest.fixture(scope="module")
def counted(bench: Bench) -> dict[str, StatementCounts]:
    run = bench.run(SOURCE, env={"CUDANALYST_MODE": "profile"})
    assert run.output == "0\n"
    return {counts.symbol: counts for counts in parse_statements(run.report)}


@pytest.fixture(scope="module")
def image(bench: Bench) -> bytes:
    (image,) = (one for one in cubins(bench.compile(SOURCE).read_bytes()) if b"one_place" in one)
    return image


def listing(bench: Bench, image: bytes) -> str:
    nvdisasm = find_nvdisasm({}, (bench.toolkit.root,))
    assert nvdisasm is not None
    path = bench.folder / "model.cubin"
    path.write_bytes(image)
    result = asyncio.run(run_process([nvdisasm, "-gp", "-hex", "-c", path], timeout_s=30, capture_bytes=8 << 20))
    return result.stdout.text


@pytest.fixture(scope="module")
def codes(bench: Bench, image: bytes) -> dict[str, KernelCode]:
    return kernels_of(image, listing(bench, image))


@pytest.fixture(scope="module")
def on_t4(bench: Bench, image: bytes) -> dict[str, KernelCode]:
    ptx = retargeted_ptx(image, "sm_75")
    assert ptx is not None
    (bench.folder / "t4.ptx").write_text(ptx)
    assembled = bench.folder / "t4.cubin"
    argv = [bench.toolkit.nvcc.parent / "ptxas", "-arch=sm_75", "-lineinfo", bench.folder / "t4.ptx", "-o", assembled]
    assert asyncio.run(run_process(argv, timeout_s=60)).exit_status == 0
    assert (architecture(image), architecture(assembled.read_bytes())) == ("sm_90", "sm_75")
    return kernels_of(assembled.read_bytes(), listing(bench, assembled.read_bytes()))


@pytest.fixture(scope="module")
def modelled(
    counted: dict[str, StatementCounts], codes: dict[str, KernelCode], on_t4: dict[str, KernelCode]
) -> Modelled:
    def of(kernel: str, device: str) -> Prediction:
        found = modelled_launch(counted[kernel], (on_t4 if device == "t4" else codes)[kernel], load_device(device))
        assert found is not None
        return found

    return of


@pytest.mark.parametrize(("slow", "fast"), SLOWER)
def test_the_slower_of_two_kernels_is_modelled_slower(modelled: Modelled, slow: str, fast: str) -> None:
    assert modelled(slow, "h200").us > 1.12 * modelled(fast, "h200").us


def test_a_time_says_what_bounds_it(modelled: Modelled) -> None:
    assert modelled("conflicts", "h200").bound == "shared_memory"
    assert modelled("one_place", "h200").bound == "atomic"
    assert modelled("chained", "h200").bound == "latency"
    assert modelled("tiny", "h200").bound == "launch"


def test_every_device_has_a_time(modelled: Modelled) -> None:
    assert all(0 < modelled("coalesced", device).us < 1e3 for device in device_ids() if device in {"h200", "t4"})


def test_double_precision_costs_more_on_a_t4(modelled: Modelled) -> None:
    def ratio(device: str) -> float:
        return modelled("doubles", device).parts["sm"] / modelled("singles", device).parts["sm"]

    assert ratio("t4") > 3 * ratio("h200")


def test_a_loop_that_never_runs_costs_nothing(modelled: Modelled) -> None:
    assert modelled("never", "h200").parts["sm"] < 1


def test_frequencies_of_blocks_explain_the_counts(
    counted: dict[str, StatementCounts], codes: dict[str, KernelCode]
) -> None:
    for symbol, counts in counted.items():
        flow = solve(codes[symbol].code, codes[symbol].lines, counts.by_statement(), counts.warps)
        assert flow.deviation < 0.02, symbol
        assert flow.blocks[0] == counts.warps


def test_each_statement_is_numbered_as_the_engine_numbers_it(counted: dict[str, StatementCounts], image: bytes) -> None:
    found = {(one.function, one.number): one.opcode for one in statements(ptx_lines(sections(image))).values()}
    for symbol, counts in counted.items():
        for (function, number), row in counts.by_statement().items():
            opcode = found.get((function, number), "")
            if row["sectors"]:
                assert opcode.startswith(("ld.global", "st.global", "atom.global", "red.global")), (symbol, opcode)


def test_what_the_compiler_encoded_is_read() -> None:
    text = """
\t.section\t.text.k,"ax",@progbits
.text.k:
\t//## File ".nv_debug_ptx_txt", line 17
        /*0000*/                   LDG.E R7, desc[UR6][R6.64] ;   /* 0x0000000606077981 */
                                                                  /* 0x000ea2000c1e1900 */
.L_x_2:
        /*0010*/                   FFMA R2, R7, R4, R2 ;          /* 0x0000000407027223 */
                                                                  /* 0x004fd80000000002 */
        /*0020*/              @!P0 BRA `(.L_x_2) ;                /* 0xfffffffc00e48947 */
                                                                  /* 0x000fea000383ffff */
        /*0030*/                   EXIT ;                         /* 0x000000000000794d */
                                                                  /* 0x000fea0003800000 */
"""
    code = parse(text)["k"]
    load, multiply, branch = code.blocks[0].instructions[0], *code.blocks[1].instructions
    assert (load.releases, load.waits, load.line, load.stall) == (2, 0, 17, 1)
    assert (multiply.releases, multiply.waits, multiply.stall) == (7, 0b100, 12)
    assert (branch.guarded, code.blocks[1].successors) == (True, [1, 2])
