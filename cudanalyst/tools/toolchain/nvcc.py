"""The command line of nvcc for the CPU engine: pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.tools.source import BuildOptions
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.flags import checked_flags

RUNTIME: Final = "libcudart.so.13"
PTXAS_OPTIONS: Final = "-v,-warn-spills,-warn-lmem-usage,-warn-double-usage"


@dataclass(frozen=True)
class NvccPaths:
    """What a command line needs to know of the machine."""

    nvcc: Path
    host_compiler: Path
    library_dirs: tuple[Path, ...]
    """Of the toolkit; the wheels have `lib` and no `lib64`."""
    engine_libraries: Path


def build_argv(
    paths: NvccPaths, options: BuildOptions, kind: Literal["candidate", "program"], source: Path, output: Path
) -> list[str]:
    """Arguments that build a source for the engine in one nvcc run, with ptxas's facts on standard error.

    Raises:
        BadRequest: Unknown architecture or a flag that is not allowed.
    """
    flags = checked_flags(options.flags)
    argv = [str(paths.nvcc), "-ccbin", str(paths.host_compiler), "-gencode", parse_arch(options.arch).gencode]
    if not any(flag.lstrip("-").startswith("std=") for flag in flags):
        argv.append("-std=c++17")
    if not any(flag.startswith(("-O", "--optimize")) for flag in flags):
        argv.append("-O3")
    # -keep leaves the PTX, which tells the source line of what ptxas says.
    argv += ["-lineinfo", "-compress-mode=none", "-cudart", "none", "-Xptxas", PTXAS_OPTIONS, "-keep", "-keep-dir", "."]
    argv += [flag for flag in flags if flag not in {"-lineinfo", "--generate-line-info"}]
    if kind == "candidate":
        # Undefined symbols and a missing `solve` are found here and not when the library is loaded.
        argv += ["-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-z,defs", "-Xlinker", "--require-defined=solve"]
    else:
        argv += ["-Xlinker", f"--disable-new-dtags,-rpath,{paths.engine_libraries}"]
    argv += [f"-L{folder}" for folder in paths.library_dirs]
    argv += [f"-L{paths.engine_libraries}", f"-l:{RUNTIME}"]
    return [*argv, str(source), "-o", str(output)]
