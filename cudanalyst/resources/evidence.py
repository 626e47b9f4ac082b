"""Evidence: what one component said about one candidate, rendered once to bounded text."""

from cudanalyst.kernels.problem import Component
from cudanalyst.values import Frozen, content_id


class EvidenceItem(Frozen):
    """One statement that a plan can cite."""

    id: str
    """`component.index`, e.g. `debugger.2`; stable within its evidence."""
    text: str


class Evidence(Frozen):
    """Byte-identical wherever it is delivered."""

    component: Component
    candidate: str
    items: tuple[EvidenceItem, ...]
    text: str
    """What a planner reads; at most 6,000 characters."""
    structural: bool = False
    """The component could not report on this candidate; the text is a neutral placebo."""

    @property
    def id(self) -> str:
        """Identity by content."""
        return content_id("evi", self)
