"""compute-sanitizer on a real GPU: faulty candidates of our own through `debug`, and faulty programs through the tool itself.

Prints how long each took. With `CUDANALYST_RECORD` set, results and the tool's own files are written to `sanitizer/` there.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.cases import debug_sizes
from cudanalyst.tools.checks import report_of
from cudanalyst.tools.debug import ALL_CHECKS, DebugRequest, DebugResult, debug
from cudanalyst.tools.findings import Check
from cudanalyst.tools.process import ProcessResult, run_process
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.foreign import descends
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.toolchain.sanitizer import running
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer, find_sanitizer
from cudanalyst.tools.toolchain.sanitizer.running import Driven, Target, sanitize_together
from tests.gpu.leases import holding

pytestmark = [pytest.mark.gpu, pytest.mark.anyio]
SECRET = b"a secret of the GPU tests"
DEBUG_LIMIT_S = 8.0
RECORD = os.environ.get("CUDANALYST_RECORD")

ADD = """#include <cuda_runtime.h>
__device__ volatile int never;
__global__ void add(const float* a, const float* b, float* out, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {body}
}}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {{
  add<<<(n + 127) / 128, 128, {shared}, stream>>>(a, b, out, n);
  return 0;
}}
"""
LINE = 5  # of the body


def candidate(body: str, shared: str = "0") -> Source:
    return Source(text=ADD.format(body=body, shared=shared), problem="vector_add")


RIGHT = "if (i < n) out[i] = a[i] + b[i];"
# name: candidate, the check that must see it, kinds that it must find at LINE
FAULTY: dict[str, tuple[Source, Check, set[str]]] = {
    "before_the_start": (candidate("if (i < n) out[i - 1] = a[i] + b[i];"), "memcheck", {"invalid_global_write"}),
    "uninitialised": (candidate("if (i < n) out[i] = out[i] + a[i] + b[i];"), "initcheck", {"uninitialized_global_read"}),
    "shared_race": (
        candidate("__shared__ float s[128]; s[threadIdx.x] = i < n ? a[i] : 0; float v = s[127 - threadIdx.x]; if (i < n) out[i] = v + b[i];"),
        "racecheck", {"shared_race_raw"},
    ),
    "shared_overrun": (
        candidate("extern __shared__ float s[]; s[threadIdx.x + 1] = i < n ? a[i] : 0; __syncthreads(); if (i < n) out[i] = s[threadIdx.x + 1] + b[i];", "512"),
        "memcheck", {"invalid_shared_write"},
    ),
    "divergent_barrier": (
        candidate("if (threadIdx.x < 16) __syncthreads(); if (i < n) out[i] = a[i] + b[i];"), "synccheck", {"divergent_barrier"},
    ),
}  # fmt: skip
MISALIGNED = candidate("if (i < 4) { float2 v = *(const float2*)(a + 2 * i + 1); out[i] = v.x + v.y; }")
OVERRUN_AND_RACE = candidate("if (i < n) { out[0] = a[i]; out[i + 1] = a[i] + b[i]; }")
ENDLESS = candidate("while (never == 0) { } if (i < n) out[i] = a[i] + b[i];")
TOO_MUCH_SHARED = candidate(RIGHT, "400 << 10")
CLEAN = candidate(RIGHT)
# Two errors in each of 262 144 steps.
FLOOD = Source(
    problem="matmul",
    text="""#include <cuda_runtime.h>
__global__ void flood(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.x * 16 + threadIdx.x, col = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[m * k + row * k + i] * b[i * n + col] + *(volatile float*)(c + row * n + col);
  c[row * n + col] = sum;
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  flood<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
  return 0;
}
""",
)
TIMED = ("vector_add", "matmul", "softmax")
"""Problems whose baselines are debugged at their test sizes."""


def say(text: str) -> None:
    """What it measures is read from the run's output."""
    print(text)  # noqa: T201


def keep(name: str, text: str) -> None:
    if RECORD:
        path = Path(RECORD) / "sanitizer" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
async def toolchain(anyio_backend) -> GpuToolchain:
    """All candidates are built at once: compiling is no part of what is measured here."""
    made, catalogue = GpuToolchain(), Catalogue()
    sources = [source for source, _, _ in FAULTY.values()]
    sources += [
        MISALIGNED,
        OVERRUN_AND_RACE,
        ENDLESS,
        TOO_MUCH_SHARED,
        CLEAN,
        FLOOD,
        *(baseline(catalogue, name) for name in TIMED),
    ]
    builds = await asyncio.gather(*(made.build(source) for source in sources))
    assert {build.status for build in builds} == {"compiled"}, builds
    return made


