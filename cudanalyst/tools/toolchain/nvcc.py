"""The command line of nvcc: pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.tools.source import BuildOptions
from cudanalyst.tools.toolchain.arch import Arch, parse_arch
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
    """A candidate is always linked to our runtime: it is recorded, wherever the record is then replayed."""
    target: Arch | None = None
    """The device's own, in place of what the options say."""
    static_runtime: bool = False
    """Whether programs get NVIDIA's runtime, for a GPU, in place of the engine."""
    image: Literal["fatbin", "cubin"] = "fatbin"
    """What the executor loads: PTX (with machine code, which tells the registers) into the engine, machine code into a GPU."""


def image_name(paths: NvccPaths, options: BuildOptions, kind: Literal["candidate", "program"]) -> str:
    """The file that the same run leaves with the device code."""
    return f"{kind}.fatbin" if paths.image == "fatbin" else f"{kind}.{target_of(paths, options).name}.cubin"


def target_of(paths: NvccPaths, options: BuildOptions) -> Arch:
    """What is compiled for: the device's own architecture on a GPU, else what the options say.

    Raises:
        BadRequest: Unknown architecture.
    """
    return paths.target or parse_arch(options.arch)


def build_argv(
    paths: NvccPaths,
    options: BuildOptions,
    kind: Literal["candidate", "program"],
    source: Path,
    output: Path,
    *,
    left_out: Sequence[str] = (),
) -> list[str]:
    """Arguments that build a source in one nvcc run, with ptxas's facts on standard error.

    Args:
        paths: Of this machine.
        options: Of the source.
        kind: What is built.
        source: File to compile.
        output: File to make.
        left_out: Options that spare headers (`headers.left_out`).

    Raises:
        BadRequest: Unknown architecture or a flag that is not allowed.
    """
    flags = checked_flags(options.flags)
    argv = [
        str(paths.nvcc),
        "-ccbin",
        str(paths.host_compiler),
        "-gencode",
        target_of(paths, options).gencode,
    ]
    if not any(flag.lstrip("-").startswith("std=") for flag in flags):
        argv.append("-std=c++17")
    if not any(flag.startswith(("-O", "--optimize")) for flag in flags):
        argv.append("-O3")
    runtime = "static" if kind == "program" and paths.static_runtime else "none"
    # -keep leaves the PTX, which tells the source line of what ptxas says, and the machine code that is in the library too.
    argv += [
        "-lineinfo",
        "-compress-mode=none",
        "-cudart",
        runtime,
        "-Xptxas",
        PTXAS_OPTIONS,
        "-keep",
        "-keep-dir",
        ".",
    ]
    argv += left_out
    argv += ["--threads", "2"]  # the passes for host and device side by side, with the same output
    argv += [flag for flag in flags if flag not in {"-lineinfo", "--generate-line-info"}]
    if kind == "candidate":
        # Undefined symbols and a missing `solve` are found here and not when the library is loaded.
        argv += ["-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-z,defs", "-Xlinker", "--require-defined=solve"]
    elif runtime == "none":
        argv += ["-Xlinker", f"--disable-new-dtags,-rpath,{paths.engine_libraries}"]
    argv += [f"-L{folder}" for folder in paths.library_dirs]
    if runtime == "none":
        argv += [f"-L{paths.engine_libraries}", f"-l:{RUNTIME}"]
    return [*argv, str(source), "-o", str(output)]
