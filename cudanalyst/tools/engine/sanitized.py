"""The engine's library once more, watched by AddressSanitizer and UndefinedBehaviorSanitizer, to debug the engine itself.

    python -m cudanalyst.tools.engine.sanitized

prints the settings with which any program that was built for the engine runs on it.
"""

import asyncio
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.build import (
    LIBRARY_PARTS,
    Progress,
    build_version,
    cache_directory,
    compile_objects,
    find_host_compiler,
    link_runtime,
    locked,
)
from cudanalyst.tools.engine.objects import (
    COMMON_FLAGS,
    SANITIZER_FLAGS,
    SOURCES,
    Unit,
    prefix_units,
    sanitized,
    units_of,
)
from cudanalyst.tools.engine.symbols import stub_source
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.discovery import find_toolkit

__all__ = ("SanitizedEngine", "install_sanitized_engine")

WATCHED_PARTS: Final = frozenset({"module", "isa", "exec", "check", "memory", "report"})
"""What reads a program's text and runs its kernels; the functions of the API are the objects of the ordinary build."""
WATCHED_FILES: Final = frozenset({"api_fatbin.o", "prof_profile.o"})


@dataclass(frozen=True)
class SanitizedEngine:
    """Where it lies, and the sanitizers' own library, which has to be loaded first."""

    library_dir: Path
    runtime: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a program runs with. Objects with and without the sanitizers share containers, hence one check less."""
        return {
            "LD_LIBRARY_PATH": str(self.library_dir),
            "LD_PRELOAD": str(self.runtime),
            "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:exitcode=86:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }


async def install_sanitized_engine(*, cuda_include: Path, progress: Progress | None = None) -> SanitizedEngine:
    """Builds it, unless this version of it is in the cache."""
    compiler = await find_host_compiler()
    named = await run_process([compiler.path, "-print-file-name=libasan.so"], timeout_s=10)
    runtime = Path(named.stdout.text.strip()).resolve()
    if not runtime.is_absolute() or not runtime.is_file():
        raise Unavailable(f"{compiler.path} has no AddressSanitizer (libasan.so).")
    store = cache_directory() / "engine"
    store.mkdir(parents=True, exist_ok=True)
    root = store / f"{build_version(compiler, cuda_include)}-sanitized"
    if not root.is_dir():
        async with locked(store / ".lock-sanitized", progress):
            if not root.is_dir():
                work = Path(tempfile.mkdtemp(prefix="tmps-", dir=store))
                try:
                    (work / "obj").mkdir()
                    (work / "lib").mkdir()
                    include = ("-I", str(SOURCES), "-isystem", str(cuda_include))
                    stubs = work / "obj" / "stubs.cpp"
                    stubs.write_text(stub_source(SOURCES / "api"), encoding="utf-8")
                    plain = [Unit(stubs, (*COMMON_FLAGS, "-O0"), "api_stubs.o")]
                    watched: list[Unit] = []
                    for part in LIBRARY_PARTS:
                        for unit in units_of(part, include):
                            chosen = part in WATCHED_PARTS or unit.object_name in WATCHED_FILES
                            (watched if chosen else plain).append(unit)
                    headers = prefix_units(include)
                    await compile_objects(compiler, cuda_include, headers, plain, work, progress)
                    for header in headers:
                        (work / "obj" / f"{header.source.name}.gch").unlink()
                    hot, *_ = (sanitized(header) for header in headers)
                    watched = [Unit(u.source, sanitized(u).flags, u.object_name, hot.source) for u in watched]
                    await compile_objects(compiler, cuda_include, [hot], watched, work, progress)
                    names = [str(work / "obj" / unit.object_name) for unit in (*plain, *watched)]
                    await link_runtime(compiler, names, work / "lib", *SANITIZER_FLAGS)
                    shutil.rmtree(work / "obj")
                    work.rename(root)
                finally:
                    shutil.rmtree(work, ignore_errors=True)
    return SanitizedEngine(root / "lib", runtime)


async def _main() -> None:
    toolkit = await find_toolkit()
    made = await install_sanitized_engine(
        cuda_include=toolkit.include, progress=lambda line: print(line, file=sys.stderr)
    )
    print(" ".join(f"{name}={value}" for name, value in made.environment.items()))


if __name__ == "__main__":
    asyncio.run(_main())
