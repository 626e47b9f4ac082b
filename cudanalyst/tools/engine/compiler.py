"""What the engine is built with: the machine's own g++ and the CUDA toolkit's headers."""

import functools
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process

OLDEST_COMPILER: Final = 11


@dataclass(frozen=True)
class HostCompiler:
    """A g++ that can build the engine."""

    path: Path
    version: str


async def find_host_compiler(environment: Mapping[str, str] | None = None) -> HostCompiler:
    """Finds g++: `$CXX` if it is set, else `g++` on PATH.

    Raises:
        Unavailable: there is none, or it is too old for C++20.
    """
    environment = os.environ if environment is None else environment
    wanted = environment.get("CXX") or "g++"
    found = shutil.which(wanted, path=environment.get("PATH"))
    if found is None:
        raise Unavailable(
            f"The C++ compiler {wanted!r} was not found; nvcc and the CPU engine both need it. "
            "Install g++ 11 or newer (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++), or set CXX to one."
        )
    result = await run_process([found, "-dumpfullversion", "-dumpversion"], timeout_s=20)
    version = result.stdout.text.strip()
    if result.exit_status != 0 or not version.split(".")[0].isdigit():
        raise Unavailable(
            f"{found} did not say its version (is it g++?): {result.stderr.text[:500]}. Set CXX to a g++ 11 or newer."
        )
    if int(version.split(".")[0]) < OLDEST_COMPILER:
        raise Unavailable(
            f"{found} is version {version}; the CPU engine needs g++ {OLDEST_COMPILER} or newer. Set CXX to one."
        )
    return HostCompiler(Path(found), version)


def check_headers(cuda_include: Path) -> None:
    """Sees to it that the toolkit's headers are there and of CUDA 13.

    Raises:
        Unavailable: they are not.
    """
    header = cuda_include / "cuda_runtime_api.h"
    remedy = "Install the `cuda` extra (nvidia-cuda-nvcc and nvidia-cuda-runtime 13.0.x) or a CUDA 13.0 toolkit."
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Unavailable(f"The CUDA headers were not found ({header}: {error.strerror}). {remedy}") from error
    version = next(
        (line.split()[-1] for line in text.splitlines() if line.startswith("#define CUDART_VERSION")), "unknown"
    )
    if not version.startswith("13"):
        raise Unavailable(f"{header} is of CUDA version {version}; the CPU engine implements that of CUDA 13. {remedy}")


@functools.cache
def processor() -> str:
    """What `-march=native` depends on: a cache shared between machines must not mix them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


def native_flags(machine: str) -> tuple[str, ...]:
    """The engine is used only on the machine that builds it, so it may use all of its instructions."""
    return ("-march=native",) if machine in {"x86_64", "AMD64"} else ("-mcpu=native",)
