"""The runner calls a candidate's `solve` as a request says, holds it to its contract, and reports how each call ended."""

import struct
from pathlib import Path

import pytest

from tests.tools.engine.conftest import Bench, Run

GUARD = 256
VALUES = struct.pack("16f", *range(16))
GUARDED = b"\xaa" * GUARD + VALUES + b"\xaa" * GUARD

HEAD = """
#include <cuda_runtime.h>
#include <cstdlib>
#include <unistd.h>
__global__ void twice(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
"""
BODY = """
static int body_%d(const float* x, float* y, int n, cudaStream_t stream) {
  cudaStream_t own;
  cudaEvent_t event;
  int word = 0;
  void* memory = nullptr;
  (void)own; (void)event; (void)word; (void)memory;
  %s
}
"""
SOLVE = """
extern "C" int solve(const float* x, float* y, int n, cudaStream_t stream) {
  static int (*const bodies[])(const float*, float*, int, cudaStream_t) = {%s};
  return bodies[atoi(getenv("BODY"))](x, y, n, stream);
}
"""
FORK = "cudaStreamCreate(&own); cudaEventCreate(&event); cudaEventRecord(event, stream); cudaStreamWaitEvent(own, event, 0);"
JOIN = "cudaEventRecord(event, own); cudaStreamWaitEvent(stream, event, 0);"
LAUNCH = "twice<<<1, 32, 0, stream>>>(x, y, n); return cudaGetLastError();"
BREACHES = {
    "twice<<<1, 32>>>(x, y, n); return 0;": "default stream: pass `stream`",
    "cudaMemset(y, 0, 64); return 0;": "default stream",
    "cudaMemcpy(y, x, 64, cudaMemcpyDeviceToDevice); return 0;": "cudaMemcpy waits on the host",
    "return cudaDeviceSynchronize();": "cudaDeviceSynchronize waits on the host",
    "return cudaStreamSynchronize(stream);": "cudaStreamSynchronize waits on the host",
    "cudaEventCreate(&event); cudaEventRecord(event, stream); return cudaEventSynchronize(event);": "cudaEventSynchronize waits",
    "return cudaMalloc(&memory, 4);": "workspace_bytes",
    "return cudaFree(0);": "allocates or frees",
    "return cudaMemcpyAsync(&word, x, 4, cudaMemcpyDeviceToHost, stream);": "copies to the host",
    "cudaStreamCreate(&own); twice<<<1, 32, 0, own>>>(x, y, n); return 0;": "fork it first",
    FORK + "twice<<<1, 32, 0, own>>>(x, y, n); return 0;": "is not joined",
    FORK
    + "cudaEventRecord(event, own); twice<<<1, 32, 0, own>>>(x, y, n); cudaStreamWaitEvent(stream, event, 0); return 0;": "is not joined",
}
JOINED = FORK + "twice<<<1, 32, 0, own>>>(x, y, n);" + JOIN + "return cudaGetLastError();"
JOINED_ONCE = f"""
static cudaStream_t kept;
static int calls;
if (!calls++) {{ {FORK} kept = own; twice<<<1, 32, 0, own>>>(x, y, n); {JOIN} return 0; }}
twice<<<1, 32, 0, kept>>>(x, y, n);
return 0;
"""
RETURNS_5 = "return 5;"
THROWS = "throw 1;"
FAULTS = "twice<<<1, 32, 0, stream>>>(x + (1 << 26), y, n); return 0;"
FAILS_SILENTLY = "twice<<<1, 2000, 0, stream>>>(x, y, n); return 0;"
READS_ON_HOST = "return *(const int*)x;"
LEAVES = ("exit(0);", "_exit(0);", "abort();", "quick_exit(0);", READS_ON_HOST)
FORKS = "if (fork() == 0) exit(0);" + LAUNCH
BODIES = (
    LAUNCH, *BREACHES, JOINED, JOINED_ONCE, RETURNS_5, THROWS, FAULTS, FAILS_SILENTLY, *LEAVES, FORKS,
)  # fmt: skip
"""All in one library, since compiling is what takes time; an environment variable chooses."""


