"""The engine, built once, and what compiles and runs programs on it."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.tools.engine.build import EngineInstallation, install_engine
from cudanalyst.tools.process import ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.toolchain.discovery import Toolkit, find_toolkit

COMPILE_TIMEOUT_S = 400
RUN_TIMEOUT_S = 30


@dataclass(frozen=True)
class Run:
    """How a process on the engine ended, and its report."""

    process: ProcessResult
    report: list[dict[str, object]]

    @property
    def output(self) -> str:
        """Standard output."""
        return self.process.stdout.text

    def of_type(self, kind: str) -> list[dict[str, object]]:
        """The report's records of one type."""
        return [record for record in self.report if record["type"] == kind]


@dataclass(frozen=True)
class Bench:
    """Compiles CUDA sources for the engine, each once, and runs what came of them."""

    engine: EngineInstallation
    toolkit: Toolkit
    folder: Path

    def compile(self, source: str, *flags: str) -> Path:
        """A program or, with `-shared`, a library; machine code and PTX embedded as the toolchain does it."""
        name = hashlib.sha256("\n".join([source, *flags]).encode()).hexdigest()[:16]
        output = self.folder / name
        if output.exists():
            return output
        text = self.folder / f"{name}.cu"
        text.write_text(source)
        library = self.engine.library_dir
        code = (
            () if any("-gencode" in flag for flag in flags) else ("-gencode=arch=compute_90,code=[sm_90,compute_90]",)
        )
        argv = [
            self.toolkit.nvcc, "-std=c++17", *code, "-lineinfo", "-compress-mode=none", "-cudart", "none", f"-L{library}",
            "-l:libcudart.so.13", "-Xlinker", f"-rpath={library}", *flags, text, "-o", output,
        ]  # fmt: skip
        result = asyncio.run(run_process(argv, timeout_s=COMPILE_TIMEOUT_S))
        assert result.exit_status == 0, result.stderr.text
        return output

    def start(self, *argv: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Run:
        """Runs a command with a report."""
        report = self.folder / "report.jsonl"
        report.unlink(missing_ok=True)
        environment = scrubbed_environment({"CUDANALYST_REPORT": str(report), **(env or {})})
        process = asyncio.run(run_process(list(argv), env=environment, cwd=cwd, timeout_s=RUN_TIMEOUT_S))
        lines = report.read_text().splitlines() if report.exists() else []
        return Run(process, [json.loads(line) for line in lines])

    def run(self, source: str, *flags: str, env: Mapping[str, str] | None = None) -> Run:
        """Compiles and runs a program."""
        return self.start(self.compile(source, *flags), env=env)


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    """The CUDA toolkit of this machine."""
    return asyncio.run(find_toolkit())


@pytest.fixture(scope="session")
def engine(toolkit: Toolkit) -> EngineInstallation:
    """The engine, built on first use of this version of it."""
    return asyncio.run(install_engine(cuda_include=toolkit.include))


@pytest.fixture(scope="session")
def bench(engine: EngineInstallation, toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Compiles and runs."""
    return Bench(engine, toolkit, tmp_path_factory.mktemp("bench"))
