"""What every backbone works with: judging, freezing and proposing, over one connection."""

import random
from collections.abc import Callable, Sequence
from typing import Final, Literal

from cudanalyst.clients.connection import CallError, Connection
from cudanalyst.clients.planner import Coder, Planner, State, propose
from cudanalyst.kernels.editbook import applicable, apply
from cudanalyst.kernels.problem import BaseStatus, Component, Problem, Start
from cudanalyst.resources.answers import EvidenceResult, FreezeResult
from cudanalyst.resources.outcomes import Standing, base_status_of, standing
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.run import RunResult
from cudanalyst.values import Frozen

OperatorName = Literal["hill_climbing", "eoh", "mcts"]
COMPONENTS: Final[tuple[Component, ...]] = ("analyzer", "compiler", "debugger", "profiler")
REFERENCES: Final = 3
"""Other candidates that are frozen beside a state."""
Say = Callable[[str], None]


class Scored(Frozen):
    """A candidate that was compiled and run."""

    candidate: str
    source: str
    status: BaseStatus
    speedup: float | None = None
    """Modelled, over the baseline; measured where the server has a GPU and measured it."""
    parent: str | None = None

    @property
    def standing(self) -> Standing:
        """Larger is better."""
        return standing(self.status, self.speedup)


class Bred(Frozen):
    """A frozen generation."""

    checkpoint: str
    candidate: str
    problem: str
    start: str
    source: str
    generation: int
    operator: OperatorName
    base_status: BaseStatus
    references: tuple[str, ...] = ()
    """Handles of the candidates that were frozen beside it."""


class Lab:
    """Judges, freezes and proposes for one run of a backbone."""

    def __init__(
        self, connection: Connection, planner: Planner, coder: Coder, operator: OperatorName, say: Say
    ) -> None:
        """A lab over a connection; `say` is told what it is at."""
        self._connection = connection
        self._planner = planner
        self._coder = coder
        self._operator = operator
        self._say = say
        self._known: dict[tuple[str, str], Scored] = {}
        self._evidence: dict[str, dict[Component, str]] = {}

    async def score(self, problem: Problem, source: str, parent: Scored | None = None) -> Scored:
        """Compiles and runs a source; one that was judged before is not judged again.

        Raises:
            CallError: The server could not judge it.
        """
        known = self._known.get((problem.id, source))
        if known is not None:
            return known
        parents = [] if parent is None else [parent.candidate]
        compiled = await self._connection.call(
            "compile", CompileResult, source=source, problem=problem.id, parents=parents
        )
        if compiled.candidate is None:
            raise CallError(f"compile: {compiled.summary}")
        status = base_status_of("failed", None) if compiled.status in {"failed", "timed_out"} else None
        speedup = None
        if status is None:
            ran = await self._connection.call("run", RunResult, candidate=compiled.candidate)
            status = base_status_of(compiled.status, ran.status)
            speedup = ran.modelled_speedup if ran.speedup is None else ran.speedup
        found = Scored(
            candidate=compiled.candidate,
            source=source,
            status=status,
            speedup=speedup if status == "passed" else None,
            parent=None if parent is None else parent.candidate,
        )
        self._known[problem.id, source] = found
        return found

    async def freeze(
        self, problem: Problem, start: Start, state: Scored, generation: int, others: Sequence[Scored] = ()
    ) -> Bred:
        """Freezes a state with the best of the others beside it.

        Raises:
            CallError: The server could not freeze it.
        """
        apart = {one.candidate: one for one in others if one.candidate != state.candidate}
        best = sorted(apart.values(), key=lambda one: (one.standing, one.candidate), reverse=True)[:REFERENCES]
        return await self._freeze(problem, start, state, generation, [one.candidate for one in best])

    async def again(self, problem: Problem, start: Start, bred: Bred, generation: int) -> Bred:
        """Freezes a state once more, as a later generation that found nothing new.

        Raises:
            CallError: The server could not freeze it.
        """
        return await self._freeze(
            problem, start, self._known[problem.id, bred.source], generation, list(bred.references)
        )

    async def _freeze(
        self, problem: Problem, start: Start, state: Scored, generation: int, references: list[str]
    ) -> Bred:
        self._say(f"{problem.id}/{start.name} {self._operator}: generation {generation}, {state.status}")
        frozen = await self._connection.call(
            "freeze", FreezeResult, candidate=state.candidate, generation=generation, references=references
        )
        if frozen.checkpoint is None or frozen.base_status is None:
            raise CallError(f"freeze: {frozen.summary}")
        self._evidence[state.source] = {
            component: await self._text(frozen.checkpoint, component) for component in COMPONENTS
        }
        return Bred(
            checkpoint=frozen.checkpoint,
            candidate=state.candidate,
            problem=problem.id,
            start=start.name,
            source=state.source,
            generation=generation,
            operator=self._operator,
            base_status=frozen.base_status,
            references=tuple(references),
        )

    async def _text(self, checkpoint: str, component: Component) -> str:
        found = await self._connection.call("get_evidence", EvidenceResult, checkpoint=checkpoint, component=component)
        return found.text or ""

    async def modify(self, problem: Problem, state: Scored, seed: int) -> Scored | None:
        """What planner and coder make of a state, with its evidence where it was frozen; None where they have nothing."""
        proposal = await propose(
            self._planner,
            self._coder,
            State(
                problem=problem.id,
                source=state.source,
                base_status=state.status,
                evidence=self._evidence.get(state.source, {}),
                seed=seed,
            ),
        )
        if proposal.source is None or proposal.source == state.source:
            return None
        return await self.score(problem, proposal.source, state)

    async def explore(self, problem: Problem, state: Scored, draw: random.Random) -> Scored | None:
        """Another program near a state that was not tried yet: a random edit of the problem's book; None where none is left."""
        made = [apply(edit, state.source) for edit in applicable(problem, state.source)]
        fresh = [one for one in made if one is not None and (problem.id, one) not in self._known]
        return await self.score(problem, draw.choice(fresh), state) if fresh else None
