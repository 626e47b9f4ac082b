"""Who plans and who writes: the seam between trials and what answers them.

A planner turns a state into a plan in words; a coder turns a program and a plan into source. The regimes of an experiment say
which of the two is asked and what each of them is given, so neither needs to know of regimes.
"""

from typing import Protocol

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.resources.events import PlannerFailure
from cudanalyst.resources.trials import Usage
from cudanalyst.values import Frozen, content_id


class State(Frozen):
    """What a planner or coder knows: a frozen program, one word about it, and the evidence that was delivered. Nothing else."""

    problem: str
    source: str
    base_status: BaseStatus
    evidence: dict[Component, str]
    """Text by component; a withheld component has no key."""
    seed: int
    task: str = ""
    """What is asked, in text."""
    references: tuple[str, ...] = ()
    """Sources of other candidates."""

    @property
    def prompt(self) -> str:
        """Names all that an answer may depend on but the seed."""
        return content_id("prm", self.model_copy(update={"seed": 0}))

    def without_evidence(self) -> "State":
        """The same program for a coder that is given a plan in place of evidence."""
        return self.model_copy(update={"evidence": {}})


class PlanText(Frozen):
    """A planner's answer."""

    text: str | None
    """What is to change and why, in words; None where there is none (`failure` says why)."""
    cites: tuple[str, ...] = ()
    """Ids of the evidence items that made it decide."""
    failure: PlannerFailure | None = None
    usage: Usage | None = None
    """What the answer cost; of its times only `plan_s`."""


class Code(Frozen):
    """A coder's answer."""

    source: str | None
    """The whole new source; None where there is none (`failure` says why)."""
    edit: str | None = None
    """Id of the edit that was chosen, for scripted coders."""
    failure: PlannerFailure | None = None
    usage: Usage | None = None
    """What the answer cost; of its times only `code_s`."""


class Planner(Protocol):
    """Plans the next change of a state.

    An answer that costs money comes from here and from `Coder` only: whoever calls them keeps the answer before using it.
    A service that fails (a time-out, a 429) raises `Unavailable`; what the model itself does wrong (a refusal, an answer cut
    short) is an answer with a `failure`.
    """

    @property
    def name(self) -> str:
        """Stated on every trial."""

    async def plan(self, state: State) -> PlanText:
        """Says in words what is to change."""


class Coder(Protocol):
    """Writes the next candidate. The same rules hold as for planners."""

    @property
    def name(self) -> str:
        """Stated on every trial."""

    async def write(self, state: State, plan: str | None) -> Code:
        """Writes the whole new source.

        Args:
            state: The program; with evidence only where no plan was made of it.
            plan: What to do, in words; None in the regimes without planning.
        """


class Proposal(Frozen):
    """A plan and what was written by it."""

    plan: str
    source: str | None
    """None where planner or coder had nothing to offer."""
    edit: str | None = None
    cites: tuple[str, ...] = ()
    failure: PlannerFailure | None = None


async def propose(planner: Planner, coder: Coder, state: State) -> Proposal:
    """Plans from the evidence, then writes from the plan alone (the regime P+F)."""
    planned = await planner.plan(state)
    if planned.text is None:
        return Proposal(plan="", source=None, cites=planned.cites, failure=planned.failure or "refusal")
    written = await coder.write(state.without_evidence(), planned.text)
    failure = None if written.source is not None else (written.failure or "refusal")
    return Proposal(plan=planned.text, source=written.source, edit=written.edit, cites=planned.cites, failure=failure)


class Proposer(Protocol):
    """A planner and coder in one."""

    @property
    def name(self) -> str:
        """Stated on every trial."""

    async def propose(self, state: State) -> Proposal:
        """Plans and writes."""
