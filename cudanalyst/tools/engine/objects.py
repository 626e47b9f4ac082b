"""The engine's source files, and how each becomes an object."""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
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
OPTIMISATION: Final[Mapping[str, str]] = {"runner": "-O1", "sandbox": "-O1", "api": "-O1"}
CORE_PARTS: Final = frozenset({"module", "isa", "exec", "check", "prof", "memory", "report"})
# The interpreter's loops over lanes must become vector code; -O3 would double the compile time for no gain.
CORE_FLAGS: Final = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic")
CORE_PREFIX: Final = SOURCES / "exec" / "prefix.hpp"
"""Standard headers that every file of the core includes; precompiled, since parsing them is most of the work."""

_INCLUDE: Final = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """One source file on its way to an object."""

    source: Path
    flags: tuple[str, ...]
    object_name: str


def source_files() -> tuple[Path, ...]:
    """Every file that the build reads, in a fixed order."""
    return tuple(sorted(path for path in SOURCES.rglob("*") if path.suffix in {".cpp", ".hpp", ".inc", ".txt", ".map"}))


def units_of(part: str, include: Sequence[str]) -> tuple[Unit, ...]:
    """The sources of one part (a folder) with their flags."""
    flags: tuple[str, ...] = (*COMMON_FLAGS, *WARNING_FLAGS)
    # One precompiled header serves all of the core, which therefore has the same flags throughout.
    flags += (*CORE_FLAGS, *native_flags(platform.machine())) if part in CORE_PARTS else (OPTIMISATION[part],)
    return tuple(
        Unit(source, (*flags, *include), f"{part}_{source.stem}.o") for source in sorted((SOURCES / part).glob("*.cpp"))
    )


def object_key(unit: Unit, compiler: HostCompiler, cuda_include: Path) -> str:
    """Names an object by what it was compiled from, so that a changed or interrupted build compiles only what it must."""
    digest = hashlib.sha256("\n".join([str(compiler.path), compiler.version, processor(), *unit.flags]).encode())
    waiting, seen = [unit.source, CORE_PREFIX], set[Path]()
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
    digest.update((cuda_include / "cuda_runtime_api.h").read_bytes())
    return digest.hexdigest()[:32]
