"""The engine under AddressSanitizer and UndefinedBehaviorSanitizer: programs of every family, faults, misuse, and damaged device code."""

import asyncio
from pathlib import Path

import pytest

from cudanalyst.tools.engine.compiler import find_host_compiler
from cudanalyst.tools.engine.sanitized import SanitizedEngine, install_sanitized_engine
from cudanalyst.tools.process import ProcessResult, run_process
from cudanalyst.tools.toolchain.discovery import Toolkit
from tests.tools.engine.conftest import Bench, Run

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LONGEST_FILE = 800


@pytest.fixture(scope="session")
def sanitized(toolkit: Toolkit) -> SanitizedEngine:
    """Built on first use of this version of the engine."""
    return asyncio.run(install_sanitized_engine(cuda_include=toolkit.include))


def complaints(process: ProcessResult) -> list[str]:
    """What the sanitizers say, each place once, and how it ended if not by itself."""
    lines = [
        line
        for line in process.stderr.text.splitlines()
        if "runtime error:" in line or "ERROR: AddressSanitizer" in line
    ]
    return sorted(set(lines)) + ([process.signal] if process.signal else [])


def run_sanitized(bench: Bench, sanitized: SanitizedEngine, binary: Path, *arguments: str, **settings: str) -> Run:
    return bench.start(binary, *arguments, env=sanitized.environment | settings)


@pytest.mark.parametrize("mode", ["run", "check", "profile"])
def test_everyday_programs_are_right_and_the_sanitizers_silent(
    bench: Bench, sanitized: SanitizedEngine, mode: str
) -> None:
    binary = bench.compile((HERE / "programs" / "everyday.cu").read_text())
    run = run_sanitized(bench, sanitized, binary, CUDANALYST_MODE=mode)
    assert complaints(run.process) == []
    assert run.output.startswith("ok reduce\n")
    assert "failed" not in run.output


@pytest.mark.parametrize("family", ["spaces", "alignment", "race_shared", "sync_warp", "stops"])
def test_faults_are_reported_and_the_sanitizers_silent(bench: Bench, sanitized: SanitizedEngine, family: str) -> None:
    suite = HERE / "suite"
    binary = bench.compile((suite / "faults" / f"{family}.cu").read_text(), f"-I{suite}", f"-I{suite / 'faults'}")
    cases = run_sanitized(bench, sanitized, binary).output.split()
    assert cases
    limit = {"CUDANALYST_MAX_WARP_INSTRUCTIONS": "200000"}
    said = {
        f"{case} {mode}": complaints(
            run_sanitized(bench, sanitized, binary, case, CUDANALYST_MODE=mode, **limit).process
        )
        for case in cases
        for mode in ("run", "check")
    }
    assert {case: lines for case, lines in said.items() if lines} == {}


@pytest.mark.parametrize(("kind", "rounds"), [("ptx", 120), ("fatbin", 60)])
def test_damaged_device_code_is_refused_or_runs_and_never_brings_the_process_down(
    bench: Bench, sanitized: SanitizedEngine, kind: str, rounds: int
) -> None:
    source = HERE / "programs" / "mangled.cu"
    code = bench.folder / f"mangled.{kind}"
    target = {
        "ptx": ("-ptx", "-arch=compute_90"),
        "fatbin": ("-fatbin", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-compress-mode=none"),
    }
    argv: list[str | Path] = [bench.toolkit.nvcc, *target[kind], "-lineinfo", source, "-o", code]
    assert asyncio.run(run_process(argv, timeout_s=60)).exit_status == 0
    compiler = asyncio.run(find_host_compiler())
    driver = bench.folder / "mangle"
    argv = [
        compiler.path, "-std=c++20", "-isystem", bench.toolkit.include, HERE / "mangle.cpp", "-o", driver,
        f"-L{bench.engine.library_dir}", "-l:libcuda.so.1",
    ]  # fmt: skip
    built = asyncio.run(run_process(argv, timeout_s=60))
    assert built.exit_status == 0, built.stderr.text
    for mode in ("run", "check"):
        run = run_sanitized(
            bench,
            sanitized,
            driver,
            str(code),
            "0",
            str(rounds),
            "0",
            "0",
            CUDANALYST_MODE=mode,
            CUDANALYST_MAX_WARP_INSTRUCTIONS="20000",
        )
        assert complaints(run.process) == [], run.process.stderr.text
        loaded, ran = (int(word) for word in run.output.split())
        assert rounds > loaded > rounds // 20
        assert ran > loaded // 4


def test_no_source_file_is_longer_than_a_reader_can_hold() -> None:
    sources = [
        path
        for top in ("cudanalyst", "tests", "benchmarks")
        for ending in ("py", "cpp", "hpp", "cu", "cuh")
        for path in (ROOT / top).rglob(f"*.{ending}")
    ]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in sources}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
