import asyncio
import sysconfig
from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.capture import Captured
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.source import MAX_SOURCE_BYTES, BuildOptions, Source
from cudanalyst.tools.toolchain.builder import Builder
from cudanalyst.tools.toolchain.discovery import find_toolkit

pytestmark = pytest.mark.anyio

SAXPY = """__global__ void __launch_bounds__(128) saxpy(float* y, const float* x, float a, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = a * tile[threadIdx.x] + y[i] * 2.0;
}
extern "C" int solve(float* y, const float* x, float a, int n, cudaStream_t stream) {
  saxpy<<<(n + 127) / 128, 128, 0, stream>>>(y, x, a, n);
  return 0;
}
"""


async def test_a_candidate_is_built_with_its_figures(shared_builder: Builder):
    built = await shared_builder.build(Source(text=SAXPY, problem="saxpy"))
    assert (built.status, built.cached) == ("compiled", False)
    assert built.binary is not None
    assert built.binary.read_bytes()[:4] == b"\x7fELF"
    (kernel,) = built.kernels
    assert kernel.name == "saxpy(float*, float const*, float, int)"
    assert (kernel.shared_bytes, kernel.barriers, kernel.spill_store_bytes, kernel.uses_double) == (512, 1, 0, True)
    assert 0 < kernel.registers < 64
    assert [(row.block_threads, row.blocks_per_sm) for row in kernel.occupancy] == [(128, 16)]
    assert ("warning", 6) in {(d.severity, d.place.line) for d in built.diagnostics}
    again = await shared_builder.build(Source(text=SAXPY, problem="saxpy"))
    assert again.cached
    assert (again.binary, again.kernels, again.diagnostics) == (built.binary, built.kernels, built.diagnostics)


async def test_the_ptx_is_embedded_uncompressed_for_the_engine(shared_builder: Builder):
    built = await shared_builder.build(Source(text=SAXPY, problem="saxpy"))
    assert built.binary is not None
    data = built.binary.read_bytes()
    assert b".target sm_90" in data
    assert b".visible .entry _Z5saxpyPfPKffi" in data


@pytest.mark.skipif(
    not (Path(sysconfig.get_path("purelib")) / "nvidia/cu13").is_dir(), reason="the cuda extra is not installed"
)
async def test_the_wheels_alone_build_a_program(make_builder, tmp_path):
    wheels = await find_toolkit(
        {"CUDA_HOME": str(Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13"), "PATH": "/usr/bin:/bin"}, ()
    )
    source = Source(
        text=SAXPY + "int main() { return 0; }\n", options=BuildOptions(arch="sm_80", flags=("-O2", "-DX=1"))
    )
    built = await make_builder(wheels, tmp_path).build(source)
    assert built.status == "compiled", built.diagnostics
    assert built.binary is not None
    assert b".target sm_80" in built.binary.read_bytes()


async def test_an_architecture_specific_target_builds(shared_builder: Builder):
    text = (
        '__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }\n'
        'extern "C" int solve(cudaStream_t s) { k<<<1, 128, 0, s>>>(); return 0; }\n'
    )
    built = await shared_builder.build(Source(text=text, problem="p", options=BuildOptions(arch="sm_90a")))
    assert built.status == "compiled", built.diagnostics
    refused = await shared_builder.build(Source(text=text, problem="p"))
    assert refused.status == "failed"
    assert (refused.diagnostics[0].origin, refused.diagnostics[0].place.line) == ("ptxas", 1)


async def test_errors_come_with_their_lines_and_are_cached(shared_builder: Builder):
    source = Source(text="__global__ void k(int* p) {\n  *p = undefined_name;\n}\nint main() { return 0; }\n")
    built = await shared_builder.build(source)
    assert (built.status, built.binary) == ("failed", None)
    first = built.diagnostics[0]
    assert (first.place.file, first.place.line, first.place.column) == ("program.cu", 2, 8)
    assert (await shared_builder.build(source)).cached


async def test_a_candidate_without_solve_is_told_what_to_write(shared_builder: Builder):
    built = await shared_builder.build(Source(text="int solve() { return 0; }\n", problem="p"))
    assert built.status == "failed"
    assert 'define extern "C" int solve(' in built.diagnostics[0].text


async def test_a_candidate_that_calls_what_is_nowhere_fails_when_it_is_built(shared_builder: Builder):
    built = await shared_builder.build(
        Source(text='int nowhere();\nextern "C" int solve() { return nowhere(); }\n', problem="p")
    )
    assert [(d.origin, d.text) for d in built.diagnostics] == [("linker", "undefined reference to `nowhere()'")]


async def test_a_host_file_that_is_included_is_not_shown(shared_builder: Builder, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish is the password\n")
    built = await shared_builder.build(Source(text=f'#include "{secret}"\nint main() {{ return 0; }}\n'))
    assert built.status == "failed"
    assert "swordfish" not in built.model_dump_json()
    assert str(tmp_path) not in "".join(d.text for d in built.diagnostics)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "empty"),
        (" \n\t\n", None, "empty"),
        ("int main() {\n\0}", 2, "NUL"),
        ("int a;\nint b; // \udcff", 2, "UTF-8"),
    ],
)
async def test_text_that_is_none_fails_with_a_remedy(shared_builder: Builder, text, line, says):
    built = await shared_builder.build(Source(text=text))
    assert built.status == "failed"
    assert says in built.diagnostics[0].text
    assert built.diagnostics[0].place.line == line


