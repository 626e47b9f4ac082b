"""Builds the CPU engine with the machine's own g++ on first use and keeps it in a cache keyed by what it was built from.

The directory of a finished build is renamed into place, so its existence means that it is complete; whoever is killed while
building leaves a temporary directory that the next builder removes.
"""

import asyncio
import contextlib
import fcntl
import functools
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.compiler import HostCompiler, check_headers, find_host_compiler, processor
from cudanalyst.tools.engine.objects import (
    COMMON_FLAGS,
    SOURCES,
    Unit,
    object_key,
    prefix_units,
    source_files,
    units_of,
)
from cudanalyst.tools.engine.symbols import link_flags, stub_source
from cudanalyst.tools.process import run_process

__all__ = ("EngineInstallation", "HostCompiler", "cache_directory", "find_host_compiler", "install_engine")

LIBRARY_PARTS: Final = ("api", "record", "module", "isa", "exec", "check", "prof", "memory", "report")
RUNTIME_NAME: Final = "libcudart.so.13"
DRIVER_NAME: Final = "libcuda.so.1"
RUNNER_NAME: Final = "cudanalyst-runner"
SANDBOX_NAME: Final = "cudanalyst-sandbox"
EXECUTOR_NAME: Final = "cudanalyst-executor"
NATIVE_NAME: Final = "cudanalyst-native"

BUILD_MESSAGE: Final = "building the CPU engine (first use)"
COMPILE_TIMEOUT_S: Final = 600.0
LOCK_POLL_S: Final = 0.1

Progress = Callable[[str], None]


