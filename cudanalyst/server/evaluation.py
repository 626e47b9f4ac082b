"""Judging submitted trials behind the caller's back: a bounded queue that a restart resumes.

Nothing is remembered here that matters: what is still to do is what the store says is submitted and has no outcome, so the
queue of a killed server is rebuilt when its experiment is next touched.
"""

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import anyio
import structlog

from cudanalyst.errors import CudanalystError
from cudanalyst.resources import judging
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import Moment, checkpoint_of
from cudanalyst.resources.outcomes import CompileStatus, RunStatus, measured_fast, outcome_of, speedups_of
from cudanalyst.resources.trials import SizeSpeedup
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Progress
from cudanalyst.server.jobs import end
from cudanalyst.server.ledger import in_thread
from cudanalyst.tools.device_time import device_time
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.run import RunRequest
from cudanalyst.tools.source import Source

REMEMBERED: Final = 4096
_log = structlog.stdlib.get_logger(__name__)


Evaluated = Callable[[str], Awaitable[None]]
"""Is told the experiment of a trial that has been evaluated."""


async def _unheard(_experiment: str) -> None:
    return None


class Verdict(NamedTuple):
    """What the evaluator says of a source, whatever trial it came from."""

    compiled: CompileStatus
    run: RunStatus | None
    speedup: float | None
    """Modelled."""
    fast: bool | None = None
    measured_speedup: float | None = None
    measured_by_size: tuple[SizeSpeedup, ...] = ()
    device_s: float | None = None
    """Seconds on a device; None where there is none."""


class Work(NamedTuple):
    """One submitted trial."""

    owner: str
    pending: judging.Pending


