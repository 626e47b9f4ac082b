"""The `gpu` toolchain: nvcc compiles for the device, and a trusted executor replays what candidates record, one lease at a time.

Programs, and candidates that cannot be recorded, run `native` on the device, in the sandbox. Everything that touches a device holds its
lease; building, recording and judging do not.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.findings import Check
from cudanalyst.tools.gpu.lease import Lease
from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.large import LargeVerifier, VerifiesLarge
from cudanalyst.tools.sass import SassKernel
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import Source
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.toolchain import gpu_tools
from cudanalyst.tools.toolchain.disassembly import Disassembler
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.gpu_native import run_native
from cudanalyst.tools.toolchain.gpu_oracles import NO_CUPY
from cudanalyst.tools.toolchain.gpu_place import GpuPlace
from cudanalyst.tools.toolchain.gpu_session import GpuSession
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    ComparisonRequest,
    Execution,
    ExecutionRequest,
    Sanitization,
    Toolchain,
)
from cudanalyst.tools.toolchain.replaying import as_native
from cudanalyst.tools.toolchain.sanitizer.running import not_run


class GpuToolchain(GpuPlace):
    """Builds, runs, checks, times and profiles on NVIDIA GPUs of this machine."""

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build: replayed where its calls can be recorded, else native; the result says which, and why."""
        try:
            parts = await self._ready()
            async with self.lease("shared") as (lease, state):
                on = self._on_device(parts, lease)
                if not isinstance(request, CandidateRequest):
                    return _on(await run_native(parts, build, request, lease.uuid, on.scratch), lease, state)
                replayed = await gpu_tools.replay_plainly(on, build, request)
                if isinstance(replayed, Execution):
                    return _on(replayed, lease, state)
                native = await run_native(parts, build, request, lease.uuid, on.scratch)
        except Unavailable as error:
            return unavailable(str(error))
        return _on(as_native(native, replayed), lease, state)

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Runs a build under one check of compute-sanitizer."""
        (done,) = await self.sanitize_together(build, request, [check])
        return done

    async def sanitize_together(
        self, build: Build, request: ExecutionRequest, checks: Sequence[Check]
    ) -> tuple[Sanitization, ...]:
        """Runs a build under several checks side by side: their starting up is most of what they take."""
        try:
            parts = await self._ready()
            tools = await self._tool_abilities(parts)
            if (sanitizer := tools.installed_sanitizer) is None:
                ability = tools.of("sanitizer")
                raise Unavailable(ability.text if ability is not None else "compute-sanitizer was not found")
            async with self.lease("shared") as (lease, state):
                done = await gpu_tools.sanitize(self._on_device(parts, lease), sanitizer, build, request, checks)
        except Unavailable as error:
            return tuple(not_run(check, str(error)) for check in checks)
        return tuple(replace(one, execution=_on(one.execution, lease, state)) for one in done)

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs a build under Nsight Compute; the report holds `hardware` records."""
        try:
            parts = await self._ready()
            tools = await self._tool_abilities(parts)
            counters = tools.of("counters")
            if tools.ncu is None or counters is None or counters.status == "unavailable":
                raise Unavailable(counters.text if counters is not None else "Nsight Compute was not found")
            async with self.lease() as (lease, state):
                on, selection = self._on_device(parts, lease), request.selection or Selection()
                execution = await gpu_tools.profile(
                    on, tools.ncu, build, request, selection, version=tools.versions.get("ncu")
                )
        except Unavailable as error:
            return unavailable(str(error))
        return _on(execution, lease, state)

    async def machine_code(self, build: Build) -> tuple[SassKernel, ...]:
        """The machine code of a build; the device is not touched.

        Raises:
            Unavailable: The disassembler or the machine code is missing; the text says what to do.
        """
        parts = await self._ready()
        return await Disassembler(
            parts.toolkit.root, parts.confinement, self._where.environment, self._where.cache / "work"
        ).kernels(build)

    async def compare(
        self, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
    ) -> tuple[Comparison | Uncompared, ...]:
        """Times a candidate against the baseline of its problem, each time in a context that nobody else shares."""
        try:
            await self._ready()
        except Unavailable as error:
            return (Uncompared(reason=str(error)),) * len(requests)
        async with self.evaluation() as session:
            return await session.compare(candidate, baseline, requests)

    def large_verifier(self, problem: Problem, folder: Path, secret: bytes) -> LargeVerifier | None:
        """Verifies sizes of a problem that only a GPU runs; None where that cannot be done here."""
        if self._parts is None or not self._oracles.possible(self._parts):
            return None

        async def verify(
            source: Source, build: Build, group: SizeGroup, sizes: SizeSet, *, labels: tuple[str, ...], seeds: int
        ) -> Judgement:
            async with self.evaluation() as session:
                verifier = (
                    session.large_verifier(problem, folder, secret) if isinstance(session, VerifiesLarge) else None
                )
                if verifier is None:
                    return Judgement(cases=(), cuda_error=None, deterministic=None, unavailable=NO_CUPY)
                return await verifier(source, build, group, sizes, labels=labels, seeds=seeds)

        return verify

    @contextlib.asynccontextmanager
    async def evaluation(self) -> AsyncIterator[Toolchain]:
        """One executor for what follows; it is starting while the caller builds. Itself where there is no GPU."""
        try:
            parts = await self._ready()
        except Unavailable:
            yield self
            return
        uuid = self._rooms.fewest([one.uuid for one in parts.devices])
        async with self._rooms.chosen(uuid):
            session = GpuSession(self, parts, uuid)
            try:
                yield session
            except BaseException:
                with spending("executor's end"):
                    await session.close()
                raise
            self.end_later(session.finish())
            await asyncio.sleep(0)  # it has begun, and so ends what there is even if it is cancelled next


def _on(execution: Execution, lease: Lease, state: DeviceState) -> Execution:
    """Adds where and in which state it ran, and how long it had waited."""
    known = {
        "device": lease.uuid,
        "lease_wait_s": f"{lease.waited_s:.3f}",
        "state": state.model_dump_json(exclude_none=True),
    }
    return replace(execution, extra={**execution.extra, **known})
