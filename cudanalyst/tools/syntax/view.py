"""One kernel as the suspicions see it."""

from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from cudanalyst.tools.syntax.accesses import Access
from cudanalyst.tools.syntax.launches import LaunchSite
from cudanalyst.tools.syntax.model import KernelFacts, Suspicion
from cudanalyst.tools.syntax.scope import Scope


@dataclass(frozen=True)
class KernelView:
    """A kernel, its accesses and launches."""

    scope: Scope
    facts: KernelFacts
    accesses: tuple[Access, ...]
    block: tuple[int | None, int | None, int | None]
    launches: tuple[LaunchSite, ...]

    def suspicion(
        self, kind: str, node: Node, message: str, remedy: str, confidence: Literal["high", "medium", "low"]
    ) -> Suspicion:
        """A suspicion at a node of this kernel."""
        return Suspicion(
            kind=kind,
            place=self.scope.tree.place(node),
            kernel=self.facts.name,
            message=message,
            remedy=remedy,
            confidence=confidence,
        )
