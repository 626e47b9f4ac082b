"""The `cpu` toolchain: nvcc compiles, and the CPU engine runs the embedded PTX."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.debug import ALL_CHECKS, Check
from cudanalyst.tools.engine.build import (
    DRIVER_NAME,
    EngineInstallation,
    cache_directory,
    find_host_compiler,
    install_engine,
)
from cudanalyst.tools.model.kernel import KernelCode
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.sass import SassKernel
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.toolchain.absent import no_build, no_capabilities
from cudanalyst.tools.toolchain.builder import Builder, Compiler
from cudanalyst.tools.toolchain.cache import BuildCache
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.confinement import find_confinement
from cudanalyst.tools.toolchain.cpu_native import RUN_MEMORY, EngineRun, Mode, run_environment, run_natively
from cudanalyst.tools.toolchain.disassembly import Disassembler
from cudanalyst.tools.toolchain.discovery import Toolkit, find_tool, find_toolkit
from cudanalyst.tools.toolchain.execution import RUN_OUTPUT_LIMIT, check_failure, unavailable
from cudanalyst.tools.toolchain.executor import Starter, confined
from cudanalyst.tools.toolchain.exports import exports
from cudanalyst.tools.toolchain.nvcc import NvccPaths
from cudanalyst.tools.toolchain.outcome import Unrecordable
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    Capabilities,
    ComparisonRequest,
    Execution,
    ExecutionRequest,
    Sanitization,
)
from cudanalyst.tools.toolchain.recording import Recorder
from cudanalyst.tools.toolchain.replaying import Code, Replaying, as_native, replay
from cudanalyst.tools.toolchain.report import COVERAGE, findings
from cudanalyst.tools.toolchain.workspace import Workspace, remove_stale

DEVICE: Final = "cpu-engine"
NO_TIMING: Final = "the CPU engine interprets: how long it takes says nothing of a GPU; start the server on a machine with one (toolchain gpu)"
SEPARATE_MEMORY: Final = Unrecordable(
    "what init allocates lies side by side in one piece of memory where it is replayed, which would hide that one allocation is overrun into the next"
)
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
            return no_capabilities("cpu", str(error))
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
            return no_build("cpu", source, str(error), started)
        built = await parts.builder.build(source)
        return built.model_copy(update={"measured_on": self._measured_on(parts)})

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build plainly, its blocks spread over the processor's cores."""
        threads = min(_MAX_THREADS, len(os.sched_getaffinity(0)))
        return await self._execute(build, request, "run", {"CUDANALYST_THREADS": str(threads)})

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Runs a build under one check."""
        execution = await self._execute(build, request, "check", {"CUDANALYST_CHECKS": check})
        return Sanitization(
            check=check,
            execution=execution,
            findings=findings(execution.report, check),
            failed=check_failure(execution),
            coverage=COVERAGE[check],
        )

    async def compare(
        self,
        candidate: Build,  # noqa: ARG002 - the protocol's
        baseline: Build,  # noqa: ARG002
        requests: Sequence[ComparisonRequest],
    ) -> tuple[Comparison | Uncompared, ...]:
        """Not here."""
        return (Uncompared(reason=NO_TIMING),) * len(requests)

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build with counters."""
        sample = request.sample_warp_instructions if isinstance(request, CandidateRequest) else None
        settings = {} if sample is None else {"CUDANALYST_SAMPLE": str(sample)}
        return await self._execute(build, request, "profile", settings)

    async def machine_code(self, build: Build) -> tuple[SassKernel, ...]:
        """The machine code that the same compiler made for the device of the build's target; the engine does not run it.

        Raises:
            Unavailable: The disassembler or the machine code is missing; the text says what to do.
        """
        parts = await self._ready()
        return await Disassembler(
            parts.toolkit.root, parts.confinement, self._environment, self._cache / "work"
        ).kernels(build)

    async def laid_out(self, build: Build, arch: str) -> dict[str, KernelCode]:
        """The kernels of a build as a device of the architecture would run them, for the model of time.

        Raises:
            Unavailable: The disassembler or the machine code is missing; the text says what to do.
        """
        parts = await self._ready()
        where = Disassembler(parts.toolkit.root, parts.confinement, self._environment, self._cache / "work")
        return await where.codes(build, arch)

    async def _execute(
        self, build: Build, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]
    ) -> Execution:
        """Candidates are recorded and replayed, as far as that goes; programs are their own processes."""
        if build.binary is None:
            return unavailable(f"there is no binary to run: the build's status is {build.status}")
        try:
            parts = await self._ready()
        except Unavailable as error:
            return unavailable(str(error))
        if not isinstance(request, CandidateRequest):
            return await self._natively(parts, build.binary, request, mode, settings)
        if mode == "check" and exports(build.binary, "init"):
            replayed: Execution | Unrecordable = SEPARATE_MEMORY
        else:
            replayed = await replay(self._replaying(parts, request, mode, settings), build, request)
        if isinstance(replayed, Execution):
            return replayed
        native = await self._natively(parts, build.binary, request, mode, settings)
        return as_native(native, replayed)

    async def _natively(
        self, parts: _Parts, binary: Path, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]
    ) -> Execution:
        where = EngineRun(
            parts.engine.runner, parts.engine.root, parts.toolkit.root, parts.confinement, self._cache / "work"
        )
        return await run_natively(where, binary, request, mode, settings)

    def _replaying(
        self, parts: _Parts, request: CandidateRequest, mode: Mode, settings: Mapping[str, str]
    ) -> Replaying:
        def starter(work: Workspace, code: Code) -> Starter:
            return confined(
                parts.confinement,
                work.path,
                run_environment(work, request, mode, settings),
                readable=(parts.engine.root, code.image.parent),
                memory_bytes=RUN_MEMORY[mode],
                output_limit=RUN_OUTPUT_LIMIT,
            )

        checks = {name: value for name, value in settings.items() if name == "CUDANALYST_CHECKS"}
        return Replaying(
            recorder=Recorder(
                parts.engine.runner,
                (parts.engine.root,),
                parts.confinement,
                self._cache / "work",
                {str(parts.toolkit.root): "<toolkit>"},
            ),
            executor=parts.engine.executor,
            starter=starter,
            driver=parts.engine.library_dir / DRIVER_NAME,
            recorder_settings={"CUDANALYST_MODE": mode, **checks},
            poison=request.guard_bytes > 0,
        )
