"""What is asked of `run`, and what it answers."""

from typing import Literal, Self

from pydantic import Field, model_validator

from cudanalyst.kernels.problem import SizeGroup
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.result import ToolResult
from cudanalyst.tools.timing.models import SizeTiming, TimingMode
from cudanalyst.tools.verdicts import CaseResult, Difference, ProgramOutput, Trust
from cudanalyst.values import Frozen


class RunRequest(Frozen):
    """What to run, and within which bounds."""

    groups: tuple[SizeGroup, ...] = Field(default=("test", "held_out"), min_length=1)
    """Size groups on which a candidate is verified; modelled sizes are verified besides."""
    seeds: int | None = Field(default=None, ge=1, le=8)
    """Input sets per size, the first used twice; None: one per distribution of the problem's inputs, two to four."""
    repeat: int = Field(default=0, ge=0)
    """Another number draws other inputs."""
    timeout_s: float = Field(default=20.0, gt=0, le=600)
    """Wall limit of each process, in seconds."""
    max_warp_instructions: int = Field(default=2_000_000_000, gt=0)
    """A launch that needs more counts as endless."""
    model: bool = True
    """Whether to model the time of a candidate that passes, and of its baseline."""
    device: str = "h200"
    """Device to model for."""
    model_budget: float = Field(default=20e6, gt=0)
    """Sizes estimated to need more warp instructions are not modelled."""
    timing: tuple[TimingMode, ...] = ("warm",)
    """How to time a candidate that passes against its baseline, where the toolchain can; the first decides about `fast`. Empty: not at all."""
    arguments: tuple[str, ...] = ()
    """Arguments of a program."""
    stdin: str = ""
    """Standard input of a program."""
    expected_stdout: str | None = None
    """What a program should print; None for no verdict."""
    expected_tolerance: float | None = Field(default=None, ge=0)
    """Compares word by word, numbers within this relative error; None for equal text."""


class RunResult(ToolResult):
    """What running gave. `modelled_us` is a roofline model, never a measurement."""

    status: Literal[
        "passed",
        "wrong",
        "crashed",
        "timed_out",
        "contract_violation",
        "compile_failed",
        "exited",
        "unavailable",
        "running",
    ]
    """`exited` is for programs; the others but `compile_failed` and `unavailable` are for both."""
    candidate: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    trust: Trust | None = None
    """`replayed`: nothing of the candidate's host code ran where the verdict was made; `native`: not forgery-proof. None: nothing ran."""
    trust_reason: str | None = None
    """The call that could not be recorded, where a candidate ran natively."""
    cases: tuple[CaseResult, ...] = ()
    program: ProgramOutput | None = None
    cuda_error: str | None = None
    """Name of the CUDA error that the run left, e.g. `cudaErrorIllegalAddress`."""
    deterministic: bool | None = None
    """Whether the same input gave the same bytes twice; None where it was not seen."""
    nondeterminism: Difference | None = None
    """Where not: the first element that differed, with both values; None where only a held-out size showed it."""
    large_sizes_left_out: int = 0
    """Sizes in the groups asked for that only a GPU runs, and that were not verified here."""
    modelled_us: float | None = None
    """Sum of modelled kernel times at the largest size run, for `modelled_device`."""
    modelled_device: str | None = None
    baseline_modelled_us: float | None = None
    modelled_speedup: float | None = None
    """`baseline_modelled_us / modelled_us`, geometric mean over eval sizes; None unless passed."""
    measured_us: float | None = None
    """Time of one call at the largest eval size, on `measured_on.device`."""
    baseline_measured_us: float | None = None
    speedup: float | None = None
    """Baseline's measured time over the candidate's, geometric mean over eval sizes; None unless all were compared."""
    speedup_min: float | None = None
    """The least over eval sizes."""
    fast: bool | None = None
    """Whether `speedup_min` reaches 1.12; None where that was not measured. Never True for what ran natively."""
    timings: tuple[SizeTiming, ...] = ()
    """Comparison with the baseline at each eval size."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        statuses = {case.status for case in self.cases}
        if self.status == "passed" and statuses != {"passed"}:
            raise ValueError("status passed needs cases, each of them passed")
        judged = self.status in {"wrong", "crashed", "timed_out", "contract_violation"}
        if judged and self.program is None and self.status not in statuses:
            raise ValueError(f"status {self.status} needs a case or a program with it")
        if self.status == "exited" and self.program is None:
            raise ValueError("status exited is for programs")
        if self.status in {"compile_failed", "unavailable"} and (self.cases or self.program):
            raise ValueError(f"nothing ran where the status is {self.status}")
        if self.status == "unavailable" and not self.reason:
            raise ValueError("status unavailable needs a reason")
        if self.status != "passed" and (self.modelled_us is not None or self.modelled_speedup is not None):
            raise ValueError("only what passed has a modelled time")
        if self.status != "passed" and (self.speedup is not None or self.fast):
            raise ValueError("only what passed is faster than the baseline")
        if self.fast and self.trust != "replayed":
            raise ValueError("what ran natively never counts as fast")
        if self.modelled_us is not None and self.modelled_device is None:
            raise ValueError("a modelled time names its device")
        return self

    @property
    def ok(self) -> bool | None:
        """True: passed, or a program that ended with 0 and as expected. False: not. None: could not be done."""
        if self.status == "exited" and self.program is not None:
            return self.program.exit_status == 0 and self.program.matches_expected is not False
        return None if self.status in {"unavailable", "running"} else self.status == "passed"
