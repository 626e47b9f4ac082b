"""The whole way: real nvcc, the engine, the sandbox."""

import asyncio
import os
import struct
from pathlib import Path

import pytest

from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.protocol import BufferSpec, Call, CandidateRequest, ProgramRequest, ScalarSpec

pytestmark = pytest.mark.anyio

SCALE = """__global__ void scale(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
extern "C" int solve(const float* x, float* y, float a, int n, cudaStream_t stream) {
  scale<<<(n + 127) / 128, 128, 0, stream>>>(y, x, a, n);
  return 0;
}
"""
N = 300


def floats(*values: float) -> bytes:
    return struct.pack(f"{len(values)}f", *values)


def scale_request(guard: int = 64, **changes) -> CandidateRequest:
    contents = b"\x5a" * guard + floats(*range(N)) + b"\x5a" * guard
    call = Call(buffers={"x": (4 * N, contents), "y": (4 * N, None)}, scalars={"a": 2.5, "n": N}, download=("x", "y"))
    parameters = (
        BufferSpec("x", "f32", "in"),
        BufferSpec("y", "f32", "out"),
        ScalarSpec("a", "float"),
        ScalarSpec("n", "int"),
    )
    return CandidateRequest(
        **{"parameters": parameters, "sizes": {"n": N}, "calls": (call, call), "guard_bytes": guard, **changes}
    )


@pytest.fixture(scope="session")
def cpu() -> CpuToolchain:
    return CpuToolchain()


async def built(cpu: CpuToolchain, text: str, problem: str | None = None):
    build = await cpu.build(Source(text=text, problem=problem))
    assert build.status == "compiled", (build.diagnostics, build.reason)
    return build


async def run_program(cpu: CpuToolchain, text: str, **request):
    return await cpu.execute(await built(cpu, text), ProgramRequest(**request))


async def test_everything_can_be_done_here(cpu):
    can = await cpu.capabilities()
    assert can.reasons == {}
    assert (can.build, can.execute, len(can.sanitize), can.profile) == (True, True, 4, True)
    assert can.measured_on.device == "cpu-engine"
    assert {"nvcc", "gcc", "engine"} <= set(can.measured_on.versions)
    assert can.measured_on.sandbox in {"full", "partial"}


async def test_a_candidate_computes_the_right_values_in_every_call(cpu):
    execution = await cpu.execute(await built(cpu, SCALE, "scale"), scale_request())
    assert execution.how == "returned", (execution.reason, execution.stderr)
    assert len(execution.downloads) == 2
    for call in execution.downloads:
        assert call["y"][64:-64] == floats(*(2.5 * i for i in range(N)))
        assert call["x"] == b"\x5a" * 64 + floats(*range(N)) + b"\x5a" * 64
    assert [record["type"] for record in execution.report].count("call") == 2


async def test_an_out_of_range_write_is_found_at_its_line(cpu):
    bad = SCALE.replace("if (i < n) ", "")
    checked = await cpu.sanitize(await built(cpu, bad, "scale"), scale_request(guard=0), "memcheck")
    assert checked.failed is None
    assert {(finding.file, finding.line) for finding in checked.findings} == {("candidate.cu", 3)}
    assert any("write" in finding.kind for finding in checked.findings)
    clean = await cpu.sanitize(await built(cpu, SCALE, "scale"), scale_request(guard=0), "memcheck")
    assert (clean.failed, clean.findings) == (None, ())


async def test_a_profile_counts_by_line(cpu):
    execution = await cpu.profile(await built(cpu, SCALE, "scale"), scale_request())
    profiles = [record for record in execution.report if record["type"] == "profile"]
    assert profiles
    assert {line["file"] for record in profiles for line in record["lines"]} == {"candidate.cu"}


async def test_a_program_gets_its_arguments_and_input_and_its_output_comes_back(cpu):
    text = '#include <cstdio>\nint main(int c, char** v) { char b[9]{}; fgets(b, 8, stdin); printf("%d %s %s", c, v[1], b); fprintf(stderr, "e"); return 7; }\n'
    execution = await run_program(cpu, text, arguments=("one two",), stdin=b"input")
    assert (execution.how, execution.exit_status, execution.stdout, execution.stderr) == (
        "returned",
        7,
        "2 one two input",
        "e",
    )


async def test_a_crash_an_exit_and_a_hang_are_told_apart(cpu):
    crashed = await run_program(cpu, "#include <csignal>\nint main() { raise(SIGSEGV); }\n")
    assert (crashed.how, crashed.signal) == ("signalled", "SIGSEGV")
    hung = await run_program(cpu, "int main() { for (volatile int i = 0;; i = i + 1) {} }\n", timeout_s=1.0)
    assert hung.how == "timed_out"
    left = await cpu.execute(await built(cpu, SCALE.replace("return 0;", "exit(0);"), "scale"), scale_request())
    assert left.how == "exited"


