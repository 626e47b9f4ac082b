"""What verifies a candidate at a size that only a GPU runs: the seam between `run` and the oracle on a device."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.protocol import Build


class LargeVerifier(Protocol):
    """Verifies one large size as `plan_verification` and `judge` do a small one: every seed, the first twice."""

    async def __call__(
        self,
        source: Source,
        build: Build,
        group: SizeGroup,
        sizes: SizeSet,
        *,
        labels: tuple[str, ...],
        seeds: int,
    ) -> Judgement:
        """One case per seed.

        Args:
            source: The candidate.
            build: What it was built into.
            group: Group of the size; of a held-out one only the verdict is told.
            sizes: The size.
            labels: Of `cases.schedule_verification`.
            seeds: Input sets.
        """


@runtime_checkable
class VerifiesLarge(Protocol):
    """A toolchain that verifies sizes which only a GPU runs."""

    def large_verifier(self, problem: Problem, folder: Path, secret: bytes) -> LargeVerifier | None:
        """For a problem's sizes; None where something for it (CuPy) is missing."""
