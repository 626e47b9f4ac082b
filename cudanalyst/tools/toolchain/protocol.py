"""What a place that builds and runs CUDA offers: the seam between the five tools and `cpu`, `gpu`, `replay`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from cudanalyst.tools.compile import Diagnostic, KernelResources
from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.result import MeasuredOn, Sandbox
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen

DTypeWord = Literal["f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64"]


class Capabilities(Frozen):
    """What can be done here. A False comes with its reason and remedy."""

    build: bool
    execute: bool
    sanitize: tuple[Check, ...]
    profile: bool
    reasons: dict[str, str] = {}
    measured_on: MeasuredOn


class Build(Frozen):
    """A compiled source; `status` says whether there is a binary."""

    status: Literal["compiled", "failed", "timed_out", "unavailable"]
    source_id: str
    binary: Path | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    kernels: tuple[KernelResources, ...] = ()
    reason: str | None = None
    cached: bool = False
    duration_s: float
    measured_on: MeasuredOn


@dataclass(frozen=True)
class BufferSpec:
    """A pointer parameter of `solve`."""

    name: str
    dtype: DTypeWord
    role: Literal["in", "out", "inout"]


@dataclass(frozen=True)
class ScalarSpec:
    """A scalar parameter of `solve`."""

    name: str
    ctype: Literal["int", "long", "float", "double"]


@dataclass(frozen=True)
class Call:
    """One call of `solve`. Contents include guard zones when the request has any; None leaves a buffer uninitialised."""

    buffers: Mapping[str, tuple[int, bytes | None]]
    """Name to (bytes of the buffer without guards, contents)."""
    scalars: Mapping[str, int | float]
    download: tuple[str, ...] = ()


@dataclass(frozen=True)
class CandidateRequest:
    """Calls of one candidate's `solve`, in one process, in order."""

    parameters: tuple[BufferSpec | ScalarSpec, ...]
    sizes: Mapping[str, int]
    calls: tuple[Call, ...]
    guard_bytes: int = 4096
    timeout_s: float = 20.0
    max_warp_instructions: int | None = None


@dataclass(frozen=True)
class ProgramRequest:
    """One start of a program."""

    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    timeout_s: float = 20.0
    max_warp_instructions: int | None = None


ExecutionRequest = CandidateRequest | ProgramRequest


@dataclass(frozen=True)
class Execution:
    """How a process ended and what it left. Everything in it but `how` is the candidate's word."""

    how: Literal["returned", "exited", "signalled", "timed_out", "output_limit", "unavailable"]
    """`returned`: an orderly end with every call answered (for a program: exit status 0..255)."""
    exit_status: int | None
    signal: str | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    report: tuple[Mapping[str, object], ...]
    """Records of engine/REPORT.md, parsed and bounded."""
    downloads: tuple[Mapping[str, bytes], ...]
    """Per call: buffer contents with guards."""
    duration_s: float
    sandbox: Sandbox
    reason: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sanitization:
    """What one check found in one execution."""

    check: Check
    execution: Execution
    findings: tuple[Finding, ...]
    failed: str | None
    """Why the tool itself failed; None when it did its work."""
    coverage: str


class Toolchain(Protocol):
    """A place that builds and runs CUDA. Everything is cancellable; nothing raises for a bad kernel."""

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """Which one this is."""

    async def capabilities(self) -> Capabilities:
        """What can be done here, probed once."""

    async def build(self, source: Source) -> Build:
        """Compiles for execution here; cached by content, failures too."""

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build plainly."""

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Runs a build under one check."""

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build with counters; the report holds `profile` records."""
