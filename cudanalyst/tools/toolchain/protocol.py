"""What a place that builds and runs CUDA offers: the seam between the five tools and `cpu`, `gpu`, `replay`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import Inputs
from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.compile import Diagnostic, KernelResources
from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.model.kernel import KernelCode
from cudanalyst.tools.result import MeasuredOn, Sandbox
from cudanalyst.tools.sass import SassKernel
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import Comparison, TimingMode, Uncompared
from cudanalyst.values import Frozen

DTypeWord = Literal["f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64"]


class Capabilities(Frozen):
    """What can be done here. A False comes with its reason and remedy."""

    build: bool
    execute: bool
    sanitize: tuple[Check, ...]
    profile: bool
    time: bool = False
    """Whether a candidate's time can be measured against its baseline's; `compare` is then of use."""
    reasons: dict[str, str] = {}
    measured_on: MeasuredOn


class Build(Frozen):
    """A compiled source; `status` says whether there is a binary."""

    status: Literal["compiled", "failed", "timed_out", "unavailable"]
    source_id: str
    binary: Path | None = None
    image: Path | None = None
    """The device code that the executor loads, from the run that made the library: a cubin for a GPU's own architecture, a fatbin with PTX for the engine."""
    symbols: tuple[str, ...] = ()
    """Names of the variables in global and constant memory, as the PTX has them."""
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
    selection: Selection | None = None
    """What is profiled; only `profile` looks at it."""
    sample_warp_instructions: int | None = None
    """A profile on the CPU engine runs a part of the blocks of a launch that needs more; None: all, always."""


@dataclass(frozen=True)
class ProgramRequest:
    """One start of a program."""

    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    timeout_s: float = 20.0
    max_warp_instructions: int | None = None
    selection: Selection | None = None


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
    broken: str | None = None
    """Why a separate tool (compute-sanitizer) broke down, whatever became of the code under it; said even beside findings."""
    note: str | None = None
    """What a reader of the findings must know, such as that not all were kept."""
    stopped: str | None = None
    """Why the code under a separate tool did not get to its end, as the tool saw it; None where it did, or a finding explains it."""
    wall_s: float | None = None
    """What the whole check took, with its tool; None where that is the execution's `duration_s`."""


@dataclass(frozen=True)
class ComparisonRequest:
    """One size at which a candidate is timed against its problem's baseline."""

    problem: Problem
    sizes: SizeSet
    mode: TimingMode
    secret: bytes
    """From which inputs, guard zones and the order of blocks are drawn; of this candidate and size only."""
    expected: Callable[[str, Inputs, Mapping[str, int]], Mapping[str, Array]]
    """`Catalogue.expected`: the float64 reference, for outputs of timed calls."""
    folder: Path | None = None
    """The problem's folder, from which an oracle on the device makes inputs and references of its own."""
    timeout_s: float = 60.0


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

    async def compare(
        self, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
    ) -> tuple[Comparison | Uncompared, ...]:
        """Times a candidate against the baseline of its problem; says why where that cannot be done here.

        Answers come in the order of the requests; a fault of the candidate ends them.
        """


@runtime_checkable
class ChecksTogether(Protocol):
    """A toolchain that runs several checks of one execution side by side, holding the device once for all of them."""

    async def sanitize_together(
        self, build: Build, request: ExecutionRequest, checks: Sequence[Check]
    ) -> tuple[Sanitization, ...]:
        """Runs a build under each check, in a process of its own; results in the order of the checks."""


@runtime_checkable
class Evaluates(Protocol):
    """A toolchain whose calls for one candidate, one after the other, can share a process."""

    def evaluation(self) -> AbstractAsyncContextManager["Toolchain"]:
        """A toolchain for the calls of one evaluation."""


@runtime_checkable
class Foresees(Protocol):
    """A toolchain that can prepare for comparisons while something else is done."""

    def foresee(self, requests: Sequence[ComparisonRequest]) -> None:
        """Begins with what takes long and needs no build; the requests follow in `compare`, or never."""


@runtime_checkable
class Disassembles(Protocol):
    """A toolchain whose builds hold machine code that can be shown."""

    async def machine_code(self, build: Build) -> tuple[SassKernel, ...]:
        """The kernels of a build, counted as they stand; nothing runs.

        Raises:
            Unavailable: The disassembler or the machine code is missing; the text says what to do.
        """


@runtime_checkable
class LaysOut(Protocol):
    """A toolchain whose builds can be laid out for a model of time."""

    async def laid_out(self, build: Build, arch: str) -> dict[str, KernelCode]:
        """The kernels of a build as a device of the architecture would run them, by symbol.

        Raises:
            Unavailable: The disassembler or the machine code is missing; the text says what to do.
        """
