"""The five feedback tools on the command line."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Final, cast, get_args

import typer
from pydantic import BaseModel
from rich.console import Console

from cudanalyst.errors import BadRequest
from cudanalyst.server.call import Call
from cudanalyst.server.commands.rendering import show
from cudanalyst.server.commands.session import (
    JsonOption,
    StoreOption,
    ToolchainOption,
    UnsandboxedOption,
    exit_status,
    fail,
    perform,
    read_source,
)
from cudanalyst.server.workbench import Workbench
from cudanalyst.tools.debug import ALL_CHECKS, Check
from cudanalyst.tools.selection import MetricSet

PANEL: Final = "Feedback"
File = Annotated[str, typer.Argument(metavar="FILE.cu", help="CUDA C++ source; - reads standard input.")]
Problem = Annotated[
    str | None, typer.Option("--problem", "-p", help="Problem that the source solves; without it, a program with main.")
]
Arch = Annotated[str | None, typer.Option("--arch", help="Target such as sm_90 or sm_90a. [default: sm_90]")]
Flags = Annotated[list[str] | None, typer.Option("--flag", "-f", help="Extra nvcc flag, e.g. --flag=-O3; repeatable.")]
Arguments = Annotated[list[str] | None, typer.Option("--arg", "-a", help="Argument of a program; repeatable.")]
StdinFile = Annotated[Path | None, typer.Option("--stdin", help="File that a program reads as standard input.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, max=600, help="Limit of each start, seconds.")]
Metrics = Annotated[str, typer.Option("--metrics", metavar="quick|standard|full", help="Counters collected on a GPU.")]
KernelName = Annotated[str | None, typer.Option("--kernel", help="Only kernels whose name holds this text.")]
MachineCode = Annotated[bool, typer.Option("--sass", help="Also count each kernel's machine code.")]
Checks = Annotated[
    list[str] | None, typer.Option("--check", "-c", help="memcheck, racecheck, initcheck or synccheck; repeatable.")
]


def compile_command(
    file: File,
    problem: Problem = None,
    arch: Arch = None,
    flags: Flags = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Compile with nvcc: errors, warnings, registers, spills, occupancy.

    Exit status: 0 compiled, 1 does not compile, 2 could not be done.
    """
    text = read_source(file)
    _tell(
        lambda bench, call: bench.compile(call, text, problem=problem, arch=arch, flags=flags or []),
        text, as_json, store, toolchain, allow_unsandboxed, "compiling",
    )  # fmt: skip


def run_command(
    file: File,
    problem: Problem = None,
    arch: Arch = None,
    flags: Flags = None,
    arguments: Arguments = None,
    stdin: StdinFile = None,
    expected: Annotated[
        Path | None, typer.Option("--expected-output", help="File with what a program should print.")
    ] = None,
    timeout: Timeout = 20.0,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Run: verify a candidate against its reference, or start a program.

    Exit status: 0 passed (a program: ended with 0, as expected), 1 failed, 2 could not be done.
    """
    text, given, wanted = read_source(file), _text(stdin), _text(expected)
    _tell(
        lambda bench, call: bench.run(
            call, text, problem=problem, arch=arch, flags=flags or [], arguments=arguments or [], stdin=given,
            expected_output=wanted, timeout_s=timeout,
        ),
        text, as_json, store, toolchain, allow_unsandboxed, "compiling and running",
    )  # fmt: skip


def debug_command(
    file: File,
    problem: Problem = None,
    checks: Checks = None,
    arch: Arch = None,
    flags: Flags = None,
    arguments: Arguments = None,
    stdin: StdinFile = None,
    timeout: Timeout = 20.0,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Debug: out-of-bounds accesses, races, uninitialised reads, barrier errors.

    Exit status: 0 clean, 1 findings, 2 could not be done.
    """
    text, given = read_source(file), _text(stdin)
    chosen: list[Check] = []
    for name in checks or ALL_CHECKS:
        if (check := next((one for one in ALL_CHECKS if one == name), None)) is None:
            fail(f"--check: {name!r} is none of {', '.join(ALL_CHECKS)}")
        chosen.append(check)
    _tell(
        lambda bench, call: bench.debug(
            call, text, problem=problem, checks=chosen, arch=arch, flags=flags or [], arguments=arguments or [],
            stdin=given, timeout_s=timeout,
        ),
        text, as_json, store, toolchain, allow_unsandboxed, "checking",
    )  # fmt: skip


def analyze_command(
    file: File,
    problem: Problem = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Analyze the source: kernels, access patterns, suspicious spots. Nothing is compiled or run.

    Exit status: 0 clean, 1 findings, 2 could not be parsed.
    """
    text = read_source(file)
    _tell(
        lambda bench, call: bench.analyze(call, text, problem=problem),
        text, as_json, store, toolchain, allow_unsandboxed, "reading the source",
    )  # fmt: skip


def profile_command(
    file: File,
    problem: Problem = None,
    arch: Arch = None,
    flags: Flags = None,
    arguments: Arguments = None,
    stdin: StdinFile = None,
    timeout: Timeout = 20.0,
    metrics: Metrics = "standard",
    kernel: KernelName = None,
    sass: MachineCode = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Profile: work per kernel and line, what bounds the time, what to change first.

    Exit status: 0 profiled, 1 the source failed, 2 could not be done.
    """
    text, given = read_source(file), _text(stdin)
    _tell(
        lambda bench, call: bench.profile(
            call, text, problem=problem, arch=arch, flags=flags or [], arguments=arguments or [], stdin=given,
            timeout_s=timeout, metrics=_metric_set(metrics), kernel=kernel, sass=sass,
        ),
        text, as_json, store, toolchain, allow_unsandboxed, "profiling",
    )  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for name, command in (
        ("compile", compile_command),
        ("run", run_command),
        ("debug", debug_command),
        ("analyze", analyze_command),
        ("profile", profile_command),
    ):
        app.command(name, rich_help_panel=PANEL)(command)


def _metric_set(name: str) -> MetricSet:
    for known in get_args(MetricSet):
        if name == known:
            return cast("MetricSet", known)
    raise BadRequest(f"--metrics: {name[:40]!r} is no set of counters; use quick, standard or full")


def _text(path: Path | None) -> str | None:
    return None if path is None else read_source(str(path))


def _tell(
    work: Callable[[Workbench, Call], Coroutine[Any, Any, BaseModel]],
    text: str,
    as_json: bool,
    store: Path | None,
    toolchain: str,
    allow_unsandboxed: bool,
    what: str,
) -> None:
    result = perform(work, store=store, toolchain=toolchain, allow_unsandboxed=allow_unsandboxed, what=what)
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        show(result, text, Console(highlight=False))
    raise typer.Exit(exit_status(result))
