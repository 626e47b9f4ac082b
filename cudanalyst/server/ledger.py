"""The store as the surface sees it: contexts, records of calls, and whole results to come back to."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeVar

from anyio import to_thread
from pydantic import BaseModel

from cudanalyst.errors import CudanalystError, NotFound
from cudanalyst.resources import folds
from cudanalyst.resources.events import Event, EvidenceDelivered, JobFinished, JobStarted, ToolFinished, ToolStarted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.guard import Request, guard
from cudanalyst.resources.randomised.delivery import Deliveries
from cudanalyst.resources.store import Scope, Store
from cudanalyst.server.bounds import compact_json
from cudanalyst.server.call import Call
from cudanalyst.tools.result import ToolResult
from cudanalyst.tools.text import CHARACTERS_A_TOKEN
from cudanalyst.values import Frozen

T = TypeVar("T")
MAX_CONNECTIONS: Final = 4096
RESULT_PREFIX: Final = "res_"
LookUp = Callable[[Call, dict[str, Any]], None]
"""Finds what a call is about, for its handler."""


@dataclass(frozen=True)
class Ending:
    """How a call ended."""

    reference: str
    tool: str
    status: str
    seconds: float
    result: BaseModel | None = None
    sent: dict[str, Any] | None = None
    """What its caller is sent."""
    job: str | None = None
    """The job that it had become: then nothing is sent yet."""
    device_s: float | None = None
    """For how long it held a GPU; None where it held none."""


@dataclass
class StoreLedger:
    """Records calls in the store. The store blocks, so every access is in a worker thread."""

    store: Store
    experiments: Experiments
    deliveries: Deliveries | None = None
    """Draws of sessions with randomised delivery."""
    _own: dict[tuple[str, str | None], str] = field(default_factory=dict)

    async def context(self, owner: str, session: str | None, connection: str | None, context: str | None) -> Scope:
        """The scope of a call: the session named, if it is the owner's, else the connection's own.

        Raises:
            NotFound: The session is unknown or another owner's.
        """
        if session is None and context is None and (owned := self._own.get((owner, connection))) is not None:
            return Scope(owner, owned, owned)
        return await in_thread(self._context, owner, session, connection, context)

    def _context(self, owner: str, session: str | None, connection: str | None, context: str | None) -> Scope:
        if session is not None:
            return self.store.scope(owner, session, context)
        key = (owner, connection)
        if key not in self._own:
            while len(self._own) >= MAX_CONNECTIONS:
                del self._own[next(iter(self._own))]
            self._own[key] = self.store.start_session(owner)
        handle = self._own[key]
        return Scope(owner, handle, handle) if context is None else self.store.scope(owner, handle, context)

    def _about(self, owner: str, tool: str, arguments: dict[str, Any]) -> Request:
        """What a request is about, where its arguments tell."""
        source, problem = arguments.get("source"), arguments.get("problem")
        if isinstance(candidate := arguments.get("candidate"), str):
            with suppress(CudanalystError):  # an unknown handle: the handler says so
                known = self.store.candidate(owner, candidate)
                return Request(tool=tool, problem=known.problem, source=known.text)
        if isinstance(checkpoint := arguments.get("checkpoint"), str):
            with suppress(CudanalystError):
                frozen = self.store.checkpoint(owner, checkpoint)
                return Request(tool=tool, problem=frozen.problem, source=frozen.source.text)
        return Request(
            tool=tool,
            problem=problem if isinstance(problem, str) else None,
            source=source if isinstance(source, str) else None,
        )

    async def begin(
        self, call: Call, tool: str, arguments: dict[str, Any], look_up: LookUp
    ) -> tuple[str, CudanalystError | None]:
        """Records a call's start, asks the trial guard, and then looks up what the call is about.

        Returns:
            The call's name, and why it is refused where it is.
        """
        return await in_thread(self._begin, call, tool, arguments, look_up)

    def _begin(
        self, call: Call, tool: str, arguments: dict[str, Any], look_up: LookUp
    ) -> tuple[str, CudanalystError | None]:
        reference = f"call_{secrets.token_hex(8)}"
        candidate = arguments.get("candidate")
        known = candidate if isinstance(candidate, str) else None
        # Seen by everybody before the guard looks; the durable end of the call makes it durable too.
        self.store.append(call.scope, ToolStarted(call=reference, tool=tool, candidate=known), durable=False)
        try:
            index = self.experiments.index(call.owner)
            asked = index.given_to(call.scope) or index.given_in(call.scope.session) or index.all_open()
            request = self._about(call.owner, tool, arguments) if asked else Request(tool=tool)
            guard(self.experiments, call.scope, request)
        except CudanalystError as error:
            return reference, error
        look_up(call, arguments)
        if self.deliveries is not None and call.submitted.source is not None:
            call.submitted.offer = self.deliveries.offer(call.scope, tool, call.submitted.source)
        return reference, None

    async def finished(self, call: Call, ending: Ending) -> EvidenceDelivered | None:
        """Records how a call ended, durably and in one transaction: only then may it be answered.

        A feedback tool's whole result is kept as a blob, and so is one that was cut; its caller's copy then names it.
        Sending evidence counts as delivering it; that of a job is given back, to be recorded when it is told.
        """
        return await in_thread(self._finished, call, ending)

    def _finished(self, call: Call, ending: Ending) -> EvidenceDelivered | None:
        result, sent = ending.result, ending.sent or {}
        cut = bool(sent.get("omitted")) and isinstance(result, Frozen)
        # Without its duration, which the event holds, an equal result is an equal blob and is written once.
        kept = result.model_copy(update={"duration_s": None}) if isinstance(result, ToolResult) else result
        blob = self.store.put(kept) if isinstance(kept, Frozen) and (cut or isinstance(kept, ToolResult)) else None
        candidate = getattr(result, "candidate", None)
        identity = f"{RESULT_PREFIX}{blob[:32]}" if blob is not None and cut else None
        for one in sent.get("omitted", ()) if identity is not None else ():
            one["resource"] = f"cudanalyst://results/{identity}"
        finished = ToolFinished(
            call=ending.reference,
            tool=ending.tool,
            status=ending.status,
            candidate=candidate,
            result_blob=blob if isinstance(result, ToolResult) else None,
            tokens=None if ending.sent is None else int(len(compact_json(sent)) / CHARACTERS_A_TOKEN),
            seconds=round(ending.seconds, 6),
            cached=bool(getattr(result, "cached", False)),
            modelled_speedup=getattr(result, "modelled_speedup", None) if ending.status == "passed" else None,
            speedup=getattr(result, "speedup", None) if ending.status == "passed" else None,
            device_s=ending.device_s,
        )
        events: list[Event] = [finished]
        delivery = folds.delivery(ending.tool, ending.status, candidate, blob)
        if ending.job is not None:
            events.append(_job_finished(ending))
        elif delivery is not None:
            events.append(delivery)
        with self.store.transaction():
            if identity is not None and blob is not None:
                self.store.show(call.owner, identity, blob)
            self.store.append_many(call.scope, events)
        return delivery

    async def became_job(self, call: Call, ending: Ending) -> None:
        """Records the end of a job that a call became while its end was being recorded."""
        await in_thread(self.store.append, call.scope, _job_finished(ending))

    async def delivered(self, call: Call, delivery: EvidenceDelivered) -> None:
        """Records that a job's evidence is told; the durable end of the call makes it durable."""
        await in_thread(partial(self.store.append, call.scope, delivery, durable=False))

    async def job_started(self, call: Call, tool: str) -> str:
        """Mints the handle of a job that a call is answered with, and records it."""
        return await in_thread(self._job_started, call, tool)

    def _job_started(self, call: Call, tool: str) -> str:
        with self.store.transaction():
            (handle,) = self.store.mint(call.owner, "job", parent=call.session)
            self.store.append(call.scope, JobStarted(job=handle, call=handle, tool=tool))
        return handle

    def kept(self, owner: str, identity: str) -> bytes:
        """A whole result by its id; reads the disk.

        Raises:
            NotFound: It is unknown or another owner's.
        """
        found = self.store.find(owner, identity) if identity.startswith(RESULT_PREFIX) else None
        if found is None:
            message = f"Unknown result {identity!r}. Use a resource that a result named."
            raise NotFound(message)
        return found


def _job_finished(ending: Ending) -> JobFinished:
    words: dict[bool, Literal["failed", "done"]] = {True: "failed", False: "done"}
    status = "cancelled" if ending.status == "cancelled" else words[ending.sent is None]
    return JobFinished(job=ending.job or "", status=status)


async def in_thread(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Calls a function that waits for the disk without holding up the event loop."""
    return await to_thread.run_sync(partial(function, *arguments, **named))
