"""One evaluation on a GPU: one executor, which verifies and then times, in turns with other evaluations."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.findings import Check
from cudanalyst.tools.gpu.lease import Lease, Mode
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.turns import LeasedTurns
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.large import LargeVerifier
from cudanalyst.tools.source import Source
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.foreseen import Foreseen
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.executor import Executor, ExecutorFailed, start_executor
from cudanalyst.tools.toolchain.gpu_native import run_native
from cudanalyst.tools.toolchain.gpu_oracles import NO_CUPY
from cudanalyst.tools.toolchain.gpu_parts import GpuParts
from cudanalyst.tools.toolchain.gpu_spares import Spare, Spares
from cudanalyst.tools.toolchain.gpu_timing import compare_on, kernels_of, verify_large_on
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    Capabilities,
    ComparisonRequest,
    Execution,
    ExecutionRequest,
    Sanitization,
)
from cudanalyst.tools.toolchain.replay_session import SESSION_S, ReplaySession
from cudanalyst.tools.toolchain.replaying import as_native
from cudanalyst.tools.toolchain.workspace import workspace

if TYPE_CHECKING:
    from cudanalyst.tools.toolchain.gpu import GpuToolchain

MOST_AHEAD: Final = 3
"""Comparisons for which an executor is made ready while the candidate is compiled."""


class GpuSession:
    """A toolchain for the calls of one evaluation, one after the other. What it does not share is the toolchain's own."""

    def __init__(self, gpu: "GpuToolchain", parts: GpuParts, uuid: str) -> None:
        """Starts an executor for a device, but takes no turn there yet."""
        self._gpu = gpu
        self._parts = parts
        self._uuid = uuid
        self._turns = LeasedTurns(self._hold)
        self._on = OnDevice(parts, uuid, gpu.scratch)
        self._replays = ReplaySession(
            self._on.replaying(), self._on.executor_command, self._turns, lambda: gpu.room(uuid)
        )
        self._replays.begin()
        self._foreseen = Foreseen()
        self._spares = Spares(self._spare, lambda: gpu.rooms.give_spare(uuid))

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """`gpu`."""
        return self._gpu.name

    async def capabilities(self) -> Capabilities:
        """The toolchain's."""
        return await self._gpu.capabilities()

    async def build(self, source: Source) -> Build:
        """As the toolchain builds."""
        return await self._gpu.build(source)

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Replays in the evaluation's own context; the rest runs as the toolchain runs it."""
        if not isinstance(request, CandidateRequest):
            return await self._gpu.execute(build, request)
        waited = self._turns.waited_s
        replayed = await self._replays.replay(build, request)
        try:
            execution = (
                replayed
                if isinstance(replayed, Execution)
                else as_native(await self._natively(build, request), replayed)
            )
        except Unavailable as error:
            return unavailable(str(error))
        known = {"device": self._uuid, "lease_wait_s": f"{self._turns.waited_s - waited:.3f}"}
        return replace(execution, extra={**execution.extra, **known})

    async def _natively(self, build: Build, request: CandidateRequest) -> Execution:
        async with self._turns.shared():
            return await run_native(self._parts, build, request, self._uuid, self._gpu.scratch)

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """As the toolchain does."""
        return await self._gpu.sanitize(build, request, check)

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """As the toolchain does."""
        return await self._gpu.profile(build, request)

    def _hold(self, mode: Mode) -> AbstractAsyncContextManager[Lease]:
        return self._gpu.hold(self._parts, [self._uuid], mode)

    def _spare(self) -> Spare:
        return Spare(
            self._on.executor_command,
            lambda: workspace(self._gpu.scratch),
            LeasedTurns(self._hold),
            self._on.replaying().device_index,
        )

    def foresee(self, requests: Sequence[ComparisonRequest]) -> None:
        """Opens contexts before they are needed, makes contents of the first small sizes, and has the oracle get ready for the large ones."""
        self._replays.begin_context()
        rooms = self._gpu.rooms
        if rooms.alone(self._uuid):
            count = min(len(requests), MOST_AHEAD, self._gpu.most_shared(self._parts, self._uuid) - 1)
            self._spares.begin(
                self._replays.context_opened,
                count,
                lambda: rooms.alone(self._uuid) and rooms.take_spare(self._uuid),
            )
        self._foreseen.begin(requests)
        large = next((one for one in requests if is_large(one.problem, one.sizes)), None)
        if large is not None and large.folder is not None:
            self._gpu.oracles.ready(
                self._parts,
                self._uuid,
                large.problem,
                large.folder,
                lambda: self._gpu.hold(self._parts, [self._uuid], "shared"),
            )

    async def compare(
        self, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
    ) -> tuple[Comparison | Uncompared, ...]:
        """Times with the same executor, each comparison with modules and buffers of its own."""
        try:
            await kernels_of(self._parts, self._gpu.scratch.parent)  # built before the device is asked for
            await self._replays.settle()
            return await compare_on(
                self._on,
                self._oracle,
                self._gpu.kept,
                candidate,
                baseline,
                requests,
                turns=self._turns,
                session=self._replays,
                lend=self._lend,
                own_contexts=self._own_contexts,
                foreseen=self._foreseen,
            )
        except Unavailable as error:
            return (Uncompared(reason=str(error)),) * len(requests)

    @asynccontextmanager
    async def _lend(self) -> AsyncIterator[Executor]:
        """A spare while there are any, else the one that verified; a new one where device code may have changed that one's process."""
        async with self._spares.lend() as spare:
            if spare is not None:
                yield spare
                return
        if self._replays.reaches_host:
            async with self._another() as executor:
                yield executor
            return
        async with self._replays.lend() as executor:
            yield executor

    @asynccontextmanager
    async def _another(self) -> AsyncIterator[Executor]:
        """A process for one comparison; its context is given back in a turn."""
        with workspace(self._gpu.scratch) as work:
            async with start_executor(self._on.executor_command(work), timeout_s=SESSION_S) as executor:
                with spending("executor's start"):
                    await executor.command("init")
                yield executor
                if executor.opened and not executor.troubled:
                    async with self._turns.shared():
                        await executor.close()

    @asynccontextmanager
    async def _oracle(self, problem: str) -> AsyncIterator[GpuOracle | None]:
        await self._gpu.oracles.readied(self._uuid)
        async with self._gpu.oracles.lend(self._parts, self._uuid, problem) as oracle:
            yield oracle

    def _own_contexts(self) -> int:
        return self._gpu.rooms.contexts(self._uuid) + self._gpu.oracles.opened(self._uuid)

    def large_verifier(self, problem: Problem, folder: Path, secret: bytes) -> LargeVerifier | None:
        """Verifies large sizes with the same executor, each in a fresh context."""
        if not self._gpu.oracles.possible(self._parts):
            return None

        async def verify(
            source: Source,  # noqa: ARG001 - the protocol's
            build: Build,
            group: SizeGroup,
            sizes: SizeSet,
            *,
            labels: tuple[str, ...],
            seeds: int,
        ) -> Judgement:
            try:
                await self._replays.settle()
                async with self._gpu.oracles.lend(self._parts, self._uuid, problem.id) as oracle, self._turns.shared():
                    if oracle is None:
                        raise Unavailable(NO_CUPY)
                    return await verify_large_on(
                        self._on,
                        oracle,
                        problem,
                        folder,
                        secret,
                        build,
                        group,
                        sizes,
                        labels=labels,
                        seeds=seeds,
                        session=self._replays,
                    )
            except Unavailable as error:
                return Judgement(cases=(), cuda_error=None, deterministic=None, unavailable=str(error))

        return verify

    async def finish(self) -> None:
        """Gives the device back in good order, after the answer."""
        try:
            # A turn that does not come, or an executor that fails now, takes nothing from the answer: the end is then less orderly.
            with contextlib.suppress(Unavailable, ExecutorFailed):
                await self._replays.leave()
            await self._spares.close()
        finally:
            await self.close()

    async def close(self) -> None:
        """Ends the executors, whatever they are doing."""
        try:
            await self._foreseen.close()
        finally:
            try:
                await self._spares.end()
            finally:
                await self._replays.close()