@dataclass(frozen=True)
class EngineInstallation:
    """Where a built engine lies. All paths are absolute; the directory never changes once it exists."""

    root: Path
    library_dir: Path
    """Holds `libcudart.so.13` and `libcuda.so.1`, and the names that `-lcudart` and `-lcuda` look for."""
    runner: Path
    sandbox: Path
    executor: Path
    """Needs no library of this folder: it loads the driver that it is told to (EXECUTOR.md)."""
    native: Path
    """The runner for NVIDIA's runtime, which LD_LIBRARY_PATH must name (`--native`)."""
    version: str
    """Hash of sources, flags, compiler and CUDA headers."""

    @property
    def library(self) -> Path:
        """The engine itself."""
        return self.library_dir / RUNTIME_NAME


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Where builds are kept: `$CUDANALYST_CACHE`, else `$XDG_CACHE_HOME/cudanalyst`, else `~/.cache/cudanalyst`."""
    environment = os.environ if environment is None else environment
    if own := environment.get("CUDANALYST_CACHE"):
        return Path(own).absolute()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared).absolute() / "cudanalyst"
    return Path(environment.get("HOME") or Path.home()).absolute() / ".cache" / "cudanalyst"


def build_version(compiler: HostCompiler, cuda_include: Path) -> str:
    """Names a build by everything that decides its bytes."""
    digest = hashlib.sha256()
    headers = [cuda_include / "cuda_runtime_api.h", cuda_include / "cuda.h"]
    here = Path(__file__).parent
    for path in (*source_files(), *sorted(here.glob("*.py")), *headers):
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode())
        digest.update(data)
    digest.update(
        "\n".join([compiler.version, str(compiler.path), platform.machine(), processor(), str(cuda_include)]).encode()
    )
    return digest.hexdigest()[:32]


async def install_engine(
    *,
    cuda_include: Path,
    cache: Path | None = None,
    progress: Progress | None = None,
    compiler: HostCompiler | None = None,
) -> EngineInstallation:
    """Returns the engine, building it first if this version of it is not in the cache.

    Args:
        cuda_include: The folder of `cuda_runtime_api.h` of the toolkit whose nvcc will be used.
        cache: Overrides `cache_directory()`.
        progress: Is told, in a line each, what takes time.
        compiler: Overrides `find_host_compiler()`.

    Raises:
        Unavailable: no usable g++ or headers, or they cannot build it; the text says what to do.
    """
    compiler = await find_host_compiler() if compiler is None else compiler
    check_headers(cuda_include)
    version = build_version(compiler, cuda_include)
    store = (cache_directory() if cache is None else cache) / "engine"
    root = store / version
    if not root.is_dir():
        try:
            store.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(
                f"The cache {store} cannot be made ({error.strerror}); set CUDANALYST_CACHE to a writable folder."
            ) from error
        async with locked(store / ".lock", progress):
            if not root.is_dir():
                await _build(compiler, cuda_include, root, progress)
    return _installation(root, version)


def _installation(root: Path, version: str) -> EngineInstallation:
    return EngineInstallation(
        root=root,
        library_dir=root / "lib",
        runner=root / "bin" / RUNNER_NAME,
        sandbox=root / "bin" / SANDBOX_NAME,
        executor=root / "bin" / EXECUTOR_NAME,
        native=root / "bin" / NATIVE_NAME,
        version=version,
    )


@contextlib.asynccontextmanager
async def locked(path: Path, progress: Progress | None) -> AsyncIterator[None]:
    """Holds an exclusive lock that the kernel releases when this process dies. Polls, so that waiting can be cancelled."""
    with path.open("w") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if progress and not told:
                    progress("waiting for another process that is building the CPU engine")
                told = True
                await asyncio.sleep(LOCK_POLL_S)
        yield


async def _build(compiler: HostCompiler, cuda_include: Path, root: Path, progress: Progress | None) -> None:
    """Compiles and links into a temporary directory and renames it into place. The caller holds the lock."""
    if progress:
        progress(BUILD_MESSAGE)
    for stale in root.parent.glob("tmp-*"):
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="tmp-", dir=root.parent))
    try:
        await _compile_and_link(compiler, cuda_include, work, progress)
        if build_version(compiler, cuda_include) != root.name:
            raise Unavailable("The sources of the CPU engine changed while it was built; try again.")
        work.chmod(0o755)
        shutil.rmtree(work / "obj")
        work.rename(root)
    finally:
        shutil.rmtree(work, ignore_errors=True)


async def _compile_and_link(compiler: HostCompiler, cuda_include: Path, work: Path, progress: Progress | None) -> None:
    for folder in ("obj", "lib", "bin"):
        (work / folder).mkdir()
    stubs = work / "obj" / "stubs.cpp"
    stubs.write_text(stub_source(SOURCES / "api"), encoding="utf-8")
    include = ("-I", str(SOURCES), "-isystem", str(cuda_include))
    units = {part: units_of(part, include) for part in (*LIBRARY_PARTS, "runner", "sandbox", "executor")}
    units["api"] = (*units["api"], Unit(stubs, (*COMMON_FLAGS, "-O0"), "api_stubs.o"))
    await compile_objects(
        compiler, cuda_include, prefix_units(include), [u for part in units.values() for u in part], work, progress
    )
    objects = {part: [str(work / "obj" / unit.object_name) for unit in members] for part, members in units.items()}
    await link_runtime(compiler, [name for part in LIBRARY_PARTS for name in objects[part]], work / "lib")
    # A candidate's LD_LIBRARY_PATH must not bring in another runtime: RPATH wins over it, RUNPATH does not.
    report = [str(work / "obj" / f"report_{name}.o") for name in ("report", "seal")]
    runner = [*objects["runner"], *report, f"-L{work / 'lib'}", f"-l:{RUNTIME_NAME}", "-ldl", "-pthread"]
    rpath = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"
    await _run(compiler, ["-o", str(work / "bin" / RUNNER_NAME), *runner, rpath], RUNNER_NAME)
    # The same without a place to look: it runs on the runtime of LD_LIBRARY_PATH, which is NVIDIA's.
    await _run(compiler, ["-o", str(work / "bin" / NATIVE_NAME), *runner], NATIVE_NAME)
    await _link_executor(compiler, objects["executor"], work)
    await _link_sandbox(compiler, objects["sandbox"], work / "bin" / SANDBOX_NAME)


async def compile_objects(
    compiler: HostCompiler,
    cuda_include: Path,
    headers: Sequence[Unit],
    units: Sequence[Unit],
    work: Path,
    progress: Progress | None,
) -> None:
    """Compiles into `work/obj` what is not among the objects kept beside `work`."""
    todo = list(units)
    done = 0

    kept = work.parent / "objects"
    kept.mkdir(exist_ok=True)

    prefixes = {unit.source: unit for unit in headers}
    ready = {source: asyncio.Event() for source in prefixes}

    async def make(unit: Unit, kind: str, arguments: Sequence[str]) -> None:
        """Links the object from those kept, where it is new after making it."""
        output = work / "obj" / unit.object_name
        key = object_key(unit, compiler, cuda_include)
        known = kept / f"{key}.{kind}"
        if not known.exists():
            made = work / "obj" / f"new-{unit.object_name}"
            await _run(compiler, [*unit.flags, *arguments, str(unit.source), "-o", str(made)], unit.source.name)
            if object_key(unit, compiler, cuda_include) != key:  # edited meanwhile: it may hold some of both
                made.rename(output)
                return
            made.rename(known)
        os.link(known, output)

    async def precompile(header: Unit) -> None:
        shutil.copyfile(header.source, work / "obj" / header.source.name)
        await make(header, "gch", ())
        ready[header.source].set()

    async def compile_one(unit: Unit) -> None:
        nonlocal done
        prefix: tuple[str, ...] = ()
        if unit.prefix:
            await ready[unit.prefix].wait()
            prefix = ("-include", str(work / "obj" / unit.prefix.name))
        await make(unit, "o", (*prefix, "-c"))
        done += 1
        if progress:
            progress(f"{BUILD_MESSAGE}: {done} of {len(todo)} files")

    # The largest files first: they decide when the last one is done.
    todo.sort(key=lambda unit: unit.source.stat().st_size, reverse=True)
    jobs = [functools.partial(precompile, header) for header in prefixes.values()]
    jobs += [functools.partial(compile_one, unit) for unit in todo]
    await _bounded(jobs, os.cpu_count() or 1)


async def link_runtime(compiler: HostCompiler, objects: Sequence[str], folder: Path, *flags: str) -> None:
    """The engine itself, under all the names that it is looked for."""
    await _run(
        compiler,
        [*flags, "-shared", "-o", str(folder / RUNTIME_NAME), *objects, *link_flags(SOURCES / "api"), f"-Wl,-soname,{RUNTIME_NAME}",
         f"-Wl,--version-script={SOURCES / 'api' / 'exports.map'}", "-Wl,-z,defs", "-pthread", "-ldl"],
        RUNTIME_NAME,
    )  # fmt: skip
    for alias in ("libcudart.so", DRIVER_NAME, "libcuda.so"):
        (folder / alias).symlink_to(RUNTIME_NAME)


async def _link_executor(compiler: HostCompiler, objects: Sequence[str], work: Path) -> None:
    """Without the engine: it loads a driver by itself. Of the engine's code it has the digest."""
    digest = str(work / "obj" / "report_seal.o")
    await _run(
        compiler,
        ["-o", str(work / "bin" / EXECUTOR_NAME), *objects, digest, "-static-libstdc++", "-static-libgcc", "-ldl", "-pthread"],
        EXECUTOR_NAME,
    )  # fmt: skip


