"""The store as the surface sees it: contexts, records of calls, and whole results to come back to."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from anyio import to_thread
from pydantic import BaseModel

from cudanalyst.errors import CudanalystError, NotFound
from cudanalyst.resources.events import JobFinished, JobStarted, ToolFinished, ToolStarted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.guard import Request, guard
from cudanalyst.resources.store import Scope, Store
from cudanalyst.server.call import Call
from cudanalyst.server.schema import CHARACTERS_A_TOKEN
from cudanalyst.tools.result import ToolResult
from cudanalyst.values import Frozen

T = TypeVar("T")
MAX_CONNECTIONS: Final = 4096
RESULT_PREFIX: Final = "res_"


@dataclass
class StoreLedger:
    """Records calls in the store. The store blocks, so every access is in a worker thread."""

    store: Store
    experiments: Experiments
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

    def _problem(self, owner: str, arguments: dict[str, Any]) -> str | None:
        """The problem that a request is about, where its arguments tell."""
        if isinstance(candidate := arguments.get("candidate"), str):
            with suppress(CudanalystError):  # an unknown handle: the handler says so
                return self.store.candidate(owner, candidate).problem
        if isinstance(checkpoint := arguments.get("checkpoint"), str):
            with suppress(CudanalystError):
                return self.store.checkpoint(owner, checkpoint).problem
        problem = arguments.get("problem")
        return problem if isinstance(problem, str) else None

    async def begin(self, call: Call, tool: str, arguments: dict[str, Any]) -> tuple[str, CudanalystError | None]:
        """Records a call's start and asks the trial guard: the call's name, and why it is refused where it is."""
        return await in_thread(self._begin, call, tool, arguments)

    def _begin(self, call: Call, tool: str, arguments: dict[str, Any]) -> tuple[str, CudanalystError | None]:
        reference = f"call_{secrets.token_hex(8)}"
        candidate = arguments.get("candidate")
        known = candidate if isinstance(candidate, str) else None
        self.store.append(call.scope, ToolStarted(call=reference, tool=tool, candidate=known))
        try:
            guard(self.experiments, call.scope, Request(tool=tool, problem=self._problem(call.owner, arguments)))
        except CudanalystError as error:
            return reference, error
        return reference, None

    async def finished(
        self, call: Call, reference: str, tool: str, status: str, result: BaseModel | None, seconds: float
    ) -> None:
        """Records how a call ended; a feedback tool's whole result is kept as a blob."""
        await in_thread(self._finished, call, reference, tool, status, result, seconds)

    def _finished(
        self, call: Call, reference: str, tool: str, status: str, result: BaseModel | None, seconds: float
    ) -> None:
        # Without its duration (which the event holds), an equal result is an equal blob and is written once.
        blob = (
            self.store.put(result.model_copy(update={"duration_s": None})) if isinstance(result, ToolResult) else None
        )
        size = len(result.model_dump_json(exclude_none=True)) if result is not None else None
        event = ToolFinished(
            call=reference,
            tool=tool,
            status=status,
            candidate=getattr(result, "candidate", None),
            result_blob=blob,
            tokens=None if size is None else int(size / CHARACTERS_A_TOKEN),
            seconds=round(seconds, 6),
            cached=bool(getattr(result, "cached", False)),
            modelled_speedup=getattr(result, "modelled_speedup", None) if status == "passed" else None,
        )
        self.store.append(call.scope, event)

    async def job_started(self, call: Call, tool: str) -> str:
        """Mints the handle of a job that a call is answered with, and records it."""
        return await in_thread(self._job_started, call, tool)

    def _job_started(self, call: Call, tool: str) -> str:
        with self.store.transaction():
            (handle,) = self.store.mint(call.owner, "job", parent=call.session)
            self.store.append(call.scope, JobStarted(job=handle, call=handle, tool=tool))
        return handle

    async def job_finished(self, call: Call, job: str, status: str) -> None:
        """Records that a job is over."""
        words: dict[str, Any] = {"finished": "done", "failed": "failed", "cancelled": "cancelled"}
        await in_thread(self.store.append, call.scope, JobFinished(job=job, status=words[status]))

    async def keep(self, call: Call, result: Frozen) -> str:
        """Keeps a whole result where its owner can read it; gives the resource that holds it."""
        return await in_thread(self._keep, call, result)

    def _keep(self, call: Call, result: Frozen) -> str:
        blob = self.store.put(result)
        identity = f"{RESULT_PREFIX}{blob[:32]}"
        self.store.show(call.owner, identity, blob)
        return f"cudanalyst://results/{identity}"

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


async def in_thread(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Calls a function that waits for the disk without holding up the event loop."""
    return await to_thread.run_sync(partial(function, *arguments, **named))
