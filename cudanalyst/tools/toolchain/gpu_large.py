"""Verifies a candidate at a large size on the device: the executor replays its calls, the oracle makes inputs and compares there."""

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.inputs import nbytes_of, scalar_of
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.cases import GUARD_BYTES, ScheduledCall, parameters_of, schedule_verification
from cudanalyst.tools.ending import Verdict
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.oracle_messages import BufferAt
from cudanalyst.tools.gpu.oracle_verify import verify_large
from cudanalyst.tools.judge import Judgement, by_seed, case_of
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.toolchain.executor import Executor, ExecutorFailed
from cudanalyst.tools.toolchain.exports import exports
from cudanalyst.tools.toolchain.outcome import runtime_name
from cudanalyst.tools.toolchain.protocol import Build
from cudanalyst.tools.toolchain.recording import Recorder, Recording, ask_workspace, record
from cudanalyst.tools.toolchain.replaying import ARENA, ARENA_BYTES, SLOT, WORKSPACE, Code, load_module, make_table
from cudanalyst.tools.toolchain.workspace import Workspace
from cudanalyst.tools.trace.read import Junk, Operations, Reading
from cudanalyst.tools.trace.records import Refusal
from cudanalyst.tools.trace.table import BufferSet, Region

_POISON: Final = (0xA5, 0x5C)


class _Ended(Exception):
    """The candidate ended it before its first call could be replayed."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class _Unrecordable(Exception):
    """Only a native run could show it, and there is none of large sizes."""


@dataclass(frozen=True)
class LargeCase:
    """One candidate at one size."""

    problem: Problem
    folder: Path
    """The problem's."""
    group: SizeGroup
    sizes: SizeSet
    schedule: tuple[ScheduledCall, ...]
    timeout_s: float


def schedule_of(
    problem: Problem,
    folder: Path,
    group: SizeGroup,
    sizes: SizeSet,
    *,
    labels: tuple[str, ...],
    seeds: int,
    secret: bytes,
    timeout_s: float,
) -> LargeCase:
    """What is to be verified."""
    schedule = schedule_verification(problem, group, sizes, labels=labels, seeds=seeds, secret=secret)
    return LargeCase(problem, folder, group, sizes, schedule, timeout_s)


async def verify_on_device(
    case: LargeCase,
    build: Build,
    running: AbstractAsyncContextManager[Executor],
    recorder: Recorder,
    work: Workspace,
    oracle: GpuOracle,
) -> Judgement:
    """Verifies one large size in an executor without a context; the caller holds the device.

    Raises:
        BadProblem: The problem's reference fails.
    """
    if build.binary is None or build.image is None:
        return _not_possible(f"there is no binary to run: the build's status is {build.status}")
    code = Code(build.binary, build.image, build.symbols)
    try:
        async with running as executor:
            candidate = _Candidate(case, code, executor, recorder, work, time.monotonic() + case.timeout_s)
            await candidate.prepare()
            return await verify_large(oracle, candidate, case.folder, case.group, case.sizes, case.schedule)
    except _Ended as end:
        rest = Verdict("not_run", "an earlier call ended the process")
        verdicts = [end.verdict, *[rest] * (len(case.schedule) - 1)]
        cases = tuple(case_of(case.group, case.sizes, index, own) for index, own in by_seed(case.schedule, verdicts))
        return Judgement(cases=cases, cuda_error=end.verdict.cuda_error, deterministic=None)
    except _Unrecordable as end:
        return Judgement(cases=(), cuda_error=None, deterministic=None, unrecordable=str(end))
    except ExecutorFailed as error:
        return _not_possible(f"the executor could not do it: {error}")
    except Unavailable as error:
        return _not_possible(str(error))


def _not_possible(reason: str) -> Judgement:
    return Judgement(cases=(), cuda_error=None, deterministic=None, unavailable=reason)


