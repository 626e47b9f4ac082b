"""The two kinds of source that every tool takes."""

from typing import Literal

from cudanalyst.values import Frozen, content_id

DEFAULT_ARCH = "sm_90"
MAX_SOURCE_BYTES = 1_000_000


class BuildOptions(Frozen):
    """How a source is compiled."""

    arch: str = DEFAULT_ARCH
    """Full target, e.g. `sm_90` or `sm_90a`."""
    flags: tuple[str, ...] = ()
    """Extra nvcc flags; only those on the allow-list are taken."""


class Source(Frozen):
    """CUDA C++ text and how to build it.

    A *candidate* belongs to a problem and exports `solve`; a *program* has its own `main`.
    """

    text: str
    problem: str | None = None
    """Problem id of a candidate; None for a program."""
    options: BuildOptions = BuildOptions()

    @property
    def kind(self) -> Literal["candidate", "program"]:
        """Which of the two this is."""
        return "program" if self.problem is None else "candidate"

    @property
    def id(self) -> str:
        """Identity by content."""
        return content_id("cand" if self.problem is not None else "prog", self)
