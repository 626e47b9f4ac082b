"""Handlers that keep a moment and take it up again: freeze, restore, plan."""

from functools import partial
from typing import Annotated

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.resources import folds
from cudanalyst.resources.answers import FreezeResult, FrozenEvidence, PlanResult, RestoreResult
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import PlanRecorded
from cudanalyst.resources.freeze import Moment, ToolResults, freeze, restore
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.server.arguments import CandidateHandle, CheckpointHandle, Cites, ProblemId, SourceText
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group
from cudanalyst.tools.source import Source


class StateTools(Group):
    """Handlers of freeze, restore and plan."""

    async def freeze(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
        references: Annotated[
            list[str], Field(description="Handles of other candidates that a planner sees beside it", max_length=8)
        ] = [],  # noqa: B006 - read only, and the published default
        generation: Annotated[
            int | None, Field(description="Default: the number of ancestors", ge=0, le=1_000_000)
        ] = None,
        refreeze: Annotated[int, Field(description="Raise it to gather the evidence anew", ge=0, le=1000)] = 0,
    ) -> FreezeResult:
        """Freezes a candidate with all its evidence."""
        submitted = await self.source_of(call, source, candidate, problem, None, [])
        if submitted.problem is None:
            message = "problem: only candidates of a problem can be frozen; name the problem that this source solves"
            raise BadRequest(message)
        lineage = await in_thread(self._lineage, call, submitted.id)
        moment = Moment(
            source=submitted,
            lineage=lineage,
            references=tuple(references),
            generation=len(lineage) if generation is None else generation,
            refreeze=refreeze,
        )
        frozen = await freeze(self.services.store, call.scope, moment, partial(self._evaluate, call))
        return _frozen_result(frozen)

    async def _evaluate(self, call: Call, source: Source) -> ToolResults:
        return await self.services.bench.evaluate(source, call.progress)

    def _lineage(self, call: Call, candidate: str) -> tuple[str, ...]:
        events = self.services.store.events(call.owner, session=call.session, kinds=("candidate_submitted",))
        return folds.lineage(folds.parents_of(events), candidate)

    async def restore(self, call: Call, checkpoint: CheckpointHandle) -> RestoreResult:
        """Gives back what was frozen, but for its evidence."""
        frozen = await in_thread(restore, self.services.store, call.scope, checkpoint)
        await in_thread(self.services.store.add_candidate, call.scope, frozen.source)
        return RestoreResult(
            status="restored",
            summary=f"Checkpoint of {frozen.problem}, generation {frozen.generation}: {_words(frozen.base_status)}.",
            checkpoint=checkpoint,
            candidate=frozen.source.id,
            problem=frozen.problem,
            base_status=frozen.base_status,
            generation=frozen.generation,
            source=frozen.source.text,
        )

    async def plan(
        self,
        call: Call,
        text: Annotated[str, Field(description="What you mean to do, and why", min_length=1, max_length=MAX_PLAN)],
        cites: Cites = [],  # noqa: B006
        candidate: CandidateHandle = None,
        author: Annotated[str | None, Field(description="Who planned, e.g. a model's name", max_length=100)] = None,
    ) -> PlanResult:
        """Records a plan and the evidence behind it."""
        if candidate is not None:
            await in_thread(self.services.store.candidate, call.owner, candidate)
        made = Plan(text=text, cites=tuple(cites), author=author)
        await in_thread(self._record_plan, call, made, candidate)
        cited = f" It cites {', '.join(cites)}." if cites else " It cites nothing."
        return PlanResult(status="recorded", summary=f"Plan recorded.{cited}", plan=made.id, cites=made.cites)

    def _record_plan(self, call: Call, made: Plan, candidate: str | None) -> None:
        store = self.services.store
        event = PlanRecorded(
            plan=made.id, blob=store.put(made), candidate=candidate, cites=made.cites, author=made.author
        )
        store.append(call.scope, event)


def _frozen_result(frozen: Checkpoint) -> FreezeResult:
    evidence = tuple(
        FrozenEvidence(component=component, items=len(one.items), characters=len(one.text), structural=one.structural)
        for component, one in sorted(frozen.evidence.items())
    )
    return FreezeResult(
        status="frozen",
        summary=(
            f"Frozen as {frozen.id}: a {frozen.problem} candidate that {_words(frozen.base_status)}, "
            f"with evidence of {', '.join(one.component for one in evidence)}. Read it with get_evidence."
        ),
        checkpoint=frozen.id,
        candidate=frozen.source.id,
        problem=frozen.problem,
        base_status=frozen.base_status,
        evidence=evidence,
        resource=f"cudanalyst://checkpoints/{frozen.id}",
    )


def _words(status: str) -> str:
    return {
        "compile_failed": "does not compile",
        "crashed": "crashes",
        "wrong": "gives wrong results",
        "passed": "passes",
    }[status]
