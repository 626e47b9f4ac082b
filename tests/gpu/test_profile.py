"""Profiling on a real device: passes, the counters of known kernels, the same result model, and how ncu ends.

Records: `profile/table.json` (what was measured), `profile/*.txt` (ncu's logs), `profile/*.csv` (its CSV pages), `profile/*.json` (reports as read).
"""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.counter_gain import measured_bound
from cudanalyst.tools.process import run_process
from cudanalyst.tools.profile import ProfileRequest, ProfileResult, profile
from cudanalyst.tools.sass import decode
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.disassembly import find_nvdisasm
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.ncu.argv import LOG, REPORT, collect_prefix, page_argv
from cudanalyst.tools.toolchain.ncu.collect import Collection, find_ncu, tool_environment
from cudanalyst.tools.toolchain.ncu.csv_pages import parse_pages
from cudanalyst.tools.toolchain.ncu.reading import read_report, reading
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.paths import PathNames
from tests.gpu.leases import holding
from tests.profile_pages import differences

pytestmark = [pytest.mark.anyio, pytest.mark.gpu]
SECRET = b"a secret of the GPU tests"
CATALOGUE = Catalogue()
MOST_PASSES = {"quick": 6, "standard": 14, "full": 38}
PROBE = Path(__file__).parents[1] / "tools/toolchain/ncu/data/ncu-2025.3.1/probe.cu"
NAMES = PathNames("probe.cu", {str(PROBE.parent): ""})
BOUNDS = {
    "stream_add": "dram", "strided_copy": "l2", "transpose_conflict": "shared_memory", "fma_bound": "fp32", "wmma_gemm": "l1",
    "spilling": "l2", "divergent": "issue",
}  # fmt: skip
MEASURED: dict[str, object] = {}


@pytest.fixture(scope="module", autouse=True)
def measured(record):
    yield
    record("profile/table", MEASURED)


@pytest.fixture(scope="module")
def gpu(anyio_backend) -> GpuToolchain:
    return GpuToolchain(progress=print)


@pytest.fixture(scope="module")
def ncu() -> Path:
    found = find_ncu({"PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin"})
    if found is None:
        pytest.skip("ncu is not installed")
    return found


@pytest.fixture(scope="module")
async def probe(anyio_backend, tmp_path_factory) -> Path:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    program = tmp_path_factory.mktemp("probe") / "probe"
    argv = [nvcc, "-O3", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo", "-o", program, PROBE]
    built = await run_process(argv, timeout_s=120)
    assert built.exit_status == 0, built.stderr.text
    return program


async def collect(
    ncu: Path,
    program: Path,
    mode: str,
    selection: Selection,
    *,
    stdin: bytes = b"",
    limit_s: float = 90.0,
):
    """A program under ncu: the collection in a folder of its own, how the process ended, and the seconds."""
    collection = Collection(ncu, Path(tempfile.mkdtemp(prefix="ncu-test-")), selection)
    prefix = collect_prefix(ncu, collection.work, selection, only_between=False)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **tool_environment(collection.work)}
    async with holding("exclusive"):  # ncu sets clocks
        started = time.perf_counter()
        process = await run_process(
            [*prefix, program, mode], cwd=collection.work, env=environment, stdin=stdin, timeout_s=limit_s
        )
    return collection, process, time.perf_counter() - started


@pytest.fixture(scope="module")
async def collected(anyio_backend, ncu, probe, record):
    """All kernels under the standard set, once: the collection and the report as the package (or the pages) gave it."""
    collection, process, seconds = await collect(ncu, probe, "all", Selection())
    log = collection.log(process)
    record("profile/standard.txt", (collection.work / LOG).read_text())
    assert log.failure() is None, (log, process.stderr.text)
    assert not log.missing, f"ncu has no counter {log.missing}"
    assert log.passes <= MOST_PASSES["standard"]
    started = time.perf_counter()
    report = await read_report(collection.work / REPORT, ncu)
    MEASURED["standard_kernels"] = {
        "passes": log.passes,
        "ncu_s": seconds,
        "reading_s": time.perf_counter() - started,
        "reader": report.reader,
    }
    record("profile/standard.json", report.model_dump_json())
    return collection, report


async def test_known_kernels_are_bound_by_what_they_were_written_for(collected):
    kernels = {k.name.partition("(")[0]: k for k in hardware_kernels(collected[1], show_file=NAMES.name)}
    bounds = {name: measured_bound(kernel) for name, kernel in kernels.items()}
    MEASURED["standard_bounds"] = bounds
    assert {name: bounds[name] for name in BOUNDS} == BOUNDS
    worst = max(kernels["transpose_conflict"].lines, key=lambda line: line.shared_wavefronts or 0)
    assert (worst.file, worst.line) == ("probe.cu", 25)
    assert kernels["wmma_gemm"].tensor == {"HMMA.16816.F32": 524288}


