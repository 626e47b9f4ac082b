"""Checkpoints: a frozen moment of an agent's work."""

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.resources.evidence import Evidence
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen, content_id


class Checkpoint(Frozen):
    """Frozen program state. Immutable; its id is its content's hash."""

    source: Source
    problem: str
    base_status: BaseStatus
    fast: bool = False
    """Whether the state already meets the `fast` level (a ceiling)."""
    modelled_speedup: float | None = None
    generation: int = 0
    lineage: tuple[str, ...] = ()
    """Ids of the candidates that led here, oldest first."""
    references: tuple[str, ...] = ()
    """Ids of other candidates that a planner sees beside the state."""
    evidence: dict[Component, Evidence]
    toolchain: dict[str, str] = {}
    """Versions of the tools that made the evidence."""
    device: str = "cpu-engine"

    @property
    def id(self) -> str:
        """Identity by content."""
        return content_id("chk", self)
