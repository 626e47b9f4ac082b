"""Calls in sessions with randomised delivery: what is withheld is answered with the base status, and every candidate is judged."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from cudanalyst.errors import CudanalystError
from cudanalyst.resources.events import CandidateJudged
from cudanalyst.resources.outcomes import RunStatus, base_status_of
from cudanalyst.resources.randomised.delivery import Deliveries, Offer
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.tools.result import MeasuredOn, ToolResult
from cudanalyst.tools.run import RunRequest, RunResult

WITHHELD: Final = (
    "This session withholds what the {component} says of this candidate, by a random draw that says nothing about the "
    "candidate. Go on with what you have. If you cannot, call again: that is allowed and recorded."
)
_WORDS: Final = {
    "compile_failed": "it does not compile",
    "crashed": "it crashes",
    "wrong": "it gives wrong results",
    "passed": "it passes",
}


@dataclass
class Offering:
    """Answers calls as their draws say."""

    deliveries: Deliveries
    bench: Bench

    async def answer(
        self, call: Call, offer: Offer, model: type[BaseModel], handler: Callable[[], Coroutine[Any, Any, BaseModel]]
    ) -> BaseModel:
        """The tool's own answer, without what the draw hides; or the base status alone.

        The candidate is judged before the answer, so that the next decision's outcome is known whatever the agent asks for.
        """
        if offer.withheld is not None:
            status = await self._judged(call, offer)
            return withheld_result(model, offer, status)
        result = await handler()
        status = await self._judged(call, offer)
        return without_compiler(result, status) if offer.hides_compiler else result

    async def _judged(self, call: Call, offer: Offer) -> str | None:
        """The candidate's base status, recorded once a session; None where the evaluator could not tell."""
        source = call.submitted.source
        if source is None:
            return None
        try:
            ran = await self.bench.run(source, RunRequest(), call.progress)
            verdict = verdict_of(ran, offer)
        except CudanalystError:
            return None
        if await in_thread(self.deliveries.needs_verdict, call.scope, offer.candidate):
            await in_thread(self.deliveries.judge, call.scope, verdict)
        return verdict.base_status


def verdict_of(ran: RunResult, offer: Offer) -> CandidateJudged:
    """What a run establishes.

    Raises:
        Unavailable: It could not be done here.
    """
    status: RunStatus = ran.status
    return CandidateJudged(
        candidate=offer.candidate,
        problem=offer.problem,
        base_status=base_status_of("compiled", status),
        modelled_speedup=ran.modelled_speedup,
        speedup=ran.speedup,
        fast=ran.fast,
    )


def withheld_result(model: type[BaseModel], offer: Offer, status: str | None) -> BaseModel:
    """A tool's own result that tells the base status and nothing else."""
    reason = WITHHELD.format(component=offer.withheld)
    return model(
        status="unavailable",
        summary=f"{_told(status)} {reason}",
        reason=reason,
        measured_on=MeasuredOn(toolchain="none"),
        candidate=offer.candidate,
    )


def without_compiler(result: BaseModel, status: str | None) -> BaseModel:
    """Leaves out the compiler's messages, which other tools repeat where a source does not compile."""
    if not isinstance(result, ToolResult) or not getattr(result, "diagnostics", ()):
        return result
    changed: dict[str, Any] = {"diagnostics": (), "summary": _told(status)}
    if result.reason is not None and getattr(result, "status", "") == "compile_failed":
        changed["reason"] = None
    return result.model_copy(update=changed)


def _told(status: str | None) -> str:
    words = "not known: it could not be evaluated here" if status is None else f"{status} ({_WORDS[status]})"
    return f"Base status: {words}."