async def _link_sandbox(compiler: HostCompiler, objects: Sequence[str], output: Path) -> None:
    """Statically where the system has static libraries: it is started before everything else, and loading costs milliseconds."""
    try:
        await _run(compiler, ["-static", "-o", str(output), *objects], SANDBOX_NAME)
    except Unavailable:
        await _run(compiler, ["-o", str(output), *objects], SANDBOX_NAME)


async def _bounded(jobs: Sequence[Callable[[], Awaitable[None]]], limit: int) -> None:
    """Runs the jobs, at most `limit` at a time; the first failure cancels the rest and is raised as it is."""
    slots = asyncio.Semaphore(limit)

    async def one(job: Callable[[], Awaitable[None]]) -> None:
        async with slots:
            await job()

    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(one(job))
    except* Unavailable as failures:
        raise failures.exceptions[0] from None


async def _run(compiler: HostCompiler, arguments: Sequence[str], what: str) -> None:
    result = await run_process([str(compiler.path), *arguments], timeout_s=COMPILE_TIMEOUT_S)
    if result.timed_out:
        raise Unavailable(
            f"Building the CPU engine: {what} took longer than {COMPILE_TIMEOUT_S:.0f} s. Is the machine overloaded?"
        )
    if result.exit_status != 0:
        how = result.signal or f"exit status {result.exit_status}"
        raise Unavailable(
            f"{compiler.path} {compiler.version} could not build {what} of the CPU engine ({how}); "
            f"try another g++ (set CXX): {result.stderr.text[:2000]}"
        )