@dataclass
class Evaluations:
    """The queue and its workers."""

    bench: Bench
    experiments: Experiments
    evaluated: Evaluated = _unheard
    """Told of every outcome."""
    at_once: int = field(default_factory=lambda: max(1, os.cpu_count() or 1))
    _queue: "asyncio.Queue[Work] | None" = None
    _workers: list[asyncio.Task[None]] = field(default_factory=list)
    _queued: set[str] = field(default_factory=set)
    _verdicts: "OrderedDict[str, asyncio.Future[Verdict]]" = field(default_factory=OrderedDict)

    async def ensure(self, owner: str, experiment: str) -> None:
        """Queues every submission of an experiment that has no outcome and is not queued yet.

        Raises:
            NotFound: The experiment is not this owner's.
        """
        for pending in await in_thread(judging.pending, self.experiments, owner, experiment, self._queued):
            self._enqueue(Work(owner, pending))

    def _enqueue(self, work: Work) -> None:
        if work.pending.trial in self._queued:
            return
        self._queued.add(work.pending.trial)
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._workers = [asyncio.create_task(self._labour(self._queue)) for _ in range(self.at_once)]
        self._queue.put_nowait(work)

    async def idle(self, wait_s: float) -> None:
        """Waits until nothing is queued, or `wait_s` has passed."""
        if self._queue is not None:
            with anyio.move_on_after(wait_s):
                await self._queue.join()

    async def stop(self) -> None:
        """Ends the workers and what they run; unfinished submissions stay submitted."""
        workers, self._workers, self._queue = self._workers, [], None
        with anyio.CancelScope(shield=True):
            for worker in workers:
                await end(worker)
        self._queued.clear()
        self._verdicts.clear()

    async def _labour(self, queue: "asyncio.Queue[Work]") -> None:
        while True:
            work = await queue.get()
            again = False
            try:
                again = await self._judge(work)
            except Exception:  # noqa: BLE001 - a worker that died would stop all trials; the bug is logged
                _log.exception("evaluating a trial failed", trial=work.pending.trial)
            finally:
                self._queued.discard(work.pending.trial)
                if again:
                    self._enqueue(work)
                queue.task_done()

    async def _judge(self, work: Work) -> bool:
        """Records a trial's outcome; True where the evaluator failed and is to try again."""
        trial, state = work.pending.trial, work.pending.checkpoint
        begun = time.monotonic()
        if work.pending.step is not None:
            return await self._look(work, work.pending.step, begun)
        first = work.pending.source.id not in self._verdicts
        try:
            verdict = await self._verdict(work.pending.source)
            outcome = outcome_of(
                state.base_status,
                verdict.compiled,
                verdict.run,
                verdict.speedup,
                before_speedup=state.modelled_speedup,
                threshold=work.pending.threshold,
                measured_fast=measured_fast(verdict.measured_by_size, work.pending.threshold, fast=verdict.fast),
                measured_speedup=verdict.measured_speedup,
                measured_by_size=verdict.measured_by_size,
            )
        except CudanalystError as error:
            return await self._failed(work, str(error))
        except Exception as error:
            await self._failed(work, f"bug in the evaluator: {type(error).__name__}")
            raise
        # A verdict that another trial paid for costs this one nothing.
        seconds = round(time.monotonic() - begun, 6) if first else 0.0
        device = verdict.device_s if first or verdict.device_s is None else 0.0
        await in_thread(
            judging.record_outcome,
            self.experiments,
            work.owner,
            trial,
            outcome,
            evaluate_s=seconds,
            device_s=device,
            durable=False,
        )
        await self.evaluated(await in_thread(self.experiments.of_trial, work.owner, trial))
        return False

    async def _look(self, work: Work, step: int, begun: float) -> bool:
        """Freezes what a planner made in a step, so that it can go on; True where that is to be tried again."""
        pending = work.pending
        before = pending.checkpoint
        moment = Moment(
            source=pending.source,
            lineage=(*before.lineage, before.source.id),
            references=before.references,
            generation=before.generation + step,
        )
        try:
            with device_time() as held:
                results = await self.bench.evaluate(pending.source)
            frozen = checkpoint_of(moment, results)
        except CudanalystError as error:
            return await self._failed(work, str(error))
        except Exception as error:
            await self._failed(work, f"bug in the evaluator: {type(error).__name__}")
            raise
        seconds = round(time.monotonic() - begun, 6)
        record = partial(
            judging.record_step, evaluate_s=seconds, device_s=_device_seconds(results.compiled.measured_on, held)
        )
        await in_thread(record, self.experiments, work.owner, pending.trial, step, frozen)
        return False

    async def _failed(self, work: Work, reason: str) -> bool:
        return await in_thread(
            judging.record_infrastructure_failure,
            self.experiments,
            work.owner,
            work.pending.trial,
            "evaluator",
            reason,
        )

    async def _verdict(self, source: Source) -> Verdict:
        """Compiles and runs a source once, however many trials came to it: the same text gives the same verdict."""
        if (known := self._verdicts.get(source.id)) is not None:
            return await asyncio.shield(known)
        verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._verdicts[source.id] = verdict
        while len(self._verdicts) > REMEMBERED:
            self._verdicts.popitem(last=False)
        try:
            verdict.set_result(await self._evaluate(source))
        except BaseException as error:
            self._verdicts.pop(source.id, None)
            if isinstance(error, Exception):
                verdict.set_exception(error)
                verdict.exception()  # seen: nobody else may be waiting
            else:
                verdict.cancel()
            raise
        return verdict.result()

    async def _evaluate(self, source: Source) -> Verdict:
        progress = Progress()
        compiled = await self.bench.compile(source, progress)
        status = compiled_status(compiled.status)
        if status != "compiled":
            return Verdict(status, None, None)
        with device_time() as held:
            ran = await self.bench.run(source, RunRequest(), progress)
        device = _device_seconds(ran.measured_on, held)
        if ran.status != "passed":
            return Verdict(status, run_status(ran.status), None, device_s=device)
        by_size = speedups_of(ran.timings)
        return Verdict(status, run_status(ran.status), ran.modelled_speedup, ran.fast, ran.speedup, by_size, device)


def _device_seconds(on: MeasuredOn, held: list[float]) -> float | None:
    """How long a device was held; what was known from before held none, and where there is none nothing is said."""
    return round(sum(held), 6) if held or on.toolchain == "gpu" else None


def compiled_status(status: str) -> CompileStatus:
    """A compile status that is an answer."""
    if status == "running":
        message = "the compiler was asked for an answer and gave none"
        raise RuntimeError(message)
    return status  # type: ignore[return-value]


def run_status(status: str) -> RunStatus:
    """A run status that is an answer."""
    if status == "running":
        message = "the runner was asked for an answer and gave none"
        raise RuntimeError(message)
    return status  # type: ignore[return-value]
