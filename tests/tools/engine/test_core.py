"""The engine's core through compiled programs: right results, and each check finds its fault on the right line and leaves correct code alone."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tools.engine.conftest import Bench

PROGRAMS = Path(__file__).parent / "programs"
EVERYDAY = (
    "reduce", "groups", "cub", "integers", "functions", "halves", "histogram", "tensor", "pipeline", "barriers", "calls", "stencil", "locked",
    "last_block", "grid_wide", "choose",
)  # fmt: skip

MAIN = """
#include <cstdio>
int main() {{
  float* x; float* y;
  cudaMalloc(&x, 128 * sizeof(float)); cudaMalloc(&y, 128 * sizeof(float));
  {setup}
  kernel<<<{launch}>>>(x, y);
  std::printf("%d\\n", (int)cudaDeviceSynchronize());
}}
"""
CLEAR = "cudaMemset(x, 0, 512); cudaMemset(y, 0, 512);"


def program(kernel: str, launch: str = "1, 128", setup: str = CLEAR) -> str:
    """A program around `kernel`, a function of two arrays of 128 floats."""
    return kernel + MAIN.format(launch=launch, setup=setup)


def body(*lines: str) -> str:
    """A kernel whose statements stand on lines of their own, the first on line 2."""
    return "__global__ void kernel(float* x, float* y) { const int t = threadIdx.x;\n" + "\n".join(lines) + "\n}\n"


@dataclass(frozen=True)
class Fault:
    """A kernel with one fault, and the same without."""

    check: str
    kind: str
    line: int
    faulty: str
    correct: str
    launch: str = "1, 128"
    setup: str = CLEAR


SHARED = "__shared__ float s[128];"
WIDE = "__shared__ float s[160]; s[t] = 0; s[t + 32] = 0; __syncthreads();"
FAULTS = {
    "a write past the end of an array": Fault(
        "memcheck", "invalid_global_write", 2, body("y[t + 1] = 1;"), body("y[t] = 1;")
    ),
    "a read before the start of an array": Fault(
        "memcheck", "invalid_global_read", 2, body("y[t] = x[t - 1];"), body("y[t] = t ? x[t - 1] : 0;")
    ),
    "a shared index that is too large": Fault(
        "memcheck",
        "invalid_shared_write",
        3,
        body(SHARED, "s[t + 1] = t;", "__syncthreads(); y[t] = s[t];"),
        body(SHARED, "s[t] = t;", "__syncthreads(); y[t] = s[t];"),
    ),
    "one of several offsets from one shared address that is too large": Fault(
        "memcheck",
        "invalid_shared_read",
        4,
        body(WIDE, "float v = s[t] + s[t + 32];", "y[t] = v + s[t + 33];"),
        body(WIDE, "float v = s[t] + s[t + 32];", "y[t] = v + s[t + 16];"),
    ),
    "one of several offsets from one shared address that nothing wrote": Fault(
        "initcheck",
        "uninitialized_shared_read",
        4,
        body("__shared__ float u[160];", "u[t] = t; __syncthreads(); float v = u[t];", "y[t] = v + u[t + 32];"),
        body(
            "__shared__ float u[160];",
            "u[t] = t; if (t < 32) u[t + 128] = t; __syncthreads(); float v = u[t];",
            "y[t] = v + u[t + 32];",
        ),
    ),
    "one of several offsets from one shared address that another warp writes": Fault(
        "racecheck",
        "shared_race_raw",
        4,
        body(WIDE, "s[t] = t;", "y[t] = s[t] + s[t + 32];"),
        body(WIDE, "s[t] = t; __syncthreads();", "y[t] = s[t] + s[t + 32];"),
    ),
    "a misaligned vector access": Fault(
        "memcheck",
        "misaligned_global_read",
        2,
        body("float2 v = ((float2*)(x + 1))[t / 4]; y[t] = v.x + v.y;"),
        body("float2 v = ((float2*)x)[t / 4]; y[t] = v.x + v.y;"),
    ),
    "an atomic out of range": Fault(
        "memcheck", "invalid_global_atomic", 2, body("atomicAdd(y + 128 + t, 1.f);"), body("atomicAdd(y + t, 1.f);")
    ),
    "a freed array": Fault(
        "memcheck", "use_after_free_read", 2, body("y[t] = x[t];"), body("y[t] = x[t];"), setup=CLEAR + "FREE"
    ),
    "a missing barrier between write and read": Fault(
        "racecheck",
        "shared_race_raw",
        5,
        body(SHARED, "s[t] = t;", "", "y[t] = s[127 - t];"),
        body(SHARED, "s[t] = t;", "__syncthreads();", "y[t] = s[127 - t];"),
    ),
    "a missing barrier between read and write": Fault(
        "racecheck",
        "shared_race_war",
        5,
        body(SHARED, "s[t] = t; __syncthreads();", "float v = s[(t + 33) % 128];", "s[t] = v + 1;", "y[t] = v;"),
        body(
            SHARED,
            "s[t] = t; __syncthreads();",
            "float v = s[(t + 33) % 128];",
            "__syncthreads(); s[t] = v + 1;",
            "y[t] = v;",
        ),
    ),
    "two writers of one shared word": Fault(
        "racecheck",
        "shared_race_waw",
        3,
        body(SHARED, "s[t / 2] = t;", "__syncthreads(); y[t] = s[t / 2];"),
        body(SHARED, "s[t] = t;", "__syncthreads(); y[t] = s[t / 2];"),
    ),
    "lanes of a warp without __syncwarp": Fault(
        "racecheck",
        "shared_race_raw",
        5,
        body(SHARED, "s[t] = t;", "", "y[t] = s[t ^ 1];"),
        body(SHARED, "s[t] = t;", "__syncwarp();", "y[t] = s[t ^ 1];"),
    ),
    "blocks that write the same global word": Fault(
        "racecheck",
        "global_race_waw",
        2,
        body("y[t] = blockIdx.x;"),
        body("atomicExch(y + t, (float)blockIdx.x);"),
        launch="2, 128",
    ),
    "a sum without atomics": Fault(
        "racecheck", "global_race_raw", 2, body("y[0] += x[t];"), body("atomicAdd(y, x[t]);"), launch="2, 1"
    ),
    "global memory that nobody wrote": Fault(
        "initcheck", "uninitialized_global_read", 2, body("y[t] = x[t];"), body("y[t] = x[t];"), setup="INIT"
    ),
    "shared memory that nobody wrote": Fault(
        "initcheck",
        "uninitialized_shared_read",
        4,
        body(SHARED, "if (t < 64) s[t] = t;", "__syncthreads(); y[t] = s[t];"),
        body(SHARED, "s[t] = t;", "__syncthreads(); y[t] = s[t];"),
    ),
    "a barrier in half a warp": Fault(
        "synccheck",
        "divergent_barrier",
        3,
        body("if (t < 16) {", "__syncthreads();", "x[t] = 1; } else { x[t] = 2; }"),
        body("if (t < 200) {", "__syncthreads();", "x[t] = 1; } else { x[t] = 2; }"),
    ),
    "a barrier that whole warps skip": Fault(
        "synccheck",
        "divergent_barrier",
        3,
        body("if (t < 64) {", "__syncthreads();", "}", "y[t] = t;"),
        body("if (t < 128) {", "__syncthreads();", "}", "y[t] = t;"),
    ),
    "a shuffle whose mask names exited lanes": Fault(
        "synccheck",
        "invalid_warp_mask",
        3,
        body("if (t % 32 >= 16) return;", "y[t] = __shfl_xor_sync(0xffffffffu, x[t], 1);"),
        body("if (t % 32 >= 16) return;", "y[t] = __shfl_xor_sync(0xffffu, x[t], 1);"),
    ),
}


def catalogue() -> tuple[str, dict[str, int]]:
    """One program with every faulty kernel and every correct twin, chosen by number, and the line before each faulty kernel."""
    source, before, cases = "#include <cstdlib>\n", {}, []
    for number, (name, fault) in enumerate(FAULTS.items()):
        before[name] = source.count("\n")
        source += fault.faulty.replace(" kernel(", f" faulty{number}(") + fault.correct.replace(
            " kernel(", f" correct{number}("
        )
        bad = fault.setup.replace("FREE", "cudaFree(x);").replace("INIT", "cudaMemset(y, 0, 512);")
        good = fault.setup.replace("FREE", "").replace("INIT", CLEAR)
        cases.append(f"case {2 * number}: {bad} faulty{number}<<<{fault.launch}>>>(x, y); break;")
        cases.append(f"case {2 * number + 1}: {good} correct{number}<<<{fault.launch}>>>(x, y); break;")
    main = "int main(int, char** argv) { float *x, *y; cudaMalloc(&x, 512); cudaMalloc(&y, 512); switch (std::atoi(argv[1])) {\n"
    return source + main + "\n".join(cases) + "\n} cudaDeviceSynchronize(); }\n", before


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_line_and_its_correct_twin_is_clean(bench: Bench, name: str) -> None:
    fault, number = FAULTS[name], list(FAULTS).index(name)
    source, before = catalogue()
    binary = bench.compile(source)
    bad = bench.start(binary, str(2 * number), env={"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": fault.check})
    assert (fault.kind, fault.line + before[name]) in [
        (found["kind"], found["line"]) for found in bad.of_type("finding")
    ]
    good = bench.start(binary, str(2 * number + 1), env={"CUDANALYST_MODE": "check"})
    assert [(found["kind"], found["line"]) for found in good.of_type("finding")] == []


def test_everyday_programs_compute_what_the_host_computes(bench: Bench) -> None:
    run = bench.run((PROGRAMS / "everyday.cu").read_text())
    assert run.output.splitlines() == [f"ok {name}" for name in EVERYDAY], run.process.stderr.text


def test_everyday_programs_are_clean_in_every_check(bench: Bench) -> None:
    run = bench.run((PROGRAMS / "everyday.cu").read_text(), env={"CUDANALYST_MODE": "check"})
    assert [(finding["kind"], finding["file"], finding["line"]) for finding in run.of_type("finding")] == []
    assert run.output.splitlines() == [f"ok {name}" for name in EVERYDAY]


def test_an_unknown_instruction_is_refused_before_the_kernel_runs(bench: Bench) -> None:
    kernel = body("y[t] = 1;", 'asm volatile("setmaxnreg.inc.sync.aligned.u32 40;");')
    run = bench.run(program(kernel), "-gencode=arch=compute_90a,code=[sm_90a,compute_90a]")
    assert [(u["what"], u["line"]) for u in run.of_type("unsupported")] == [("instruction", 3)]
    assert run.of_type("launch") == []


def test_an_endless_loop_is_stopped_and_located(bench: Bench) -> None:
    kernel = body("volatile float* v = x;", "while (v[0] == 0) {}", "y[t] = 1;")
    run = bench.run(program(kernel), env={"CUDANALYST_MAX_WARP_INSTRUCTIONS": "100000"})
    (watchdog,) = run.of_type("watchdog")
    assert {warp["line"] for warp in watchdog["warps"]} == {3}
    assert run.output == "702\n"


def test_a_deadlock_is_reported_and_does_not_hang(bench: Bench) -> None:
    kernel = body("if (t < 32) {", 'asm volatile("bar.sync 1, 64;");', "} y[t] = 1;")
    run = bench.run(program(kernel), env={"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": "synccheck"})
    assert [(finding["kind"], finding["line"]) for finding in run.of_type("finding")] == [("barrier_deadlock", 3)]


def test_an_access_out_of_range_fails_in_run_mode_too(bench: Bench) -> None:
    run = bench.run(program(body("y[t + 1000000] = 1;")))
    assert run.output == "700\n"
    (error,) = run.of_type("error")
    assert (error["name"], error["line"]) == ("cudaErrorIllegalAddress", 2)


def test_a_profile_counts_sectors_and_bank_conflicts_per_line(bench: Bench) -> None:
    kernel = body("__shared__ float s[128 * 32];", "s[t * 32] = x[t];", "__syncthreads(); y[t] = s[(127 - t) * 32];")
    run = bench.run(program(kernel), env={"CUDANALYST_MODE": "profile"})
    (profile,) = run.of_type("profile")
    assert (profile["global_requests"], profile["global_sectors"]) == (8, 32)
    assert (profile["shared_requests"], profile["shared_wavefronts"], profile["shared_wavefronts_ideal"]) == (8, 256, 8)
    (detail,) = run.of_type("profile_instructions")
    (function,) = detail["functions"]
    rows = [dict(zip(detail["columns"], row, strict=True)) for row in function["rows"]]
    assert sum(row["executed"] for row in rows) == profile["warp_instructions"]
    assert sum(row["sectors"] for row in rows) == profile["global_sectors"]
    assert detail["longest_warps"] * detail["warps"] >= detail["longest_block"]
    lines = {line["line"]: line for line in profile["lines"]}
    assert lines[3]["shared_wavefronts"] == lines[4]["shared_wavefronts"] == 128


def test_device_printf_and_assert_reach_the_program(bench: Bench) -> None:
    source = "#include <cassert>\n#include <cstdio>\n" + program(
        body('if (t == 3) printf("t=%d x=%.1f %s\\n", t, 1.5, "end");', "assert(t < 100);")
    )
    run = bench.run(source)
    assert run.output == "t=3 x=1.5 end\n710\n"
    assert "Assertion `t < 100` failed" in run.process.stderr.text


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_seed_changes_the_order_of_warps_and_not_the_results(bench: Bench, seed: str) -> None:
    run = bench.run((PROGRAMS / "everyday.cu").read_text(), env={"CUDANALYST_SEED": seed})
    assert run.output.splitlines() == [f"ok {name}" for name in EVERYDAY]
