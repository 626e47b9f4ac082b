"""The one way into the workbench: whose call it is, what a trial closes, records, jobs and bounds.

No handler can forget any of these, because none is reached but through `Surface.perform`.
"""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import anyio
from mcp.server.mcpserver import Context
from pydantic import BaseModel

from cudanalyst.errors import CudanalystError
from cudanalyst.resources.audit import REFUSED
from cudanalyst.resources.folds import WITHHELD
from cudanalyst.server.bounds import Detail, bounded, lean
from cudanalyst.server.call import Call, Progress
from cudanalyst.server.jobs import Job, Jobs
from cudanalyst.server.ledger import Ending, LookUp, StoreLedger
from cudanalyst.server.offering import Offering
from cudanalyst.tools.device_time import device_time
from cudanalyst.tools.result import MeasuredOn, ToolResult


class Entry(Protocol):
    """What the surface asks of a catalogue entry."""

    @property
    def name(self) -> str:
        """The tool."""

    @property
    def result(self) -> type[BaseModel]:
        """Its result model."""

    @property
    def outlives(self) -> bool:
        """Whether a call may be answered with a job."""

    @property
    def concise(self) -> Callable[[Any], BaseModel] | None:
        """What of a result is sent where `detail` is concise."""

    @property
    def whole(self) -> bool:
        """Whether the result is never cut to the concise limit."""


Caller = Callable[[Context[Any, Any]], tuple[str, str | None]]
"""Owner and connection of an SDK request."""
Told = Callable[[str, str], Coroutine[Any, Any, None]]


async def _untold(_session: str, _tool: str) -> None:
    return None


Handler = Callable[..., Coroutine[Any, Any, BaseModel]]


@dataclass(frozen=True)
class Surface:
    """Performs calls."""

    jobs: Jobs
    ledger: StoreLedger
    caller: Caller
    look_up: LookUp
    offering: Offering | None = None
    told: Told = _untold
    """Is told the session and the tool of every call that was answered."""

    async def call_of(
        self, context: Context[Any, Any], session: str | None = None, conversation: str | None = None
    ) -> Call:
        """Who calls, in which session and conversation.

        Raises:
            NotFound: The session is unknown or another owner's.
        """
        owner, connection = self.caller(context)
        return Call(await self.ledger.context(owner, session, connection, conversation), Progress(_reporter(context)))

    async def perform(
        self, entry: Entry, handler: Handler, values: dict[str, Any], call: Call, detail: Detail = "concise"
    ) -> tuple[BaseModel, dict[str, Any]]:
        """Does one call, or hands it out as a job: its result, and the JSON that the caller is sent.

        Raises:
            CudanalystError: The call cannot be served.
        """
        answer = await self.jobs.answer(
            self._recorded(entry, handler, values, call, detail), call, entry.name, may_outlive=entry.outlives
        )
        if isinstance(answer, Job):
            model = running(entry.result, answer)
            return model, lean(model)
        finished: tuple[BaseModel, dict[str, Any]] = answer
        return finished

    async def _recorded(
        self, entry: Entry, handler: Handler, values: dict[str, Any], call: Call, detail: Detail
    ) -> tuple[BaseModel, dict[str, Any]]:
        with device_time() as gpu:
            answer = await self._timed(entry, handler, values, call, detail, gpu)
        await self.told(call.session, entry.name)
        return answer

    async def _timed(
        self, entry: Entry, handler: Handler, values: dict[str, Any], call: Call, detail: Detail, gpu: list[float]
    ) -> tuple[BaseModel, dict[str, Any]]:
        begun = self.jobs.now()
        reference, refusal = await self.ledger.begin(call, entry.name, values, self.look_up)
        result: BaseModel | None = None
        sent: dict[str, Any] | None = None
        status = REFUSED  # what an audit of a trial tells from a call that was let through
        try:
            if refusal is not None:
                raise refusal
            status = "cancelled"
            result = await self._answered(entry, handler, values, call)
            sent = _sent(entry, result, detail)
            offer = call.submitted.offer
            withheld = offer is not None and offer.withheld is not None
            status = WITHHELD if withheld else str(getattr(result, "status", "finished"))
        except CudanalystError as error:
            status = status if status == REFUSED else type(error).__name__
            raise
        except Exception:
            status = "bug"
            raise
        finally:
            with anyio.CancelScope(shield=True):
                held = round(sum(gpu), 6) if gpu else None
                ending = Ending(reference, entry.name, status, self.jobs.now() - begun, result, sent, device_s=held)
                await self._record(call, ending)
        return result, sent

    async def _answered(self, entry: Entry, handler: Handler, values: dict[str, Any], call: Call) -> BaseModel:
        """The handler's answer, as far as this session's draws let it be told."""
        offer = call.submitted.offer
        if offer is None or self.offering is None:
            return await handler(call, **values)
        return await self.offering.answer(call, offer, entry.result, partial(handler, call, **values))

    async def _record(self, call: Call, ending: Ending) -> None:
        job = self.jobs.of_current_task()
        if job is not None:
            job.delivery = await self.ledger.finished(call, replace(ending, job=job.id))
            return
        await self.ledger.finished(call, ending)
        if (job := self.jobs.of_current_task()) is not None:  # the answer fell due meanwhile
            await self.ledger.became_job(call, replace(ending, job=job.id))


def _sent(entry: Entry, result: BaseModel, detail: Detail) -> dict[str, Any]:
    """The JSON of a result that its caller gets."""
    shown = entry.concise(result) if entry.concise is not None and detail == "concise" else result
    return bounded(lean(shown), "full" if entry.whole else detail)


def running(model: type[BaseModel], job: Job) -> BaseModel:
    """The tool's own result model, saying that the work goes on as a job."""
    summary = f"Still running as {job.id}. Call job_status with it for the result, or job_cancel to stop it."
    fields: dict[str, Any] = {"status": "running", "summary": summary, "job": job.id}
    if issubclass(model, ToolResult):
        fields["measured_on"] = MeasuredOn(toolchain="none")
    return model(**fields)


def _reporter(context: Context[Any, Any]) -> Callable[[float, str], Coroutine[Any, Any, None]]:
    async def report(seconds: float, words: str) -> None:
        with suppress(
            anyio.ClosedResourceError, anyio.BrokenResourceError
        ):  # the client has gone: its call is being cancelled
            await context.report_progress(round(seconds, 1), None, words)

    return report