@pytest.fixture(scope="module")
def engine(anyio_backend) -> CpuToolchain:
    return CpuToolchain()


@pytest.fixture(autouse=True)
def raw(monkeypatch, request) -> None:
    """What the tool wrote about each candidate is kept beside the results."""
    if not RECORD:
        return
    numbers = itertools.count()
    own = running.interpret

    def interpret(check, xml, log, *arguments, **fields):
        stem = f"{request.node.name.removeprefix('test_')[:60]}.{next(numbers)}.{check}"
        for kind, data in (("xml", xml), ("txt", log)):
            keep(f"raw/{stem}.{kind}", "(none)" if data is None else data[:200_000].decode("utf-8", "replace"))
        return own(check, xml, log, *arguments, **fields)

    monkeypatch.setattr(running, "interpret", interpret)
    stopped = running.of_stopped

    def of_stopped(check, log, context, **fields):
        if fields:  # asked for the verdict, not whether there is something to tell yet
            stem = f"{request.node.name.removeprefix('test_')[:60]}.{next(numbers)}.{check}"
            keep(f"raw/{stem}.stopped.txt", "(none)" if log is None else log[:200_000].decode("utf-8", "replace"))
        return stopped(check, log, context, **fields)

    monkeypatch.setattr(running, "of_stopped", of_stopped)


def baseline(catalogue: Catalogue, name: str) -> Source:
    problem = catalogue.problem(name)
    return Source(text=problem.baseline, problem=name)


async def debugged(
    name: str, source: Source, toolchain: GpuToolchain, engine: CpuToolchain | None = None, **fields
) -> DebugResult:
    started = time.monotonic()
    problem = Catalogue().problem(source.problem)
    result = await debug(source, problem, toolchain, DebugRequest(**fields), secret=SECRET, engine=engine)
    took = time.monotonic() - started
    checks = ", ".join(f"{report.check} {report.verdict} {report.duration_s} s" for report in result.checks)
    say(f"{name}: {result.status} in {took:.2f} s; {checks}; {result.summary}")
    for finding in result.findings:
        say(f"    {finding.model_dump_json(exclude_none=True)}")
    for report in result.checks:
        if report.reason or report.note:
            say(f"    {report.check}: {report.reason} / {report.note}")
    keep(f"debug.{name}.json", json.dumps({"took_s": took, **result.model_dump(mode="json")}, indent=1))
    return result


async def test_baselines_are_clean_under_the_four_tools_within_the_time(toolchain) -> None:
    catalogue, times = Catalogue(), {}
    for name in TIMED:
        started = time.monotonic()
        result = await debugged(name, baseline(catalogue, name), toolchain)
        took = time.monotonic() - started
        times[name] = {
            "total_s": round(took, 3),
            "sizes": [dict(sizes) for sizes in debug_sizes(catalogue.problem(name))],
            **{f"{report.check}_s": report.duration_s for report in result.checks},
        }
        assert result.status == "clean", result.summary
        assert [report.check for report in result.checks] == list(ALL_CHECKS)
        assert result.measured_on.toolchain == "gpu"
    figures = {"limit_s": DEBUG_LIMIT_S, "built_before": True, "baselines": times}
    say(json.dumps(figures))
    keep("debug_times.json", json.dumps(figures, indent=1))


@pytest.mark.parametrize("name", FAULTY)
async def test_a_faulty_candidate_is_found_out_at_its_line(toolchain, name) -> None:
    source, check, kinds = FAULTY[name]
    result = await debugged(name, source, toolchain, checks=(check,))
    found = {finding.kind: finding for finding in result.findings}
    assert set(found) == kinds, result.summary
    for kind in kinds:
        assert (found[kind].file, found[kind].line) == ("candidate.cu", LINE)
        assert (found[kind].kernel or "").startswith("add(")


async def test_a_kernel_that_memcheck_sees_stopped_leaves_the_others_incomplete(toolchain) -> None:
    result = await debugged("misaligned", MISALIGNED, toolchain, checks=("memcheck", "synccheck"))
    assert [(one.kind, one.line) for one in result.findings] == [("misaligned_global_read", LINE)]
    assert [report.verdict for report in result.checks] == ["findings", "incomplete"], result.summary


