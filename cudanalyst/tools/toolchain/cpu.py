"""The `cpu` toolchain: nvcc compiles, and the CPU engine runs the embedded PTX."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.debug import ALL_CHECKS, Check
from cudanalyst.tools.engine.build import EngineInstallation, cache_directory, find_host_compiler, install_engine
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain import seal
from cudanalyst.tools.toolchain.builder import Builder, Compiler
from cudanalyst.tools.toolchain.cache import BuildCache
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.confinement import DEVICE_MEMORY, find_confinement
from cudanalyst.tools.toolchain.discovery import Toolkit, find_tool, find_toolkit
from cudanalyst.tools.toolchain.execution import REPORT, RUN_OUTPUT_LIMIT, check_failure, read_execution, unavailable
from cudanalyst.tools.toolchain.nvcc import NvccPaths
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    Capabilities,
    Execution,
    ExecutionRequest,
    Sanitization,
)
from cudanalyst.tools.toolchain.report import COVERAGE, findings
from cudanalyst.tools.toolchain.request import render_request
from cudanalyst.tools.toolchain.workspace import Workspace, remove_stale, workspace

Mode = Literal["run", "check", "profile"]
DEVICE: Final = "cpu-engine"
HOST_MEMORY: Final = 12 << 30
"""Address space left to host code and the engine's own data."""
RUN_MEMORY: Final[dict[Mode, int]] = {
    "run": 2 * DEVICE_MEMORY + HOST_MEMORY,
    "profile": 2 * DEVICE_MEMORY + HOST_MEMORY,
    "check": 11 * DEVICE_MEMORY + HOST_MEMORY,
}
"""Address space of a run: the engine maps its device memory twice, and shadows each byte with nine in check mode."""
_MAX_THREADS: Final = 8


@dataclass(frozen=True)
class _Parts:
    toolkit: Toolkit
    engine: EngineInstallation
    confinement: Confinement
    builder: Builder


