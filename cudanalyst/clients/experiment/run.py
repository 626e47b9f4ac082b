"""A run: a server, the checkpoints that backbones induce, an experiment on it, and its trials; taken up where the last one ended."""

import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio import to_thread

from cudanalyst.clients.agents import Cast
from cudanalyst.clients.backbones.induce import induce, operator_of, start_of
from cudanalyst.clients.backbones.lab import Lab
from cudanalyst.clients.connection import CallError, Connection, http_server, stdio_server
from cudanalyst.clients.experiment.answers import Answers
from cudanalyst.clients.experiment.budget import Allowance, active_s
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Began, Induced, Journal, Note
from cudanalyst.clients.experiment.pipeline import End, Pipeline
from cudanalyst.clients.experiment.preparing import check_ready, entries_of, hash_of, trials_by_planner
from cudanalyst.clients.experiment.watch import Ended, Quiet, RunOptions, Watch
from cudanalyst.clients.experiment.watching import Watcher, watching
from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.answers import DeviceResult, ExperimentResult
from cudanalyst.resources.design.file import written
from cudanalyst.resources.design.lock import digest_of
from cudanalyst.resources.design.models import Backbone, CheckpointEntry, Design
from cudanalyst.resources.trial_state import Progress

POLL_S: Final = 0.5
DEVICE_POLL_S: Final = 5.0
BEHIND: Final = 32
"""Answers for each worker that may wait for the evaluator; beyond that no trials are taken until some are judged."""
BACKBONES_AT_ONCE: Final = 2
Say = Callable[[str], None]


