"""Work that may outlive the call that started it: answered in time, or handed out as a job; cancelled for real."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio
import structlog

from cudanalyst.errors import CudanalystError, NotFound
from cudanalyst.resources.events import EvidenceDelivered
from cudanalyst.server.call import Call, Progress
from cudanalyst.tools.text import error_text

ANSWER_WITHIN_S: Final = 45.0
"""Many clients drop a call after 60 s."""
BEAT_S: Final = 2.5
KEPT: Final = 256
"""Ended jobs that are remembered, newest last."""

JobState = Literal["running", "finished", "failed", "cancelled"]
_log = structlog.stdlib.get_logger(__name__)


@dataclass
class Job:
    """One piece of work that a call left behind."""

    id: str
    call: Call
    tool: str
    task: asyncio.Task[Any]
    started: float
    ended: float | None = None
    delivery: EvidenceDelivered | None = None
    """What telling its result delivers."""

    @property
    def state(self) -> JobState:
        """Where it stands."""
        if not self.task.done():
            return "running"
        if self.task.cancelled():
            return "cancelled"
        return "failed" if self.task.exception() is not None else "finished"

    @property
    def error(self) -> str | None:
        """What went wrong, in words meant for the caller; a bug stays masked."""
        if self.state != "failed":
            return None
        error = self.task.exception()
        return error_text(error) if isinstance(error, CudanalystError) else f"Error executing tool {self.tool}"

    def seconds(self, now: float) -> float:
        """How long it ran, or has run."""
        return (self.ended if self.ended is not None else now) - self.started


@dataclass
class Jobs:
    """All work in progress of one server."""

    mint: Callable[[Call, str], Awaitable[str]]
    """Makes an unguessable handle for a call of a tool, and records it."""
    answer_within_s: float = ANSWER_WITHIN_S
    beat_s: float = BEAT_S
    _jobs: dict[str, Job] = field(default_factory=dict)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def answer(self, work: Coroutine[Any, Any, Any], call: Call, tool: str, *, may_outlive: bool) -> Any:
        """The work's result, or a `Job` once the answer is due. Cancelling this call cancels the work.

        Args:
            work: What is to be done; started at once.
            call: Who asked; its progress is told every few seconds.
            tool: Name of the tool.
            may_outlive: Whether the call may be answered with a job.
        """
        started = self.now()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            due = started + self.answer_within_s if may_outlive else None
            if not await self._attend(task, call.progress, started, due):
                handle = await self.mint(call, tool)
                if not task.done():
                    return self._hand_out(Job(handle, call, tool, task, started))
        except BaseException:
            await end(task)
            raise
        return task.result()

    async def _attend(self, task: asyncio.Task[Any], progress: Progress, started: float, due: float | None) -> bool:
        """Waits for the task with beats of progress; False when the answer is due before it is done."""
        while not task.done():
            left = self.beat_s if due is None else min(self.beat_s, due - self.now())
            if left <= 0:
                return False
            await asyncio.wait({task}, timeout=left)
            if not task.done():
                await progress.beat(self.now() - started)
        return True

    def _hand_out(self, job: Job) -> Job:
        job.call.progress.detach()
        self._jobs[job.id] = job
        job.task.add_done_callback(lambda _: self._ended(job))
        ended = [key for key, kept in self._jobs.items() if kept.ended is not None]
        for key in ended[: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[key]
        return job

    def of_current_task(self) -> Job | None:
        """The job that the running task has become, if it has."""
        task = asyncio.current_task()
        return next((job for job in self._jobs.values() if job.task is task), None)

    def _ended(self, job: Job) -> None:
        job.ended = self.now()
        if not job.task.cancelled() and (error := job.task.exception()) is not None:
            level = _log.info if isinstance(error, CudanalystError) else _log.error
            level("job failed", tool=job.tool, exc_info=error)

    def find(self, job: str, owner: str) -> Job:
        """The owner's job of that name.

        Raises:
            NotFound: There is none, or it is another owner's.
        """
        found = self._jobs.get(job)
        if found is None or found.call.owner != owner:
            message = f"no job {job!r}: it was never started here, is long over, or ended with an earlier server"
            raise NotFound(message)
        return found

    async def wait(self, job: Job, wait_s: float, progress: Progress) -> None:
        """Waits until the job is over or `wait_s` has passed."""
        await self._attend(job.task, progress, job.started, self.now() + wait_s)

    def now(self) -> float:
        """The clock that jobs are timed by."""
        return asyncio.get_running_loop().time()

    async def end_all(self) -> None:
        """Cancels everything and waits until it is gone, processes too."""
        with anyio.CancelScope(shield=True):
            while self._tasks:
                for task in tuple(self._tasks):
                    task.cancel()
                await asyncio.wait(tuple(self._tasks))


async def end(task: asyncio.Task[Any]) -> None:
    """Cancels a task and waits for its clean-up, even in a cancelled caller."""
    with anyio.CancelScope(shield=True):
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: it must not be reported as forgotten


class Turns:
    """At most so many pieces of heavy work at once; who waits is told its place."""

    def __init__(self, at_once: int | None = None) -> None:
        """Allows `at_once` turns (default: one a core, and at least two)."""
        self._free = at_once or max(2, os.cpu_count() or 2)
        self._waiting: list[asyncio.Future[None]] = []

    @asynccontextmanager
    async def turn(self, progress: Progress) -> AsyncIterator[None]:
        """Waits for a turn and gives it back."""
        await self._take(progress)
        try:
            yield
        finally:
            self._give()

    async def _take(self, progress: Progress) -> None:
        if self._free > 0:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        progress.say(
            lambda: f"waiting for a turn, position {self._waiting.index(mine) + 1}" if mine in self._waiting else ""
        )
        try:
            await mine
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(mine)
            if mine.done() and not mine.cancelled():
                self._give()
            raise
        finally:
            progress.say("working")

    def _give(self) -> None:
        while self._waiting:
            following = self._waiting.pop(0)
            if not following.done():
                following.set_result(None)
                return
        self._free += 1