class CpuToolchain:
    """Builds, runs, checks and profiles on this machine's processor; every process of a candidate is sandboxed.

    Nothing is looked for, and no engine built, before the first call.
    """

    def __init__(
        self,
        *,
        cache: Path | None = None,
        environment: Mapping[str, str] | None = None,
        progress: Callable[[str], None] | None = None,
        allow_unsandboxed: bool = False,
    ) -> None:
        """Sets where things are kept and looked for.

        Args:
            cache: Folder of engine, builds and work directories; None for the user's.
            environment: In place of `os.environ`, for CUDA_HOME, PATH, CXX and CUDANALYST_CACHE.
            progress: Is told, in a line each, what takes long on first use.
            allow_unsandboxed: Run untrusted code where this machine offers no confinement.
        """
        self._environment = os.environ if environment is None else environment
        self._cache = cache_directory(self._environment) if cache is None else cache
        self._progress = progress
        self._allow_unsandboxed = allow_unsandboxed
        self._parts: _Parts | None = None
        self._preparing = asyncio.Lock()

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """`cpu`."""
        return "cpu"

    @property
    def engine(self) -> EngineInstallation | None:
        """The engine that is used; None before the first call."""
        return None if self._parts is None else self._parts.engine

    async def prepare(self) -> None:
        """Finds the compilers and builds the engine, if that was not done.

        Raises:
            Unavailable: Something is missing; the text says how to get it.
        """
        await self._ready()

    async def _ready(self) -> _Parts:
        async with self._preparing:
            if self._parts is None:
                self._parts = await self._find()
            return self._parts

    async def _find(self) -> _Parts:
        toolkit = await find_toolkit(self._environment)
        host = await find_host_compiler(self._environment)
        engine = await install_engine(
            cuda_include=toolkit.include, cache=self._cache, progress=self._progress, compiler=host
        )
        confinement = await find_confinement(engine.sandbox, allow_unsandboxed=self._allow_unsandboxed)
        compiler = Compiler(
            paths=NvccPaths(toolkit.nvcc, host.path, toolkit.library_dirs, engine.library_dir),
            toolkit_root=toolkit.root,
            demangler=find_tool("c++filt", self._environment),
            versions={"nvcc": toolkit.version, "gcc": host.version, "engine": engine.version},
        )
        await asyncio.to_thread(remove_stale, self._cache / "work")
        builder = Builder(compiler, confinement, BuildCache(self._cache / "builds"), self._cache / "work")
        return _Parts(toolkit, engine, confinement, builder)

    async def capabilities(self) -> Capabilities:
        """Everything, or nothing with the reason."""
        try:
            parts = await self._ready()
        except Unavailable as error:
            reasons = dict.fromkeys(("build", "execute", "sanitize", "profile"), str(error))
            return Capabilities(
                build=False,
                execute=False,
                sanitize=(),
                profile=False,
                reasons=reasons,
                measured_on=MeasuredOn(toolchain="cpu"),
            )
        return Capabilities(
            build=True, execute=True, sanitize=ALL_CHECKS, profile=True, measured_on=self._measured_on(parts)
        )

    def _measured_on(self, parts: _Parts) -> MeasuredOn:
        return parts.builder.measured_on().model_copy(update={"device": DEVICE})

    async def build(self, source: Source) -> Build:
        """Compiles for the engine; cached by content, failures too.

        Raises:
            BadRequest: A flag or the architecture is not allowed, or the source is too long.
        """
        started = time.monotonic()
        try:
            parts = await self._ready()
        except Unavailable as error:
            return Build(
                status="unavailable",
                source_id=source.id,
                reason=str(error),
                duration_s=time.monotonic() - started,
                measured_on=MeasuredOn(toolchain="cpu"),
            )
        built = await parts.builder.build(source)
        return built.model_copy(update={"measured_on": self._measured_on(parts)})

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build plainly, its blocks spread over the processor's cores."""
        threads = min(_MAX_THREADS, len(os.sched_getaffinity(0)))
        return await self._run(build, request, "run", {"CUDANALYST_THREADS": str(threads)})

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Runs a build under one check."""
        execution = await self._run(build, request, "check", {"CUDANALYST_CHECKS": check})
        return Sanitization(
            check=check,
            execution=execution,
            findings=findings(execution.report, check),
            failed=check_failure(execution),
            coverage=COVERAGE[check],
        )

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build with counters."""
        return await self._run(build, request, "profile", {})

    async def _run(self, build: Build, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]) -> Execution:
        if build.binary is None:
            return unavailable(f"there is no binary to run: the build's status is {build.status}")
        try:
            parts = await self._ready()
        except Unavailable as error:
            return unavailable(str(error))
        key = seal.new_key()
        with workspace(self._cache / "work") as work:
            if isinstance(request, CandidateRequest):
                text, files = render_request(str(build.binary), request)
                work.write({"request.txt": text.encode(), **files})
                argv: list[str | Path] = [parts.engine.runner, "request.txt"]
                stdin = b""
            else:
                argv = [build.binary, *request.arguments]
                stdin = request.stdin
            try:
                process = await parts.confinement.run(
                    argv,
                    work=work.path,
                    readable=(parts.engine.root, build.binary.parent),
                    env=self._run_environment(work, request, mode, {**settings, seal.VARIABLE: key.hex()}),
                    timeout_s=request.timeout_s,
                    memory_bytes=RUN_MEMORY[mode],
                    purpose="run",
                    stdin=stdin,
                    output_limit=RUN_OUTPUT_LIMIT,
                )
            except Unavailable as error:
                return unavailable(str(error))
            names = PathNames(
                "candidate.cu" if isinstance(request, CandidateRequest) else "program.cu",
                {str(parts.toolkit.root): "<toolkit>", str(self._cache / "work"): "<work>"},
            )
            return read_execution(process, work, request, names, parts.confinement.level, key)

    def _run_environment(
        self, work: Workspace, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]
    ) -> dict[str, str]:
        environment = {
            "CUDANALYST_MODE": mode,
            "CUDANALYST_REPORT": str(work.path / REPORT),
            "CUDANALYST_MEMORY": str(DEVICE_MEMORY),
            "TMPDIR": str(work.path),
            **settings,
        }
        if request.max_warp_instructions is not None:
            environment["CUDANALYST_MAX_WARP_INSTRUCTIONS"] = str(request.max_warp_instructions)
        return environment