async def test_the_engine_agrees_on_an_overrun_and_sees_the_global_race_besides(toolchain, engine) -> None:
    result = await debugged("overrun_and_race", OVERRUN_AND_RACE, toolchain, engine)
    (overrun,) = result.findings
    assert (overrun.kind, overrun.line) == ("invalid_global_write", LINE)
    assert (overrun.address or "").startswith("out[")
    assert result.engine is not None
    differences = {(one.seen_by, one.kind) for one in result.engine.disagreements}
    say(f"    differences: {differences}")
    assert not [kind for _, kind in differences if kind == "invalid_global_write"]
    assert any(seen_by == "engine" and kind.startswith("global_race") for seen_by, kind in differences)


async def test_an_endless_loop_ends_with_its_time_limit_and_leaves_nothing_behind(toolchain) -> None:
    result = await debugged("endless", ENDLESS, toolchain, timeout_s=3.0)
    assert {(finding.kind, (finding.kernel or "")[:4]) for finding in result.findings} == {("endless_loop", "add(")}
    after = await debugged("after_endless", CLEAN, toolchain, checks=("memcheck",))
    assert after.status == "clean", after.summary
    async with holding(
        "exclusive"
    ):  # so that no other worker's tool is alive, whose processes have no parent to know them by
        alive = programs()
    left = [name for name in alive if name.startswith(("TreeLauncher", "compute-sanitizer", "cudanalyst-exec"))]
    assert left == []


def programs() -> list[str]:
    """The programs that are running, orphans too, but for those of other workers of this run, which have our parent but are not ours."""
    names = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        process = int(path.parent.name)
        if descends(process, os.getppid()) and not descends(process, os.getpid()):
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.append(Path(path.read_bytes().split(b"\0")[0].decode(errors="replace")).name)
    return names


async def test_a_launch_with_too_much_shared_memory_is_one_finding(toolchain) -> None:
    result = await debugged("too_much_shared", TOO_MUCH_SHARED, toolchain, checks=("memcheck", "initcheck"))
    assert [finding.kind for finding in result.findings] == ["invalid_launch"], result.summary
    assert "409600 B of dynamic shared memory" in result.findings[0].message
    assert [report.verdict for report in result.checks] == ["findings", "incomplete"]


async def test_a_quarter_of_a_million_errors_are_no_hang(toolchain) -> None:
    result = await debugged("flood", FLOOD, toolchain, checks=("memcheck", "initcheck"), timeout_s=5.0)
    assert {finding.kind for finding in result.findings} == {"invalid_global_read", "uninitialized_global_read"}
    assert {finding.line for finding in result.findings} == {6}
    assert all(report.note for report in result.checks), result.checks
    assert result.duration_s is not None
    assert result.duration_s < DEBUG_LIMIT_S


# The tool itself, around programs.

PROGRAM = r"""#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
__global__ void overrun(float* x, int n) { x[threadIdx.x + n] = 1; }
__global__ void race(float* x) { __shared__ float s[128]; s[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = s[(threadIdx.x + 33) % 128]; }
__global__ void uninit(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void diverge(float* x) { if (threadIdx.x < 16) { __syncthreads(); x[threadIdx.x] = 1; } else { x[threadIdx.x] = 2; } }
__global__ void asserts(float* x) { assert(x[threadIdx.x] == 7); }
__global__ void many(const float* x, float* y) { y[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x]; }
__global__ void fine(float* x) { x[threadIdx.x] = 1; }
int main(int c, char** v) {
  const char* m = c > 1 ? v[1] : "fine"; float *x, *y, *u;
  cudaMalloc(&x, 4096); cudaMalloc(&y, 4 << 20); cudaMalloc(&u, 4 << 20); cudaMemset(x, 0, 4096); cudaMemset(y, 0, 4 << 20);
  if (!strcmp(m, "overrun")) overrun<<<1, 32>>>(x, 1024); else if (!strcmp(m, "race")) race<<<1, 128>>>(x); else if (!strcmp(m, "uninit")) uninit<<<1, 128>>>(u, y);
  else if (!strcmp(m, "diverge")) diverge<<<1, 128>>>(x); else if (!strcmp(m, "asserts")) asserts<<<1, 4>>>(x); else if (!strcmp(m, "many")) many<<<800, 128>>>(u, y);
  else fine<<<1, 32>>>(x);
  cudaError_t e = cudaDeviceSynchronize(); if (e) fprintf(stderr, "%s\n", cudaGetErrorName(e));
  if (!strcmp(m, "leak")) cudaFree(x); else { cudaFree(x); cudaFree(y); cudaFree(u); }
  if (!strcmp(m, "crash")) *(volatile int*)nullptr = 1;
  return 0;
}
"""
# mode: checks to run, what they must find
EXPECTED: dict[str, tuple[tuple[Check, ...], dict[Check, str]]] = {
    "fine": (("memcheck", "racecheck"), {}),
    "asserts": (("memcheck", "synccheck"), {"memcheck": "assertion_failed"}),
    "many": (("initcheck",), {"initcheck": "uninitialized_global_read"}),
    "leak": (("memcheck",), {"memcheck": "leak"}),
}  # fmt: skip