async def test_a_flood_of_output_is_stopped(cpu):
    flood = await run_program(
        cpu, '#include <cstdio>\nint main() { for (;;) puts("0123456789012345678901234567890123456789"); }\n'
    )
    assert flood.how == "output_limit"
    assert len(flood.stdout) < 200_000
    assert flood.stdout_bytes > 60 << 20


SNOOP = """#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <sys/socket.h>
int main(int, char** v) {
  FILE* f = fopen(v[1], "r");
  printf("read %d\\n", f != nullptr);
  f = fopen(v[2], "w");
  printf("write %d\\n", f != nullptr);
  printf("socket %d\\n", socket(AF_INET, SOCK_STREAM, 0) >= 0);
  printf("secret %s\\n", getenv("SNOOP_SECRET") ? "seen" : "unseen");
}
"""


async def test_host_code_reads_writes_and_reaches_nothing_outside(cpu, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text("s")
    monkeypatch.setenv("SNOOP_SECRET", "1")
    execution = await run_program(cpu, SNOOP, arguments=(str(secret), str(tmp_path / "new")))
    assert "read 0" in execution.stdout
    assert "write 0" in execution.stdout
    assert "secret unseen" in execution.stdout
    if execution.sandbox == "full":
        assert "socket 0" in execution.stdout
    assert not (tmp_path / "new").exists()


async def test_children_of_a_program_do_not_outlive_it(cpu):
    text = (
        "#include <cstdio>\n#include <unistd.h>\nint main() { setsid(); clearenv(); if (fork() == 0) { setsid(); if (fork() == 0) {"
        ' execl("/bin/sleep", "cudanalyst-stray", "1000", nullptr); } _exit(0); } usleep(100000); return 0; }\n'
    )
    await run_program(cpu, "#include <stdlib.h>\n" + text)
    names = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not any(b"cudanalyst-stray" in name for name in names)


async def test_embedding_a_host_file_in_the_binary_fails(cpu, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("swordfish")
    text = f'__asm__(".section .rodata\\n.incbin \\"{secret}\\"");\nint main() {{ return 0; }}\n'
    build = await cpu.build(Source(text=text))
    assert build.status == "failed"
    assert str(tmp_path) not in build.model_dump_json()


async def test_including_a_host_file_shows_nothing_of_it(cpu, tmp_path):
    (tmp_path / "secret").write_text("swordfish is the word")
    build = await cpu.build(Source(text=f'#include "{tmp_path}/secret"\nint main() {{ return 0; }}\n'))
    assert build.status == "failed"
    assert "swordfish" not in build.model_dump_json()
    assert "only headers of the toolkit" in build.diagnostics[0].text


async def test_a_cancelled_run_leaves_nothing(cpu):
    build = await built(cpu, "int main() { for (volatile int i = 0;; i = i + 1) {} }\n")
    task = asyncio.create_task(cpu.execute(build, ProgramRequest(timeout_s=100)))
    work = Path(os.environ["CUDANALYST_CACHE"]) / "work"
    before = set(work.glob("run-*"))
    while not set(work.glob("run-*")) - before:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(
        build.binary.name.encode() in path.read_bytes() and str(build.binary).encode() in path.read_bytes()
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.access(path, os.R_OK)
    )


async def test_another_architecture_runs_too(cpu):
    build = await cpu.build(Source(text=SCALE, problem="scale", options=BuildOptions(arch="sm_80")))
    assert build.status == "compiled"
    execution = await cpu.execute(build, scale_request())
    assert execution.downloads[0]["y"][64:-64] == floats(*(2.5 * i for i in range(N)))


async def test_a_program_learns_nothing_from_its_environment(cpu, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SECRET_TOKEN", "of the user")
    text = "#include <cstdio>\nextern char** environ;\nint main() { cudaFree(0); for (char** e = environ; *e; ++e) puts(*e); }\n"
    execution = await run_program(cpu, text)
    names = {line.split("=")[0] for line in execution.stdout.splitlines()}
    assert "PATH" in names
    assert f"{tmp_path}:" not in execution.stdout
    assert not names & {"SECRET_TOKEN", "CUDANALYST_SEAL", "HOME", "USER"}


async def test_what_a_run_can_write_is_bounded(cpu):
    text = """#include <cstdio>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>
int main() {
  signal(SIGXFSZ, SIG_IGN);
  int file = open("big", O_CREAT | O_WRONLY, 0600);
  printf("%d", ftruncate(file, 3l << 29));
}
"""
    execution = await run_program(cpu, text)
    assert execution.stdout == "-1"