class Candidate:
    """Runs candidates of one signature."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        """Takes what compiles and runs, and a folder for the files of a request."""
        self.bench = bench
        self.folder = folder

    def run(self, body: str, more: str = "", *, calls: int = 1, directives: str = "") -> Run:
        """Calls `solve` with the body given."""
        bodies = "".join(BODY % (index, text) for index, text in enumerate(BODIES))
        source = HEAD + bodies + SOLVE % ", ".join(f"body_{index}" for index in range(len(BODIES))) + more
        library = self.bench.compile(source, "-shared", "-Xcompiler", "-fPIC")
        (self.folder / "x.bin").write_bytes(GUARDED)
        head = f"library {library}\nsizes n=16\nparam buffer x f32 in\nparam buffer y f32 out\nparam int n\nguard {GUARD}\n{directives}"
        call = "call\nbuffer x 64 x.bin\nbuffer y 64 x.bin\nvalue n 16\ndownload y y.{}\n"
        return self.request(
            head + "".join(call.format(index) for index in range(calls)), {"BODY": str(BODIES.index(body))}
        )

    def request(self, text: str, env: dict[str, str] | None = None) -> Run:
        """Runs the runner on a request."""
        (self.folder / "request").write_text(text)
        return self.bench.start(self.bench.engine.runner, "request", cwd=self.folder, env=env)


@pytest.fixture
def candidate(bench: Bench, tmp_path: Path) -> Candidate:
    """Compiles and calls."""
    return Candidate(bench, tmp_path)


def statuses(run: Run) -> list[object]:
    """Status of each call."""
    return [call["status"] for call in run.of_type("call")]


def test_results_come_back_with_their_guards(candidate: Candidate) -> None:
    run = candidate.run(LAUNCH, calls=3)
    assert run.process.exit_status == 0
    assert statuses(run) == ["ok"] * 3
    assert run.report[-1]["type"] == "end"
    for index in range(3):
        data = (candidate.folder / f"y.{index}").read_bytes()
        assert data[:GUARD] == data[-GUARD:] == b"\xaa" * GUARD
        assert struct.unpack("16f", data[GUARD:-GUARD]) == tuple(2.0 * i for i in range(16))


def test_buffers_are_named_in_the_report(candidate: Candidate) -> None:
    run = candidate.run(LAUNCH)
    assert {(record["name"], record["bytes"]) for record in run.of_type("allocation")} >= {
        ("x", 64 + 2 * GUARD),
        ("y", 64 + 2 * GUARD),
    }


def test_integers_and_floats_arrive_however_many_and_mixed(bench: Bench, candidate: Candidate) -> None:
    source = """
    #include <cuda_runtime.h>
    #include <cstdio>
    extern "C" size_t workspace_bytes(long a, long b) { return a * b; }
    extern "C" int init(long a, long b) { printf("init %ld %ld\\n", a, b); return 0; }
    extern "C" int solve(const float* a, int i1, float f1, long l1, double d1, const float* b, int i2, float f2, float* c, int i3, int i4, int i5, double d2, int i6, int i7, float f3, long l2,
                         float f4, double d3, double d4, void* workspace, size_t bytes, cudaStream_t stream) {
      printf("%d %d %d %d %d %d %d %ld %ld %g %g %g %g %g %g %g %g %zu %d\\n", i1, i2, i3, i4, i5, i6, i7, l1, l2, f1, f2, f3, f4, d1, d2, d3, d4, bytes,
             a && b && c && a != b && b != c && workspace && stream);
      return 0;
    }
    """
    kinds = [
        ("buffer", "a"), ("int", "i1"), ("float", "f1"), ("long", "l1"), ("double", "d1"), ("buffer", "b"), ("int", "i2"), ("float", "f2"), ("buffer", "c"),
        ("int", "i3"), ("int", "i4"), ("int", "i5"), ("double", "d2"), ("int", "i6"), ("int", "i7"), ("float", "f3"), ("long", "l2"), ("float", "f4"),
        ("double", "d3"), ("double", "d4"),
    ]  # fmt: skip
    values = {
        "i1": "-1", "i2": "2", "i3": "-2147483648", "i4": "2147483647", "i5": "5", "i6": "6", "i7": "7", "l1": "-1099511627776", "l2": "9", "f1": "1.5",
        "f2": "-0x1p-3", "f3": "3.5", "f4": "4.5", "d1": "1e300", "d2": "0x1.8p+1", "d3": "-7", "d4": "0.5",
    }  # fmt: skip
    library = bench.compile(source, "-shared", "-Xcompiler", "-fPIC")
    lines = [f"library {library}", "sizes n=10 m=7", "workspace yes", "guard 0"]
    lines += [f"param buffer {name} f32 in" if kind == "buffer" else f"param {kind} {name}" for kind, name in kinds]
    lines += [
        "call",
        *(f"buffer {name} 64 -" for name in "abc"),
        *(f"value {name} {value}" for name, value in values.items()),
    ]
    run = candidate.request("\n".join(lines) + "\n")
    assert statuses(run) == ["ok"]
    assert run.output.splitlines() == [
        "init 10 7",
        "-1 2 -2147483648 2147483647 5 6 7 -1099511627776 9 1.5 -0.125 3.5 4.5 1e+300 3 -7 0.5 70 1",
    ]


@pytest.mark.parametrize(("body", "words"), BREACHES.items())
def test_a_breach_of_the_contract_is_named_with_its_fix(candidate: Candidate, body: str, words: str) -> None:
    run = candidate.run(body)
    assert statuses(run) == ["contract"]
    assert words in str(run.of_type("call")[0]["message"])


def test_own_streams_that_fork_and_join_are_fine(candidate: Candidate) -> None:
    run = candidate.run(JOINED, calls=2)
    assert statuses(run) == ["ok", "ok"]


def test_a_join_of_an_earlier_call_does_not_count(candidate: Candidate) -> None:
    assert statuses(candidate.run(JOINED_ONCE, calls=2)) == ["ok", "contract"]


def test_init_may_allocate_and_wait(candidate: Candidate) -> None:
    init = 'extern "C" int init(long n) { void* p; return n != 16 || cudaMalloc(&p, 64) || cudaDeviceSynchronize(); }'
    assert statuses(candidate.run(LAUNCH, init)) == ["ok"]


def test_a_failing_init_ends_the_run(candidate: Candidate) -> None:
    run = candidate.run(LAUNCH, 'extern "C" int init(long) { return 4; }')
    (call,) = run.of_type("call")
    assert (call["status"], call["value"]) == ("solve_error", 4)


def test_what_solve_returns_is_reported(candidate: Candidate) -> None:
    run = candidate.run(RETURNS_5)
    assert [(call["status"], call["value"]) for call in run.of_type("call")] == [("solve_error", 5)]


def test_an_exception_is_a_failed_call(candidate: Candidate) -> None:
    run = candidate.run(THROWS)
    assert statuses(run) == ["solve_error"]
    assert "exception" in str(run.of_type("call")[0]["message"])


def test_a_fault_is_reported_and_ends_the_calls(candidate: Candidate) -> None:
    run = candidate.run(FAULTS, calls=2)
    assert [(call["status"], call["cuda_error"]) for call in run.of_type("call")] == [("cuda_error", 700)]
    assert run.report[-1]["cuda_error_name"] == "cudaErrorIllegalAddress"


def test_a_silent_launch_failure_is_reported(candidate: Candidate) -> None:
    run = candidate.run(FAILS_SILENTLY)
    assert [(call["status"], call["cuda_error"]) for call in run.of_type("call")] == [("cuda_error", 1)]


@pytest.mark.parametrize("body", LEAVES)
def test_a_candidate_that_ends_the_process_leaves_no_end(candidate: Candidate, body: str) -> None:
    run = candidate.run(body)
    assert not run.of_type("end")
    assert not run.of_type("call")


def test_a_host_read_of_device_memory_is_a_segmentation_fault(candidate: Candidate) -> None:
    assert candidate.run(READS_ON_HOST).process.signal == "SIGSEGV"


def test_a_forked_child_does_not_write_the_report(candidate: Candidate) -> None:
    run = candidate.run(FORKS)
    assert statuses(run) == ["ok"]
    assert len(run.of_type("end")) == 1


def test_a_library_without_solve_is_refused(candidate: Candidate) -> None:
    library = candidate.bench.compile("int other() { return 0; }", "-shared", "-Xcompiler", "-fPIC")
    run = candidate.request(f"library {library}\ncall\n")
    assert run.process.exit_status == 4
    assert "exports no `solve`" in run.process.stderr.text


def test_a_library_that_cannot_be_loaded_is_refused(candidate: Candidate) -> None:
    run = candidate.request("library /nonexistent.so\ncall\n")
    assert run.process.exit_status == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("call\n", "no `library`"),
        ("library x\n", "no `call`"),
        ("library x\nnonsense 1\ncall\n", "line 2: unknown directive `nonsense`"),
        ("library x\nparam short n\ncall\n", "line 2"),
        ("library x\nparam int n\ncall\n", "no contents or value for `n`"),
        ("library x\nvalue n 1\ncall\n", "before the first `call`"),
        ("library x\nsizes n=many\ncall\n", "`many` is not a whole number"),
        ("library x\n" + "".join(f"param float f{i}\n" for i in range(9)) + "call\n" + "".join(f"value f{i} 1\n" for i in range(9)), "too many parameters"),
    ],
)  # fmt: skip
def test_a_bad_request_is_refused_with_its_reason(candidate: Candidate, text: str, words: str) -> None:
    run = candidate.request(text)
    assert run.process.exit_status == 3
    assert words in run.process.stderr.text


def test_contents_of_the_wrong_size_are_refused(candidate: Candidate) -> None:
    run = candidate.run(LAUNCH, directives="call\nbuffer x 32 x.bin\nbuffer y 64 x.bin\nvalue n 16\n")
    assert run.process.exit_status == 3
    assert "does not hold exactly" in run.process.stderr.text
