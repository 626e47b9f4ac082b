"""Compiles the variants, each to a shared library, for the CPU engine or for a GPU."""

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Compilers:
    """What compiles, and the runtime that is linked."""

    nvcc: Path
    include: Path
    runtime: Path
    """Folder of libcudart.so.13."""
    cxx: str = "g++"
    arch: str = "90"


@dataclass(frozen=True)
class Built:
    """A problem's libraries."""

    problem: str
    library: Path
    variants: dict[str, Path]
    failed: dict[str, str]


def problems() -> tuple[str, ...]:
    """Names of all problems."""
    return tuple(sorted(path.parent.name for path in HERE.glob("*/problem.cpp")))


def sources(problem: str) -> dict[str, Path]:
    """The variants of a problem."""
    return {path.stem: path for path in sorted((HERE / problem).glob("*.cu"))}


def variant_argv(compilers: Compilers, source: Path, output: Path, *flags: str) -> list[str]:
    """The command that compiles one variant."""
    arch = compilers.arch
    return [
        str(compilers.nvcc), "-O3", "-std=c++17", f"-gencode=arch=compute_{arch},code=[sm_{arch},compute_{arch}]", "-lineinfo",
        "-compress-mode=none", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", f"-L{compilers.runtime}", "-l:libcudart.so.13",
        *flags, str(source), "-o", str(output),
    ]  # fmt: skip


def _host_argv(compilers: Compilers, source: Path, output: Path, *flags: str) -> list[str]:
    return [compilers.cxx, "-O2", "-std=c++20", f"-I{compilers.include}", str(source), "-o", str(output), *flags]


def _compile(argv: Sequence[str], output: Path) -> str | None:
    if output.exists():
        return None
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    return None if done.returncode == 0 else done.stderr[-2000:]


def build(
    compilers: Compilers, folder: Path, chosen: Sequence[str] = (), *, jobs: int | None = None
) -> tuple[Path, list[Built]]:
    """Compiles the driver and the variants of some or all problems.

    Args:
        compilers: What compiles.
        folder: Where the libraries go; what is there already is kept.
        chosen: Problems; none: all.
        jobs: Compilations side by side; None: one a core.

    Returns:
        The driver and what was built.

    Raises:
        RuntimeError: The driver or a problem does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    driver = folder / "driver"
    runtime = compilers.runtime
    link = (f"-L{runtime}", "-l:libcudart.so.13", "-ldl")
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        host = {driver: pool.submit(_compile, _host_argv(compilers, HERE / "driver.cpp", driver, *link), driver)}
        built = []
        variants = {}
        for problem in chosen or problems():
            (folder / problem).mkdir(exist_ok=True)
            library = folder / problem / "problem.so"
            argv = _host_argv(compilers, HERE / problem / "problem.cpp", library, "-shared", "-fPIC")
            host[library] = pool.submit(_compile, argv, library)
            for name, source in sources(problem).items():
                output = folder / problem / f"{name}.so"
                variants[output] = pool.submit(_compile, variant_argv(compilers, source, output), output)
            built.append(Built(problem, library, {}, {}))
        for output, result in host.items():
            if error := result.result():
                raise RuntimeError(f"{output.name} of {output.parent.name} does not compile: {error}")
        for output, result in variants.items():
            of = next(one for one in built if one.library.parent == output.parent)
            if error := result.result():
                of.failed[output.stem] = error
            else:
                of.variants[output.stem] = output
    return driver, built


def driver_argv(driver: Path, mode: str, sizes: Sequence[int], built: Sequence[Built]) -> list[str]:
    """The command that checks, runs or times."""
    argv = [str(driver), mode, ",".join(map(str, sizes))]
    for number, one in enumerate(built):
        argv += (["--"] if number else []) + [str(one.library), *map(str, one.variants.values())]
    return argv


def driver_environment(compilers: Compilers) -> dict[str, str]:
    """The environment in which the driver finds the runtime: nothing that is compiled names its folder."""
    return {**os.environ, "LD_LIBRARY_PATH": str(compilers.runtime)}
