"""The engine's source files, and how each becomes an object."""

import hashlib
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.tools.engine.compiler import HostCompiler, native_flags, processor

SOURCES: Final = Path(__file__).parent / "src"
"""Beside this file in a checkout and in an installed wheel alike."""

# -ffp-contract=off: a contracted multiply-add would round once where PTX asks for two roundings.
COMMON_FLAGS: Final = (
    "-std=c++20",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-pthread",
)
WARNING_FLAGS: Final = ("-Wall", "-Wextra")
# The interpreter's loops over lanes must become vector code; -O3 would double the compile time for no gain.
HOT_FLAGS: Final = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic")
COLD_FLAGS: Final = ("-O1",)
HOT_PARTS: Final = frozenset({"isa", "exec", "check", "prof"})
# Calls in place of inlined checks, and no optimisation: compiling, not running, is what takes time.
SANITIZER_FLAGS: Final = (
    "-O0",
    "-g1",
    "-fsanitize=address,shift,signed-integer-overflow,integer-divide-by-zero,bounds,bool,enum,return",
    "--param=asan-instrumentation-with-call-threshold=0",
    "-Wno-maybe-uninitialized",
)
# Of the hot parts: what happens once a module, a launch or a finding.
COLD_FILES: Final = frozenset(
    {"isa/program.cpp", "isa/table.cpp", "exec/stop.cpp", "exec/builtins.cpp", "check/findings.cpp"}
)
HOT_PREFIX: Final = SOURCES / "prefix" / "hot.hpp"
COLD_PREFIX: Final = SOURCES / "prefix" / "cold.hpp"
"""Headers that files include anyway; precompiled, since parsing them is most of the work. Each serves one set of flags."""

_INCLUDE: Final = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """One source file on its way to an object."""

    source: Path
    flags: tuple[str, ...]
    object_name: str
    prefix: Path | None = None
    """The header to include first, precompiled with the same flags."""


def source_files() -> tuple[Path, ...]:
    """Every file that the build reads, in a fixed order."""
    return tuple(sorted(path for path in SOURCES.rglob("*") if path.suffix in {".cpp", ".hpp", ".inc", ".txt", ".map"}))


def units_of(part: str, include: Sequence[str]) -> tuple[Unit, ...]:
    """The sources of one part (a folder) with their flags."""
    return tuple(_unit(part, source, include) for source in sorted((SOURCES / part).glob("*.cpp")))


def _unit(part: str, source: Path, include: Sequence[str]) -> Unit:
    hot = part in HOT_PARTS and f"{part}/{source.name}" not in COLD_FILES
    return Unit(source, _flags(include, hot=hot), f"{part}_{source.stem}.o", HOT_PREFIX if hot else COLD_PREFIX)


def sanitized(unit: Unit) -> Unit:
    """The same file, not optimised, and watched by AddressSanitizer and UndefinedBehaviorSanitizer."""
    return Unit(
        unit.source,
        (*(f for f in unit.flags if not f.startswith(("-O", "-m", "-ftree", "-fvect"))), *SANITIZER_FLAGS),
        unit.object_name,
        unit.prefix,
    )


def prefix_units(include: Sequence[str]) -> tuple[Unit, ...]:
    """The headers to precompile."""
    return tuple(
        Unit(header, (*_flags(include, hot=header == HOT_PREFIX), "-x", "c++-header", "-w"), f"{header.name}.gch")
        for header in (HOT_PREFIX, COLD_PREFIX)
    )


def _flags(include: Sequence[str], *, hot: bool) -> tuple[str, ...]:
    own = (*HOT_FLAGS, *native_flags(platform.machine())) if hot else COLD_FLAGS
    return (*COMMON_FLAGS, *WARNING_FLAGS, *own, *include)


def object_key(unit: Unit, compiler: HostCompiler, cuda_include: Path) -> str:
    """Names an object by what it was compiled from, so that a changed or interrupted build compiles only what it must."""
    digest = hashlib.sha256("\n".join([str(compiler.path), compiler.version, processor(), *unit.flags]).encode())
    waiting, seen = [unit.source, *([unit.prefix] if unit.prefix else [])], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        data = path.read_bytes()
        digest.update(data)
        for name in _INCLUDE.findall(data):
            candidates = (path.parent / name.decode(), SOURCES / name.decode())
            waiting += [found.resolve() for found in candidates if found.is_file()]
    for name in ("cuda.h", "cuda_runtime_api.h"):
        digest.update((cuda_include / name).read_bytes())
    return digest.hexdigest()[:32]