@dataclass
class _Candidate:
    """A recorded candidate with one set of buffers: what `oracle_verify.Replayed` asks for."""

    case: LargeCase
    code: Code
    executor: Executor
    recorder: Recorder
    work: Workspace
    ends_at: float
    _files: bool = False
    _workspace: bool = False
    _calls: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)

    def _left(self) -> float:
        return max(0.01, self.ends_at - time.monotonic())

    async def prepare(self) -> None:
        """Loads, allocates and records."""
        problem, sizes = self.case.problem, self.case.sizes
        device = await self.executor.open(0)
        module = await load_module(self.executor, SLOT, self.code)
        table = make_table(self.code, device, module, parameters=parameters_of(problem), sizes=sizes)
        extra: dict[str, Region] = {}
        if exports(self.code.library, "init"):
            extra["arena"] = Region(await self.executor.buffer(ARENA, ARENA_BYTES), ARENA_BYTES)
        if exports(self.code.library, "workspace_bytes"):
            answer = await ask_workspace(self.recorder, table.placed(extra), timeout_s=self._left())
            if answer.refusal is not None:
                raise _refused(answer.refusal)
            if answer.bytes is None:
                raise _early(
                    answer.process, answer.error or "workspace_bytes gave no number of bytes that a device has"
                )
            address = await self.executor.buffer(WORKSPACE, answer.bytes, GUARD_BYTES)
            extra["workspace"], self._workspace = Region(address, answer.bytes), True
        self._sizes = {item.name: nbytes_of(item, sizes) for item in problem.parameters if item.role != "scalar"}
        buffers = {
            name: Region(await self.executor.buffer(name, size, GUARD_BYTES), size)
            for name, size in self._sizes.items()
        }
        values = {item.name: scalar_of(item, sizes) for item in problem.parameters if item.role == "scalar"}
        recording = await record(
            self.recorder, table.placed(extra, (BufferSet(buffers, values),)), timeout_s=self._left(), settings={}
        )
        if recording.init is not None:
            init = _operations(recording.init, "init", recording)
            if init.operations:
                await self._load("init", init)
                if (ended := await self._replay("init")) is not None:
                    raise _Ended(ended)
        if recording.calls[0] is None:
            raise _early(recording.process, "the recording has no end")
        solve = _operations(recording.calls[0], "solve", recording)
        if recording.ended_badly:
            raise _early(recording.process, "the recording has no end")
        await self._load("solve", solve)

    async def _load(self, name: str, trace: Operations) -> None:
        self.work.write({f"{name}.trace": trace.canonical})
        await self.executor.trace(name, SLOT, self.work.path / f"{name}.trace")

    async def _replay(self, name: str) -> Verdict | None:
        try:
            await self.executor.call(name, limit_s=self._left())
        except ExecutorFailed as error:
            if error.kind == "timed_out":
                return Verdict("timed_out", f"a kernel did not end within {self.case.timeout_s:g} s")
            if error.kind != "cuda":
                raise
            cuda = runtime_name(error.code)
            return Verdict("crashed", f"left {cuda}: {error.message}", cuda)
        return None

    def _file(self, name: str) -> Path:
        return self.work.path / "in" / name

    async def shared(self, *, files: bool) -> Mapping[str, BufferAt]:
        """Where the buffers lie; in files too where the driver shares no memory."""
        self._files = files
        found = {}
        try:
            for name in () if files else self._sizes:
                answer = await self.executor.command("share", name)
                found[name] = BufferAt(handle=answer["handle"], offset=answer["offset"])
        except ExecutorFailed as error:
            if error.kind != "cuda":
                raise
            self._files = True
        return {name: BufferAt(path=str(self._file(name))) for name in self._sizes} if self._files else found

    async def load(self) -> None:
        """Brings files' contents to the device."""
        if self._files:
            for name in self._sizes:
                await self.executor.upload(name, self._file(name), limit_s=self._left())

    async def call(self, call: ScheduledCall) -> Verdict | None:  # noqa: ARG002 - one trace serves every contents
        """One call of `solve`."""
        if self._workspace:
            await self.executor.fill(WORKSPACE, _POISON[self._calls % 2])
        self._calls += 1
        return await self._replay("solve")

    async def store(self) -> None:
        """Brings the device's contents to files."""
        if self._files:
            for name in self._sizes:
                await self.executor.download(name, self._file(name), limit_s=self._left())


def _early(process: ProcessResult, otherwise: str) -> _Ended:
    """Host code that gave no answer: how its process ended says why."""
    if process.timed_out:
        return _Ended(Verdict("timed_out", "host code did not end in time"))
    if process.signal is not None:
        return _Ended(Verdict("crashed", f"host code was ended by {process.signal}"))
    left = "" if process.exit_status == 0 else f"host code left with exit status {process.exit_status}: "
    return _Ended(Verdict("crashed", f"{left}{otherwise}"))


def _refused(refusal: Refusal) -> Exception:
    if refusal.kind == "unrecordable":
        return _Unrecordable(refusal.message)
    return _Ended(Verdict("contract_violation", refusal.message))


def _operations(reading: Reading, function: str, recording: Recording) -> Operations:
    if isinstance(reading, Refusal):
        raise _refused(reading)
    if isinstance(reading, Junk) and reading.unfinished and recording.ended_badly:
        raise _early(recording.process, "the recording has no end")
    if isinstance(reading, Junk):
        raise _Ended(Verdict("contract_violation", f"the trace was not written by the recorder: {reading.reason}"))
    if reading.error is not None:
        cuda = runtime_name(reading.error.code) if reading.error.code else None
        raise _Ended(Verdict("crashed", f"{function} {reading.error.text}", cuda))
    if reading.status:
        raise _Ended(Verdict("crashed", f"{function} returned {reading.status}, not 0"))
    return reading
