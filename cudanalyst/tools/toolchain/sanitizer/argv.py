"""The argument list of compute-sanitizer. Pure.

Child processes are never tracked (`--target-processes application-only`): tracking them all waits for the last of them, so a
child that stays behind would hold the check until its time limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.tools.findings import Check

PRINT_LIMIT: Final = 1000
"""Records that one run may write; the tool's own default is 100. What lies beyond is counted, and said."""
PADDING_BYTES: Final = 1 << 20
"""Room that memcheck leaves after each allocation. Without it, small allocations lie side by side, and an overrun that lands in the
neighbour is not noticed (met on an H200)."""
CONNECT_S: Final = 30
"""The tool's limit for its target to start; its default of 10 s is short on a loaded machine."""
PORTS_PER_RUN: Final = 10
"""Ports that a run may listen on, from its base port on."""


@dataclass(frozen=True)
class Options:
    """How one check is run."""

    check: Check
    xml: Path
    """Where records are written."""
    log: Path
    """Where the tool's own text goes, apart from what the target prints."""
    port: int | None = None
    """First port of the run's own range, so that runs side by side do not meet; None for the tool's default."""
    host_stack: bool = False
    """Host stacks of the target: of use where its host code is the agent's own. Never in initcheck."""
    leaks: bool = False
    """Report memory that was never freed (memcheck)."""
    api_memory: bool = True
    """Check copies by the host too (initcheck)."""
    kernels: tuple[str, ...] = ()
    """Mangled names of the only kernels to check; none for all."""
    print_limit: int = PRINT_LIMIT


def arguments(tool: Path, options: Options, target: Sequence[str | Path]) -> list[str | Path]:
    """The whole command line, the target's own at its end."""
    line: list[str | Path] = [tool, "--tool", options.check, "--xml", "--save", options.xml]
    line += ["--log-file", options.log, "--target-processes", "application-only"]
    line += ["--launch-timeout", str(CONNECT_S), "--print-limit", str(options.print_limit)]
    line += ["--show-backtrace", _stacks(options)]
    line += ["--strip-paths", "no", "--demangle", "full"]
    if options.port is not None:
        line += ["--port", str(options.port), "--max-connections", str(PORTS_PER_RUN)]
    for kernel in options.kernels:
        line += ["--kernel-name", f"kernel_name={kernel}"]
    match options.check:
        case "memcheck":
            line += ["--leak-check", "full" if options.leaks else "no", "--report-api-errors", "explicit"]
            line += ["--padding", str(PADDING_BYTES)]
        case "racecheck":
            line += ["--racecheck-report", "analysis"]
        case "initcheck":
            line += ["--check-api-memory-access", "yes" if options.api_memory else "no"]
        case "synccheck":
            pass
    return [*line, *target]


def _stacks(options: Options) -> str:
    """Which stacks records have.

    In initcheck none: with them each thread that reads is handled on its own, and 100 000 such reads took 11 to over 14 s (H200);
    without, the tool drops what does not fit its buffer, says so, and the same took 2 s.
    """
    if options.check == "initcheck":
        return "no"
    return "yes" if options.host_stack else "device"