async def test_a_disassembly_of_the_same_code_says_what_the_package_is_slow_to_tell(collected, ncu, tmp_path):
    collection, report = collected
    if report.reader == "csv":
        pytest.skip("the ncu-report package is not installed")
    nvcc = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    cubin = tmp_path / "probe.cubin"
    built = await run_process([nvcc, "-O3", "-arch=sm_90", "-lineinfo", "-cubin", "-o", cubin, PROBE], timeout_s=120)
    assert built.exit_status == 0, built.stderr.text
    disassembler = find_nvdisasm({"PATH": str(nvcc.parent)}, (nvcc.resolve().parent.parent,))
    if disassembler is None:
        pytest.skip("nvdisasm is not installed")
    listing = await run_process([disassembler, "-gi", "-c", cubin], timeout_s=60, capture_bytes=64 << 20)
    code = dict(decode(listing.stdout.text))
    async with reading() as reader:
        started = time.perf_counter()
        quickly = await reader.read(collection.work / REPORT, ncu, code)
        MEASURED["reading_with_disassembly_s"] = time.perf_counter() - started
    assert not any(one.text for action in quickly.actions for one in action.instructions)
    assert hardware_kernels(quickly, code=code) == hardware_kernels(report, code=code)


async def test_the_csv_pages_say_the_same_as_the_package(collected, ncu, record):
    collection, report = collected
    if report.reader == "csv":
        pytest.skip("the ncu-report package is not installed")
    pages = await asyncio.gather(
        *(
            run_process(page_argv(ncu, collection.work / REPORT, page), timeout_s=60, capture_bytes=64 << 20)
            for page in ("raw", "source")
        )
    )
    for page, printed in zip(("raw", "source"), pages, strict=True):
        record(f"profile/all_{page}.csv", printed.stdout.text)
        assert printed.exit_status == 0, printed.stdout.text + printed.stderr.text
    by_csv = hardware_kernels(parse_pages(*(one.stdout.text for one in pages)))
    by_package = hardware_kernels(report)
    assert {kernel.name for kernel in by_csv} == {kernel.name for kernel in by_package}
    assert not differences(by_csv, by_package)


async def test_selections_and_ends(ncu, probe, record):
    """One launch of a kernel by a part of its demangled name in a program that reads its input, a crash, a program without kernels."""
    ends = {}
    for name, mode, selection, stdin in (
        ("chosen", "stdin", Selection("quick", "stream_add(const float4", 1), b"64\n"),
        ("crash", "crash", Selection("quick"), b""),
        ("nokernel", "nokernel", Selection("quick"), b""),
    ):
        collection, process, seconds = await collect(ncu, probe, mode, selection, stdin=stdin, limit_s=40)
        log = collection.log(process)
        said = (collection.work / LOG).read_text() if (collection.work / LOG).exists() else ""
        record(f"profile/{name}.txt", said + process.stdout.text)
        ends[name] = (process.exit_status, log.profiled, log.ended)
        MEASURED[name] = {"seconds": seconds, "exit_status": process.exit_status, "log": str(log)}
        if name == "chosen":
            assert process.stdout.text == "read 64\n"  # ncu's own words are in the log
            assert log.passes <= MOST_PASSES["quick"]
    assert {name: end[1] for name, end in ends.items()} == {"chosen": 1, "crash": 0, "nokernel": 0}
    assert ends["crash"][0] != 0
    assert ends["nokernel"][0] == 0


async def test_a_program_that_hangs_is_ended_with_ncu(ncu, probe):
    started = time.perf_counter()
    _, process, _ = await collect(ncu, probe, "hang", Selection("quick"), limit_s=2.5)
    assert process.timed_out
    assert time.perf_counter() - started < 15


@pytest.mark.parametrize("metrics", ["standard", "full"])
async def test_a_candidate_is_profiled_through_its_replay(metrics, gpu, record):
    problem = CATALOGUE.problem("matmul")
    source = Source(text=problem.baseline, problem=problem.id, options=BuildOptions())
    started = time.perf_counter()
    result = await profile(source, problem, gpu, ProfileRequest(metrics=metrics, sass=metrics == "full"), secret=SECRET)
    record(f"profile/matmul_{metrics}", result.model_dump_json(indent=1))
    assert result.status == "profiled", result.reason or result.summary
    kernel = result.kernels[0]
    MEASURED[f"matmul_{metrics}"] = {
        "s": time.perf_counter() - started,
        "passes": kernel.passes,
        "bound": kernel.bound,
        "summary": result.summary,
        "insights": [insight.message for insight in result.insights],
    }
    assert result.level == "sass"
    assert kernel.passes <= MOST_PASSES[metrics]
    assert kernel.duration_us > 0
    assert kernel.bound is not None
    assert ProfileResult.model_validate_json(result.model_dump_json()) == result
    assert kernel.stalls
    assert {line.file for line in kernel.lines} >= {"candidate.cu"}
    assert kernel.instruction_mix["fp32"] > 0
    assert kernel.bound not in {"launch", "tail"}, "the size that was chosen does not fill the GPU"
    if metrics == "full":
        assert kernel.rules
        assert result.sass or "nvdisasm" in result.sass_reason


async def test_a_filter_that_matches_nothing_names_the_candidates_kernels(gpu):
    problem = CATALOGUE.problem("matmul")
    source = Source(text=problem.baseline, problem=problem.id, options=BuildOptions())
    result = await profile(source, problem, gpu, ProfileRequest(metrics="quick", kernel="nosuchkernel"), secret=SECRET)
    MEASURED["filter"] = result.reason
    assert result.status == "unavailable"
    assert "0 kernels matched `nosuchkernel`" in result.reason
