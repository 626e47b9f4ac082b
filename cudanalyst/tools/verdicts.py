"""What `run` says of one call, one output or one program: one module apart, since the judge speaks of them too."""

from typing import Literal

from cudanalyst.kernels.problem import SizeGroup, SizeSet
from cudanalyst.values import Frozen

CaseStatus = Literal["passed", "wrong", "crashed", "timed_out", "contract_violation", "not_run"]
Trust = Literal["replayed", "native"]
"""`native`: the candidate's host code ran in the process that ran its kernels; not forgery-proof."""


class Mismatch(Frozen):
    """Where an output first differs from the reference."""

    output: str
    index: tuple[int, ...]
    got: float | None
    """None for NaN or infinity, which JSON cannot carry; `got_text` says which."""
    got_text: str
    expected: float
    wrong_elements: int
    total_elements: int
    max_error: float | None = None
    """Largest error in units of the tolerance."""


class Difference(Frozen):
    """Where two calls of `solve` on the same input gave different results: it is not deterministic."""

    output: str
    index: tuple[int, ...]
    """First element that differs, in row-major order."""
    first: float | None
    """None for NaN or infinity, which JSON cannot carry; `first_text` says which."""
    first_text: str
    second: float | None
    second_text: str
    differing_elements: int
    total_elements: int
    sizes: SizeSet | None = None
    seed_index: int | None = None


class CaseResult(Frozen):
    """One call of `solve` on one size and input set."""

    group: SizeGroup
    sizes: SizeSet | None
    """None for held-out sizes, which stay unknown to the agent."""
    seed_index: int
    status: CaseStatus
    message: str | None = None
    mismatch: Mismatch | None = None
    error_ratio: float | None = None
    """Largest error over the tolerance: below 1 passes."""
    modelled_us: float | None = None


class ProgramOutput(Frozen):
    """What a program did. No verdict on correctness unless expected output was given."""

    exit_status: int | None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    matches_expected: bool | None = None