@pytest.fixture(scope="module")
async def sanitizer(anyio_backend) -> Sanitizer:
    return await find_sanitizer()


@pytest.fixture(scope="module")
async def program(anyio_backend, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.cu").write_text(PROGRAM)
    nvcc = shutil.which("nvcc")
    assert nvcc is not None, "nvcc is not on PATH"
    built = await run_process(
        [nvcc, "-O3", "-arch=native", "-lineinfo", "-o", "program", "program.cu"], cwd=folder, timeout_s=120
    )
    assert built.exit_status == 0, built.stderr.text
    return folder / "program"


def driving(program: Path, mode: str, timeout_s: float = 30.0):
    async def drive(prefix: Sequence[str | Path]) -> Driven:
        process = await run_process([*prefix, program, mode], timeout_s=timeout_s)
        words = [str(word) for word in prefix]
        for option in ("--save", "--log-file"):
            path = Path(words[words.index(option) + 1])
            check = words[words.index("--tool") + 1]
            text = path.read_text(errors="replace")[:100_000] if path.exists() else "(none)"
            keep(f"program.{mode}.{check}{path.suffix}", text)
            if option == "--log-file":
                say(
                    f"    {mode} {check}: exit status {process.exit_status} in {process.duration_s:.2f} s; {text[-160:]!r}"
                )
        return Driven(executed(process))

    return drive


def executed(process: ProcessResult) -> Execution:
    how = "timed_out" if process.timed_out else "signalled" if process.signal else "returned"
    return Execution(
        how=how, exit_status=process.exit_status, signal=process.signal, stdout=process.stdout.text, stderr=process.stderr.text,
        stdout_bytes=process.stdout.total, stderr_bytes=process.stderr.total, report=(), downloads=(), duration_s=process.duration_s, sandbox="none",
    )  # fmt: skip


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("mode", EXPECTED)
async def test_the_tools_find_in_a_program_what_is_wrong_with_it(sanitizer, program, tmp_path, mode) -> None:
    checks, expected = EXPECTED[mode]
    target = Target(PathNames("program.cu", {}))
    results = await sanitize_together(sanitizer, checks, driving(program, mode), target, work=tmp_path, replayed=False)
    assert [result.broken for result in results] == [None] * len(checks)
    for result in results:
        kinds = {finding.kind for finding in result.findings}
        say(f"    {mode} {result.check}: {kinds or 'clean'} in {result.wall_s:.2f} s; {result.note or ''}")
        assert kinds == ({expected[result.check]} if result.check in expected else set()), (mode, result)
    verdicts = {result.check: report_of(result.check, [result]).report.verdict for result in results}
    if mode == "fine":
        assert set(verdicts.values()) == {"clean"}, results
    if mode == "asserts":
        assert verdicts["synccheck"] == "incomplete", results
    if mode == "many":
        assert "beyond the limit" in (results[0].note or ""), results
        assert (results[0].wall_s or 0) < DEBUG_LIMIT_S


@pytest.mark.usefixtures("beside")
async def test_a_program_that_crashes_is_not_clean(sanitizer, program, tmp_path) -> None:
    target = Target(PathNames("program.cu", {}))
    results = await sanitize_together(
        sanitizer, ("memcheck", "synccheck"), driving(program, "crash"), target, work=tmp_path, replayed=False
    )
    verdicts = [report_of(result.check, [result]).report.verdict for result in results]
    assert verdicts == ["incomplete", "incomplete"], results
