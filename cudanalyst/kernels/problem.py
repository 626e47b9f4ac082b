"""What there is to optimise: a problem's signature, sizes, tolerance and least work."""

from typing import Literal

from pydantic import Field

from cudanalyst.values import Frozen

DType = Literal["f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64"]
Role = Literal["in", "out", "inout", "scalar"]
SizeGroup = Literal["test", "eval", "held_out"]
Component = Literal["compiler", "analyzer", "debugger", "profiler"]
"""Kinds of feedback: the players of the attribution game."""
BaseStatus = Literal["compile_failed", "crashed", "wrong", "passed"]
"""All that a planner learns about a candidate when every component is withheld."""
SizeSet = dict[str, int]


class Parameter(Frozen):
    """One argument of `solve`, in order."""

    name: str
    dtype: DType
    role: Role
    shape: tuple[str, ...] = ()
    """Extents as integer expressions over the named sizes; empty for a scalar."""
    generator: str = "normal"
    """How inputs are drawn (kernels/inputs.py lists the names)."""
    value: str | None = None
    """For a scalar: an expression over the named sizes, or a literal."""


class Tolerance(Frozen):
    """How far an output may be from the float64 reference (kernels/compare.py applies it)."""

    reduction: str = "1"
    """Length of the longest sum behind one output element, over the named sizes: rounding grows with it."""
    factor: float = Field(default=4.0, gt=0)
    """Multiple of the expected rounding error that still passes."""
    exact: bool = False
    """Integer outputs: every element must be equal."""


class Work(Frozen):
    """The least work that any solution must do: expressions over the named sizes."""

    bytes_moved: str
    """Compulsory device-memory traffic in bytes."""
    flops: str = "0"


class Fault(Frozen):
    """A defect planted in a starting kernel; ground truth for tests of attribution."""

    id: str
    description: str
    visible_in: tuple[tuple[Component, ...], ...]
    """Alternatives, each a set of components that together reveal it: OR of ANDs."""
    level: Literal["compiled", "passed", "fast"]
    """The success level that the fault keeps a candidate from."""


class Edit(Frozen):
    """One change of source that a scripted planner may choose."""

    id: str
    title: str
    search: str
    """Text that must occur exactly once in the source for the edit to apply."""
    replace: str
    cues: tuple[str, ...] = ()
    """Regular expressions over evidence text: evidence that matches one points to this edit."""
    cue_groups: tuple[tuple[str, ...], ...] = ()
    """Further ways to point to this edit, each a set of expressions that must all match (two faults at once)."""
    fixes: tuple[str, ...] = ()
    """Ids of the faults that it mends; empty for a distractor."""
    effect: Literal["fix", "none", "harm"] = "fix"
    """`none`: changes no behaviour or does not help; `harm`: makes a sound kernel worse."""
    silences: tuple[str, ...] = ()
    """Ids of faults whose symptom goes away although the edit is not right: code that compiles again, but is wrong."""
    breaks: Literal["compiled", "passed", "fast"] | None = None
    """The lowest success level that the edit keeps a sound kernel from."""


class Start(Frozen):
    """A starting kernel: a state from which an agent sets out."""

    name: str
    source: str
    faults: tuple[str, ...] = ()
    description: str = ""
    """What is wrong with it, for readers of the ground truth; never shown to a planner."""


class Problem(Frozen):
    """A problem: everything about it but code that runs. Loaded from a folder; a new one edits no code."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{1,40}$")
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    sizes: dict[SizeGroup, tuple[SizeSet, ...]]
    """Named sizes per group; `test` small, `eval` large, `held_out` never shown to an agent."""
    tolerance: Tolerance
    work: Work
    independent: str | None = None
    """Name of a size: a slice of every output along it needs only the same slice of the inputs that have that extent.

    A large reference is then computed in slices (kernels/slices.py); None: only as a whole.
    """
    baseline: str
    """CUDA source of a correct, plain solution."""
    starts: tuple[Start, ...] = ()
    faults: tuple[Fault, ...] = ()
    edits: tuple[Edit, ...] = ()

    @property
    def size_names(self) -> tuple[str, ...]:
        """Names of the sizes, in the order in which `workspace_bytes` and `init` take them."""
        return tuple(self.sizes["test"][0])
