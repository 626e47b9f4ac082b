"""What every tool's result has."""

from typing import Literal

from pydantic import Field

from cudanalyst.values import Frozen

Sandbox = Literal["full", "partial", "none"]
"""`full`: file system, network, system calls and process tree confined; `partial`: some of them."""


class MeasuredOn(Frozen):
    """What a result was obtained on; nothing falls back silently."""

    toolchain: Literal["cpu", "gpu", "replay", "none"]
    device: str | None = None
    """`cpu-engine`, or a GPU's name."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the tools that took part: nvcc, gcc, engine, driver."""
    sandbox: Sandbox | None = None
    """None where nothing of the candidate ran."""


class Truncation(Frozen):
    """How much of a list or text was left out of a result, and where the rest is."""

    shown: int
    total: int
    resource: str | None = None
    what: str | None = None
    """Path of the field that was cut, e.g. `findings` or `program.stdout`."""


class ToolResult(Frozen):
    """Base of the five result models. `None` means not measured; never 0, never -1."""

    summary: str
    """A sentence or two for a reader who sees nothing else."""
    measured_on: MeasuredOn
    duration_s: float | None = None
    cached: bool = False
    """Known from an earlier call for the same source and request; `duration_s` is what it took then."""
    reason: str | None = None
    """Why it could not be done and what to do next; present for unavailable and failed tools."""
    job: str | None = None
    """Handle for `job_status`; present only while the status is `running`."""
    omitted: tuple[Truncation, ...] = ()
    """What was left out on the way to the caller; empty in stored results."""


class Place(Frozen):
    """A place in a source file; `file` is `candidate.cu` or `program.cu` for the submitted text."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