@dataclass
class Run:
    """One run of an experiment's file."""

    place: Place
    design: Design
    options: RunOptions
    journal: Journal
    watch: Watch = field(default_factory=Quiet)
    clock: Callable[[], float] = time.time
    catalogue: Catalogue = field(default_factory=lambda: Catalogue.from_environment(os.environ))

    def __post_init__(self) -> None:
        """Checks everything that can be checked before a server is started."""
        self.cast = Cast(self.design, self.catalogue.problem, self.place.file.parent)
        self.answers = Answers(self.journal, self.clock)
        for backbone in self.design.backbones:
            operator_of(backbone)
            start_of(self.catalogue.problem(backbone.problem), backbone)
            if backbone.agent not in self.cast.planners:
                raise BadRequest(
                    f"backbone {backbone.id}: its agent {backbone.agent} is external and cannot be asked here"
                )

    async def perform(self) -> Ended:
        """Runs to the end, to the budget's end, or until it is interrupted.

        Raises:
            CudanalystError: It cannot go on; everything that was answered is kept.
        """
        async with self._server() as bare:
            self.watch.phase("server")
            if self.options.url is None:
                self.watch.step(
                    "waiting for the tools; their first use on a machine builds the CPU engine: a minute or two"
                )
            session = await self._session(bare)
            connection = bare.within(session)
            began = next((one for one in reversed(self.journal.past) if isinstance(one, Began)), None)
            if began is None:
                entries = await self._checkpoints(connection, session)
                began = await self._start(connection, session, entries)
            return await self._trials(connection, began)

    @asynccontextmanager
    async def _server(self) -> AsyncIterator[Connection]:
        if self.options.url is not None:
            async with http_server(self.options.url, self.watch.step) as connection:
                yield connection
            return
        self.place.folder.mkdir(parents=True, exist_ok=True)
        async with stdio_server(
            self.place.store,
            self.watch.step,
            toolchain=self.options.toolchain,
            log=self.place.log,
            command=self.options.server,
        ) as connection:
            yield connection

    async def _session(self, connection: Connection) -> str:
        """The session of earlier runs, so that their contexts are found again; else this connection's own."""
        known = next((one.session for one in self.journal.past if isinstance(one, Began | Induced)), None)
        try:
            device = await (connection if known is None else connection.within(known)).call("device_info", DeviceResult)
        except CallError as error:
            if known is None or "Unknown session" not in str(error):
                raise
            raise CallError(
                f"{self.options.url or self.place.store} does not know the session {known} of this run: it is another server or "
                "store, or another CUDANALYST_TOKEN. Resume where the run was begun."
            ) from error
        if not (device.build and device.execute):
            raise CudanalystError("; ".join(device.reasons.values()) or device.summary)
        if device.session is None:
            raise CudanalystError("The server names no session. Is it a cudanalyst server of this version?")
        return known or device.session

    async def _checkpoints(self, connection: Connection, session: str) -> tuple[CheckpointEntry, ...]:
        """What the backbones induce; a backbone that was run before is not run again, unless the file says otherwise of it now."""
        hashes = {one.id: hash_of(self.design, one) for one in self.design.backbones}
        known: dict[str, list[Induced]] = {}
        for one in self.journal.past:
            if isinstance(one, Induced) and one.by in {None, hashes.get(one.backbone)}:
                known.setdefault(one.backbone, []).append(one)
        self.watch.phase("backbones", len(self.design.backbones))
        limit = anyio.Semaphore(BACKBONES_AT_ONCE)

        async def run_one(backbone: Backbone) -> None:
            async with limit:
                known[backbone.id] = await self._induced(connection, session, backbone)
            self.watch.done(len(known))

        async with anyio.create_task_group() as tasks:
            for backbone in self.design.backbones:
                if backbone.id not in known:
                    tasks.start_soon(run_one, backbone)
        return entries_of(self.design, known)

    async def _induced(self, connection: Connection, session: str, backbone: Backbone) -> list[Induced]:
        coder = self.design.coder_of(self.design.planner(backbone.agent)).name
        by = hash_of(self.design, backbone)
        asking = self.answers.asking(
            self.cast.planners[backbone.agent], self.cast.coders[coder], f"backbone:{backbone.id}:{by}"
        )
        lab = Lab(connection, asking, asking, operator_of(backbone)[0], self.watch.step)
        bred = await induce(lab, self.catalogue.problem(backbone.problem), backbone)
        made = [
            Induced(
                backbone=backbone.id,
                checkpoint=one.checkpoint,
                problem=one.problem,
                start=one.start,
                generation=one.generation,
                source=one.source,
                base_status=one.base_status,
                session=session,
                by=by,
                at=self.clock(),
            )
            for one in bred
        ]
        await self.journal.keep(*made)
        return made

    async def _start(self, connection: Connection, session: str, entries: tuple[CheckpointEntry, ...]) -> Began:
        lock = digest_of(self.design) if self.design.kind == "confirmatory" or self.design.lock else None
        design = self.design.model_copy(update={"lock": lock}).with_checkpoints(entries)
        started = await connection.call("experiment_start", ExperimentResult, design=written(design))
        if started.experiment is None or started.trials is None:
            raise CallError(f"experiment_start: {started.summary}")
        began = Began(
            experiment=started.experiment,
            session=session,
            design=self.design.id,
            trials=started.trials,
            checkpoints=len(design.checkpoints),
            url=self.options.url,
            at=self.clock(),
        )
        await self.journal.keep(began)
        return began

    async def _trials(self, connection: Connection, began: Began) -> Ended:
        self.watch.phase("trials", began.trials)
        device: list[float | None] = [None]
        allowance = Allowance(
            self.design.budget, self.answers, active_s(self.journal.past), device_minutes=lambda: device[0]
        )
        pipeline = Pipeline(
            connection,
            self.journal,
            self.answers,
            self.cast,
            began.experiment,
            self.options.workers,
            allowance,
            quota=trials_by_planner(self.design, began.checkpoints),
        )
        how: End = "stopped"
        with ExitStack() as stack:
            seen = None if self.options.url is not None else stack.enter_context(watching(self.place.store))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._interrupted, pipeline, tasks.cancel_scope)
                tasks.start_soon(self._look, began.experiment, pipeline, seen, device)
                how = await pipeline.run()
                if pipeline.stop_reason is not None and pipeline.stop_reason.startswith("budget"):
                    await self._evaluated(began.experiment, seen)
                tasks.cancel_scope.cancel()
            progress = await _progress(seen, began.experiment)
        reason = pipeline.stop_reason
        await self.journal.keep(Note(words=f"{how}: {reason}" if reason else how, at=self.clock()))
        return Ended(
            how=how,
            reason=reason,
            experiment=began.experiment,
            external=self.cast.external,
            spent=self.answers.spent,
            replayed=self.answers.replayed,
            submitted=pipeline.gauge.submitted,
            progress=progress,
        )

    async def _interrupted(self, pipeline: Pipeline, scope: anyio.CancelScope) -> None:
        """The first signal lets what is in hand be finished, the second one does not."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for _ in received:
                if pipeline.stop_reason is not None and pipeline.stop_reason.startswith("interrupted"):
                    pipeline.interrupted_twice = True
                    scope.cancel()
                    return
                pipeline.stop_reason = "interrupted"
                self.watch.step("finishing what is in hand; once more to stop at once")

    async def _look(
        self, experiment: str, pipeline: Pipeline, seen: Watcher | None, device: list[float | None]
    ) -> None:
        """Tells the watch where trials are, and the allowance what devices took."""
        looked = 0.0
        while True:
            progress = await _progress(seen, experiment)
            if self.design.budget.device_minutes is not None and time.monotonic() - looked > DEVICE_POLL_S:
                if seen is not None:
                    device[0] = await to_thread.run_sync(seen.device_minutes, experiment)
                looked = time.monotonic()
            pipeline.behind = progress is not None and progress.submitted > BEHIND * self.options.workers
            self.watch.trials(progress, pipeline.gauge, self.answers.spent, pipeline.allowance)
            await anyio.sleep(POLL_S)

    async def _evaluated(self, experiment: str, seen: Watcher | None) -> None:
        """Waits until what was submitted has been judged, where that can be seen."""
        while (progress := await _progress(seen, experiment)) is not None and progress.submitted:  # noqa: ASYNC110 - other processes may judge
            await anyio.sleep(POLL_S)


async def _progress(seen: Watcher | None, experiment: str) -> Progress | None:
    return None if seen is None else await to_thread.run_sync(seen.progress, experiment)


async def perform(place: Place, options: RunOptions, watch: Watch) -> Ended:
    """Runs or resumes the experiment of a file.

    Raises:
        CudanalystError: It cannot be run or cannot go on; the text says what to do.
    """
    design = place.design()
    check_ready(place, design, options, place.past())
    with closing(Journal.opened(place.journal)) as journal:
        return await Run(place, design, options, journal, watch).perform()