async def test_a_source_that_is_too_long_is_a_bad_request(shared_builder: Builder):
    with pytest.raises(BadRequest, match="at most 1000000"):
        await shared_builder.build(Source(text="x" * (MAX_SOURCE_BYTES + 1)))


async def test_a_megabyte_of_comments_compiles(shared_builder: Builder):
    text = "// " + "x" * (MAX_SOURCE_BYTES - 100) + "\nint main() { return 0; }\n"
    assert (await shared_builder.build(Source(text=text))).status == "compiled"


async def test_refused_flags_and_architectures_raise(shared_builder: Builder):
    with pytest.raises(BadRequest, match="-Xcompiler"):
        await shared_builder.build(Source(text=SAXPY, options=BuildOptions(flags=("-Xcompiler", "-O2"))))
    with pytest.raises(BadRequest, match="sm_20"):
        await shared_builder.build(Source(text=SAXPY, options=BuildOptions(arch="sm_20")))


async def test_the_key_tells_apart_what_builds_differently(shared_builder: Builder):
    base = Source(text=SAXPY, problem="p")
    variants = [
        base,
        Source(text=SAXPY),
        Source(text=SAXPY + " ", problem="p"),
        Source(text=SAXPY, problem="p", options=BuildOptions(arch="sm_90a")),
        Source(text=SAXPY, problem="p", options=BuildOptions(flags=("-O2",))),
    ]
    assert len({shared_builder.key(source) for source in variants}) == len(variants)
    assert shared_builder.key(base) == shared_builder.key(Source(text=SAXPY, problem="another problem"))


@pytest.mark.parametrize(
    ("status", "signal", "stderr"),
    [
        (1, None, b"/tmp/x.s: Fatal error: can't write 10 bytes: No space left on device\n"),
        (9, None, b"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n"),
        (None, "SIGKILL", b""),
    ],
)
async def test_trouble_of_the_machine_is_not_the_sources_failure_and_not_cached(
    make_builder, toolkit, tmp_path, status, signal, stderr
):
    class Troubled:
        level = "full"

        async def run(self, *_arguments, **_settings):
            captured = Captured(stderr, b"", len(stderr))
            return ProcessResult(
                status, signal, timed_out=False, output_limited=False, stdout=captured, stderr=captured, duration_s=0.1
            )

    builder = make_builder(toolkit, tmp_path)
    builder._confinement = Troubled()
    for _ in range(2):
        built = await builder.build(Source(text="int main() {}"))
        assert (built.status, built.cached) == ("unavailable", False)
        assert "again" in (built.reason or "")


async def test_a_time_out_is_not_cached(make_builder, toolkit, tmp_path):
    class Slow:
        level = "full"

        async def run(self, *_arguments, **_settings):
            nothing = Captured(b"", b"", 0)
            return ProcessResult(
                None, "SIGTERM", timed_out=True, output_limited=False, stdout=nothing, stderr=nothing, duration_s=1
            )

    builder = make_builder(toolkit, tmp_path)
    builder._confinement = Slow()
    for _ in range(2):
        built = await builder.build(Source(text="int main() {}"))
        assert (built.status, built.cached) == ("timed_out", False)


async def test_equal_builds_at_the_same_time_run_nvcc_once(toolkit, make_builder, tmp_path):
    builder = make_builder(toolkit, tmp_path)
    source = Source(text="int main() { return 3; }\n")
    results = await asyncio.gather(*(builder.build(source) for _ in range(3)))
    assert sorted(result.cached for result in results) == [False, True, True]


async def test_work_directories_are_removed_also_when_cancelled(toolkit, make_builder, tmp_path):
    builder = make_builder(toolkit, tmp_path)
    task = asyncio.create_task(builder.build(Source(text=SAXPY, problem="p")))
    while not list((tmp_path / "work").glob("build-*/*.cu")):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((tmp_path / "work").iterdir()) == []
