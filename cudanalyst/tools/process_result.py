"""How a process ended and what it wrote."""

import signal
from dataclasses import dataclass

from cudanalyst.tools.capture import Captured


@dataclass(frozen=True)
class ProcessResult:
    """How a process ended and what it wrote."""

    exit_status: int | None
    """None when a signal ended it."""
    signal: str | None
    """Name of the signal that ended it, e.g. `SIGSEGV`."""
    timed_out: bool
    output_limited: bool
    """Killed for writing more than `output_limit` bytes."""
    stdout: Captured
    stderr: Captured
    duration_s: float
    peak_bytes: int | None = None
    """Largest resident size of the process, or of one that it waited for."""


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; a number that has no name is said as such."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
