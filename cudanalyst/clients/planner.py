"""Who plans and who writes: the seam between trials and what answers them."""

from typing import Protocol

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.values import Frozen


class State(Frozen):
    """What a planner knows: a frozen program, one word about it, and the evidence that was delivered. Nothing else."""

    problem: str
    source: str
    base_status: BaseStatus
    evidence: dict[Component, str]
    """Text by component; a withheld component has no key."""
    seed: int


class Proposal(Frozen):
    """A planner's answer."""

    plan: str
    """What is to change and why, in words."""
    source: str | None
    """The whole new source; None where the planner has nothing to offer (a refusal)."""
    edit: str | None = None
    """Id of the edit that was chosen, for scripted planners."""
    cites: tuple[str, ...] = ()
    """Ids of the evidence items that made it decide."""


class Planner(Protocol):
    """Proposes the next candidate for a state. Deterministic given the state's seed."""

    @property
    def name(self) -> str:
        """Stated on every trial."""

    async def propose(self, state: State) -> Proposal:
        """Plans and writes."""
