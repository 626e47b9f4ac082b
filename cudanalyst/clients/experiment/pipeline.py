"""Trials through planning, coding and submitting, all at once, with room for only so many between two stages.

A slow stage holds up those before it, so that few trials are open at any time. A context is a number: one that was begun is taken
up again under the same number, and gets the same trial.
"""

import itertools
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final, Literal

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from cudanalyst.clients.agents import Cast
from cudanalyst.clients.connection import CallError, Connection
from cudanalyst.clients.experiment.answers import Answers
from cudanalyst.clients.experiment.budget import Allowance
from cudanalyst.clients.experiment.journal import Journal, Opened, Submitted
from cudanalyst.clients.experiment.tasks import Task, task_of
from cudanalyst.errors import CudanalystError, Unavailable
from cudanalyst.resources.answers import TrialNextResult, TrialSubmitResult

PAUSE_S: Final = (0.05, 2.0)
"""Seconds between two questions for a trial while none is to be had: the first, and the most."""
MAX_TAKERS: Final = 4
Stage = Literal["taking", "planning", "coding", "submitting"]
End = Literal["finished", "external", "stopped"]
"""`external`: all trials of the planners that are asked here are answered; others are left."""


@dataclass
class Gauge:
    """Where trials are now; what a screen shows."""

    at: dict[Stage, int] = field(
        default_factory=lambda: dict.fromkeys(("taking", "planning", "coding", "submitting"), 0)
    )
    """Being worked on, by stage."""
    queued: Callable[[], dict[Stage, int]] = dict
    """Waiting for a stage."""
    submitted: int = 0
    """By this run."""
    waiting: str | None = None
    """What the server says while no trial is to be had."""
    late: int = 0
    """Answers that came after the server had counted the trial as abandoned."""
    service_failures: int = 0


