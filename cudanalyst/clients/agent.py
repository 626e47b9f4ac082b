"""The scripted agent: takes a kernel through the five tools, freezes the moment, plans from the evidence, and goes on."""

from collections.abc import Callable
from typing import Final

from cudanalyst.clients.connection import Connection
from cudanalyst.clients.planner import Proposer, State
from cudanalyst.kernels.problem import BaseStatus, Component, Problem, Start
from cudanalyst.resources.answers import EvidenceResult, FreezeResult, PlanResult
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.profile import ProfileResult
from cudanalyst.tools.run import RunResult
from cudanalyst.values import Frozen

COMPONENTS: Final[tuple[Component, ...]] = ("analyzer", "compiler", "debugger", "profiler")
MAX_GENERATIONS: Final = 3
FAST: Final = 1.12
Watch = Callable[[str, str], None]
"""Told the tool that was called and its summary."""


class Step(Frozen):
    """One generation of a walk."""

    problem: str
    start: str
    generation: int
    checkpoint: str
    source: str
    base_status: BaseStatus
    statuses: dict[str, str]
    """Status of each of the five tools."""
    modelled_speedup: float | None = None
    seconds: dict[Component, float] = {}
    """What gathering each component's evidence took."""
    placebos: tuple[Component, ...] = ()
    """Components that could not report on this candidate."""
    edit: str | None = None
    """The edit that was chosen from here; None at the end of the walk."""


class ScriptedAgent:
    """An agent with a planner, working over one connection."""

    def __init__(self, connection: Connection, planner: Proposer, watch: Watch) -> None:
        """An agent; `watch` is told of every call that was answered."""
        self._connection = connection
        self._planner = planner
        self._watch = watch

    async def walk(
        self, problem: Problem, start: Start, seed: int, generations: int = MAX_GENERATIONS
    ) -> tuple[Step, ...]:
        """Improves a starting kernel until it is fast, the planner has nothing left, or the generations are used up."""
        steps: list[Step] = []
        source, parents = start.source, list[str]()
        for generation in range(generations):
            statuses, seconds, speedup, candidate = await self._examine(problem.id, source, parents)
            frozen = await self._connection.call("freeze", FreezeResult, candidate=candidate, generation=generation)
            self._watch("freeze", frozen.summary)
            if frozen.checkpoint is None or frozen.base_status is None:
                break
            evidence = {component: await self._evidence(frozen.checkpoint, component) for component in COMPONENTS}
            proposal = None
            if not (frozen.base_status == "passed" and (speedup or 0.0) >= FAST):
                proposal = await self._planner.propose(
                    State(
                        problem=problem.id,
                        source=source,
                        base_status=frozen.base_status,
                        evidence=evidence,
                        seed=seed + generation,
                    )
                )
            steps.append(
                Step(
                    problem=problem.id,
                    start=start.name,
                    generation=generation,
                    checkpoint=frozen.checkpoint,
                    source=source,
                    base_status=frozen.base_status,
                    statuses=statuses,
                    modelled_speedup=speedup,
                    seconds=seconds,
                    placebos=tuple(one.component for one in frozen.evidence if one.structural),
                    edit=proposal.edit if proposal is not None else None,
                )
            )
            if proposal is None or proposal.source is None:
                break
            recorded = await self._connection.call(
                "plan",
                PlanResult,
                text=proposal.plan,
                cites=list(proposal.cites),
                candidate=candidate,
                author=self._planner.name,
            )
            self._watch("plan", f"{proposal.plan}. {recorded.summary}")
            source, parents = proposal.source, [candidate]
        return tuple(steps)

    async def _examine(
        self, problem: str, source: str, parents: list[str]
    ) -> tuple[dict[str, str], dict[Component, float], float | None, str]:
        """One call of each tool: statuses, seconds by component, modelled speedup, and the candidate's handle."""
        call = self._connection.call
        compiled = await call("compile", CompileResult, source=source, problem=problem, parents=parents)
        self._watch("compile", compiled.summary)
        candidate = compiled.candidate or ""
        analyzed = await call("analyze", AnalyzeResult, candidate=candidate)
        self._watch("analyze", analyzed.summary)
        debugged = await call("debug", DebugResult, candidate=candidate)
        self._watch("debug", debugged.summary)
        ran = await call("run", RunResult, candidate=candidate)
        self._watch("run", ran.summary)
        profiled = await call("profile", ProfileResult, candidate=candidate)
        self._watch("profile", profiled.summary)
        statuses: dict[str, str] = {
            "compile": compiled.status,
            "analyze": analyzed.status,
            "debug": debugged.status,
            "run": ran.status,
            "profile": profiled.status,
        }
        seconds: dict[Component, float] = {
            "compiler": compiled.duration_s or 0.0,
            "analyzer": analyzed.duration_s or 0.0,
            "debugger": debugged.duration_s or 0.0,
            "profiler": profiled.duration_s or 0.0,
        }
        return statuses, seconds, ran.modelled_speedup, candidate

    async def _evidence(self, checkpoint: str, component: Component) -> str:
        found = await self._connection.call("get_evidence", EvidenceResult, checkpoint=checkpoint, component=component)
        return found.text or ""