@dataclass
class Pipeline:
    """The stages, over one connection."""

    connection: Connection
    journal: Journal
    answers: Answers
    cast: Cast
    experiment: str
    workers: int
    allowance: Allowance
    quota: Mapping[str, int]
    """Trials by planner."""
    gauge: Gauge = field(default_factory=Gauge)
    clock: Callable[[], float] = time.time
    stop_reason: str | None = None
    """Why no more trials are taken; what is in hand is finished all the same."""
    behind: bool = False
    """Whether so many answers wait for the evaluator that no more trials are taken for now."""
    interrupted_twice: bool = False
    """Whether even what is in hand was given up."""
    _again: deque[int] = field(default_factory=deque)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _ended: bool = False
    _unsure: dict[int, Opened] = field(default_factory=dict)
    """By context: trials of earlier runs of which it is not known whether the server has an answer."""
    _answered: Counter[str] = field(default_factory=Counter)
    """Trials by planner."""

    def stop(self, reason: str) -> None:
        """Takes no more trials."""
        self.stop_reason = self.stop_reason or reason

    async def run(self) -> End:
        """Answers trials until the experiment has none left, or it is stopped.

        Raises:
            CudanalystError: Something that the run needs failed; what was answered is kept.
        """
        self._recall(self.journal.past)
        to_plan, planning = anyio.create_memory_object_stream[Task](self.workers)
        to_code, coding = anyio.create_memory_object_stream[Task](self.workers)
        to_submit, submitting = anyio.create_memory_object_stream[Task](self.workers)
        self.gauge.queued = lambda: {
            "planning": planning.statistics().current_buffer_used,
            "coding": coding.statistics().current_buffer_used,
            "submitting": submitting.statistics().current_buffer_used,
        }
        async with anyio.create_task_group() as stages, to_plan, planning, to_code, coding, to_submit, submitting:
            for planner in [None] if not self.cast.external else list(self.cast.planners):
                for _ in range(min(self.workers, MAX_TAKERS)):
                    stages.start_soon(self._taking, planner, to_plan.clone())
            for _ in range(self.workers):
                stages.start_soon(self._stage, "planning", self._plan, planning.clone(), to_code.clone())
                stages.start_soon(self._stage, "coding", self._code, coding.clone(), to_submit.clone())
                stages.start_soon(self._stage, "submitting", self._submit, submitting.clone(), None)
        if self.stop_reason is not None:
            return "stopped"
        return "external" if self.cast.external and not self._ended else "finished"

    def _recall(self, past: Iterable[object]) -> None:
        """Contexts that were begun and not done come first, each with the number that it had."""
        done = {one.context for one in past if isinstance(one, Submitted)}
        planners = {one.trial: one.planner for one in past if isinstance(one, Opened)}
        self._answered.update(planners[one.trial] for one in past if isinstance(one, Submitted) and one.answered)
        self._unsure = {one.context: one for one in past if isinstance(one, Opened) and one.context not in done}
        begun = max((one.context for one in past if isinstance(one, Opened | Submitted)), default=-1)
        self._again = deque(number for number in range(begun + 1) if number not in done)
        self._numbers = itertools.count(begun + 1)

    def name_of(self, number: int) -> str:
        """The name of a context: unlike any of another experiment."""
        return f"{self.experiment}-{number:06d}"

    def _has_more(self, planner: str | None) -> bool:
        """Whether there may be trials to take: for one planner only, as many as it has; else until the experiment ends."""
        if self.stop_reason is not None or self._ended:
            return False
        return planner is None or self._answered[planner] < self.quota[planner]

    async def _taking(self, planner: str | None, out: MemoryObjectSendStream[Task]) -> None:
        pause = PAUSE_S[0]
        async with out:
            while self._has_more(planner):
                if self.behind:
                    self.gauge.waiting = "the evaluator is behind"
                    await anyio.sleep(pause)
                    continue
                refused = self.allowance.take()
                if refused is not None:
                    if self.allowance.in_hand:  # what they leave may be enough for another one
                        await anyio.sleep(PAUSE_S[0])
                        continue
                    self.stop(refused)
                    return
                number = self._again.popleft() if self._again else next(self._numbers)
                task = await self._next(number, planner)
                if task is None:
                    self.allowance.give_back()
                    await anyio.sleep(0 if self.gauge.waiting is None else pause)
                    pause = min(PAUSE_S[1], pause * 1.5)
                    continue
                pause = PAUSE_S[0]
                await out.send(task)

    async def _next(self, number: int, planner: str | None) -> Task | None:
        """The trial that a context is given; None where there is none now."""
        self.gauge.at["taking"] += 1
        try:
            given = await self.connection.call(
                "trial_next",
                TrialNextResult,
                experiment=self.experiment,
                context=self.name_of(number),
                planner=planner,
            )
        finally:
            self.gauge.at["taking"] -= 1
        await self._settle(number, given)
        if given.status == "open":
            self.gauge.waiting = None
            task = task_of(number, self.name_of(number), given)
            self._known(task)
            await self.journal.keep(
                Opened(
                    context=number,
                    trial=task.trial,
                    planner=task.planner,
                    coder=task.coder,
                    prompt=task.state.prompt,
                    seed=task.state.seed,
                    at=self.clock(),
                )
            )
            return task
        if given.status == "finished":
            self._ended = True
        elif given.status == "waiting":
            self._again.append(number)
            self.gauge.waiting = given.summary
        else:  # this context is of no use to any trial that is left; the next one is another
            self.gauge.waiting = None
        return None

    async def _settle(self, number: int, given: TrialNextResult) -> None:
        """A context that is given another trial, or none, has answered the one that it had: only the note of it was lost."""
        if given.status == "finished":
            settled, self._unsure = list(self._unsure.values()), {}
        else:
            had = self._unsure.pop(number, None)
            settled = [had] if had is not None and given.trial != had.trial else []
        for one in settled:
            self._answered[one.planner] += 1
            await self.journal.keep(Submitted(context=one.context, trial=one.trial, at=self.clock()))

    def _known(self, task: Task) -> None:
        if task.planner not in self.cast.planners or task.coder not in self.cast.coders:
            raise CudanalystError(
                f"The server asks for planner {task.planner!r} and coder {task.coder!r}, whom this design does not let this "
                "program ask. Is it the experiment of this file?"
            )

    async def _stage(
        self,
        stage: Stage,
        work: Callable[[Task], Awaitable[None]],
        tasks: MemoryObjectReceiveStream[Task],
        out: MemoryObjectSendStream[Task] | None,
    ) -> None:
        async with tasks, out or nullcontext():
            async for task in tasks:
                self.gauge.at[stage] += 1
                try:
                    await work(task)
                finally:
                    self.gauge.at[stage] -= 1
                if out is not None:
                    await out.send(task)

    async def _plan(self, task: Task) -> None:
        if not task.plan_step:
            return
        planner = self.cast.planners[task.planner]
        try:
            task.plan, task.plan_s = await self.answers.plan(planner, task.planner_state, task.trial)
        except Unavailable:
            task.service_failed = True

    async def _code(self, task: Task) -> None:
        if task.failure == "service" or task.plan_failure is not None:
            return
        coder = self.cast.coders[task.coder]
        try:
            task.code, task.code_s = await self.answers.code(coder, task.coder_state, task.plan_text, task.trial)
        except Unavailable:
            task.service_failed = True

    async def _submit(self, task: Task) -> None:
        failure = task.failure
        try:
            await self.connection.call(
                "trial_submit",
                TrialSubmitResult,
                trial=task.trial,
                context=task.context,
                source=None if failure is not None or task.code is None else task.code.source,
                failure=failure,
                plan=task.plan_sent,
                cites=[] if task.plan is None else list(task.plan.cites),
                usage=task.usage.model_dump(exclude_none=True) or None,
            )
        except CallError as error:
            if "abandoned" not in str(error):
                raise
            self.gauge.late += 1
        self.allowance.give_back()
        if not task.last_step and failure is None:
            self._again.appendleft(task.number)  # the next step of the same trial
            return
        if task.service_failed:
            self.gauge.service_failures += 1
        else:
            self._answered[task.planner] += 1
            self.gauge.submitted += 1
        await self.journal.keep(
            Submitted(context=task.number, trial=task.trial, answered=not task.service_failed, at=self.clock())
        )
