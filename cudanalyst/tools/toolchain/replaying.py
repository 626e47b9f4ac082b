"""Executes a candidate without its host code: recorded in the sandbox, verified, replayed by the executor (trust `replayed`).

Timing reuses the steps: `load_module` and `make_table` (loading.py), `record` (recording.py).
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.buffer_plan import (
    MAX_LOOKED_AT,
    PAGE,
    BufferPlan,
    file_places,
    guard_damage,
    plan_buffers,
)
from cudanalyst.tools.toolchain.execution import REPORT, unavailable
from cudanalyst.tools.toolchain.executor import (
    Device,
    Executor,
    ExecutorCommand,
    ExecutorFailed,
    Starter,
    start_executor,
)
from cudanalyst.tools.toolchain.loading import SLOT, Code, LoadedModule, load_module, make_table
from cudanalyst.tools.toolchain.outcome import Outcome, Unrecordable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution
from cudanalyst.tools.toolchain.recording import Recorder, Recording, ask_workspace, exports, record
from cudanalyst.tools.toolchain.report import MAX_REPORT_BYTES, read_report
from cudanalyst.tools.toolchain.request import check_request
from cudanalyst.tools.toolchain.workspace import Workspace, workspace
from cudanalyst.tools.trace.read import Operations
from cudanalyst.tools.trace.table import BufferSet, Region, Table

__all__ = [
    "ARENA", "ARENA_BYTES", "SLOT", "WORKSPACE", "Code", "LoadedModule", "Replaying", "Run", "Unrecordable", "as_native",
    "code_of", "load_module", "make_table", "replay",
]  # fmt: skip

ARENA_BYTES: Final = 512 << 20
"""Device memory for what `init` allocates, where a candidate has one."""
WORKSPACE: Final = "workspace"
ARENA: Final = "memory_of_init"
_POISON: Final = (0xA5, 0x5C, 0xD3)
"""What the workspace holds before a call; a different byte from one call to the next."""
_OUT_OF_MEMORY: Final = 2
UNREADABLE: Final = "results that the executor wrote cannot be read back: look for a full or failing disk (CUDANALYST_CACHE), and run it again"
SETUP_S: Final = 120.0
"""Limit on what is not the candidate's time: the context, the module, the memory."""

Command = tuple[str | int | Path, ...]


@dataclass(frozen=True)
class Replaying:
    """Where and with what."""

    recorder: Recorder
    executor: Path
    starter: Callable[[Workspace, Code], Starter]
    """How the executor is started in its work directory, for the code that it reads."""
    driver: Path | None = None
    """None: the system's libcuda.so.1."""
    prefix: tuple[str | Path, ...] = ()
    """A tool that starts the executor."""
    device_index: int = 0
    lease: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext
    """Held from the executor's start to its end."""
    recorder_settings: Mapping[str, str] = field(default_factory=dict)
    """Variables of the recording runtime (engine/REPORT.md)."""
    has_report: bool = True
    """Whether the driver writes a report: the CPU engine's does."""
    poison: bool = True
    """Whether a workspace is filled before each call; checkers must see it uninitialised."""
    finish_s: float = 10.0
    arena_bytes: int = ARENA_BYTES
    waited: Callable[[], float] = lambda: 0.0
    """Seconds that were waited for the device so far."""
    profile: bool = False
    """Whether the calls of `solve`, and nothing else, lie between cuProfilerStart and cuProfilerStop."""


async def replay(place: Replaying, build: Build, request: CandidateRequest) -> Execution | Unrecordable:
    """Calls a candidate's `solve` as the request says, by record and replay.

    Returns:
        What came of it, or what cannot be recorded: only a native run can show that.

    Raises:
        BadRequest: A call lacks a parameter, or a buffer's contents have the wrong length.
    """
    code = code_of(build)
    if code is None:
        return unavailable(f"there is no binary to run: the build's status is {build.status}")
    check_request(request)
    outcome = Outcome(request, place.recorder.confinement.level)
    names = PathNames("candidate.cu", {**place.recorder.names, str(place.recorder.scratch): "<work>"})
    started = time.monotonic()
    try:
        async with place.lease():
            with workspace(place.recorder.scratch) as work:
                command = ExecutorCommand(
                    place.executor, place.starter(work, code), place.driver, place.prefix, place.finish_s
                )
                run = Run(place, code, request, outcome, work)
                try:
                    async with start_executor(command, timeout_s=SETUP_S + 2 * request.timeout_s) as executor:
                        device = await executor.open(place.device_index)
                        await run.all(executor, device, await load_module(executor, SLOT, code))
                except ExecutorFailed as error:
                    outcome.executor_failed(error)
                outcome.executor_ended(executor.process)
                if place.has_report:
                    data = work.read(REPORT, MAX_REPORT_BYTES + 1) or b""
                    outcome.engine_report(*read_report(data, names))
    except Unavailable as error:
        return unavailable(str(error))
    return outcome.result(time.monotonic() - started)


def code_of(build: Build) -> Code | None:
    """What a build gave; None where that is not all that replaying needs."""
    return Code(build.binary, build.image, build.symbols) if build.binary and build.image else None


def as_native(execution: Execution, unrecordable: Unrecordable) -> Execution:
    """A native run, with what kept it from being replayed."""
    extra = {**execution.extra, "trust": "native", "native_because": unrecordable.reason}
    return dataclasses.replace(execution, extra=extra)


class Run:
    """One request, step by step, in a context with the candidate's module."""

    def __init__(
        self, place: Replaying, code: Code, request: CandidateRequest, outcome: Outcome, work: Workspace
    ) -> None:
        """Nothing is done yet; traces and contents pass through the workspace."""
        self._place = place
        self._code = code
        self._request = request
        self._outcome = outcome
        self._work = work
        self._plan: BufferPlan = plan_buffers(request)
        self._workspace_bytes: int | None = None
        self._ends_at = 0.0
        self._made: list[str] = []
        self._traces: list[str] = []

    def _left(self) -> float:
        return max(0.001, self._ends_at + self._place.waited() - time.monotonic())

    async def release(self, executor: Executor) -> None:
        """Leaves the context as it was before."""
        traces, made, self._traces, self._made = self._traces, self._made, [], []
        await executor.commands([*(("forget", name) for name in traces), *(("free", name) for name in made)])

    async def all(self, executor: Executor, device: Device, module: LoadedModule) -> None:
        """Everything, into the outcome.

        Raises:
            ExecutorFailed: A command failed; `Outcome.executor_failed` knows what that says.
            Unavailable: The sandbox could not start a recorder.
        """
        table = await self._prepare(executor, device, module)
        if table is None:
            return
        # What came before is not the candidate's time, and what is waited for the device is not either.
        self._ends_at = time.monotonic() - self._place.waited() + self._request.timeout_s
        recording = await record(
            self._place.recorder, table, timeout_s=self._left(), settings=self._place.recorder_settings
        )
        self._outcome.recorded(recording)
        if self._outcome.unrecordable is not None or not await self._init(executor, recording):
            return
        if self._place.profile:
            await executor.command("profiler", "start")
        for index in range(len(self._request.calls)):
            if not await self._call(executor, recording, index):
                break
        else:
            self._outcome.recorder_ended(len(self._request.calls) - 1)
        if self._place.profile and not self._outcome.failed:
            await executor.command("profiler", "stop")

    async def _prepare(self, executor: Executor, device: Device, module: LoadedModule) -> Table | None:
        """The memory, and the table that tells of everything. None: the candidate has ended it."""
        code, request = self._code, self._request
        table = make_table(code, device, module, parameters=request.parameters, sizes=request.sizes)
        extra: dict[str, Region] = {}
        if exports(code.library, "init"):
            address = await executor.buffer(ARENA, self._place.arena_bytes)
            self._made.append(ARENA)
            extra["arena"] = Region(address, self._place.arena_bytes)
        if exports(code.library, "workspace_bytes"):
            answer = await ask_workspace(self._place.recorder, table.placed(extra), timeout_s=request.timeout_s)
            if not self._outcome.workspace(answer) or answer.bytes is None:
                return None
            try:
                address = await executor.buffer(WORKSPACE, answer.bytes, self._plan.guard)
            except ExecutorFailed as error:
                if error.code != _OUT_OF_MEMORY:
                    raise
                self._outcome.no_workspace(answer.bytes)
                return None
            self._made.append(WORKSPACE)
            extra["workspace"] = Region(address, answer.bytes)
        made = await executor.buffers([(name, size, self._plan.guard) for name, size in self._plan.buffers])
        self._made += [name for name, _ in self._plan.buffers]
        addresses = {name: address for (name, _), address in zip(self._plan.buffers, made, strict=True)}
        for name, size in self._plan.buffers:
            self._outcome.allocated(name.partition("@")[0], addresses[name], size)
        for name, region in extra.items():
            self._outcome.allocated(name, region.address, region.bytes)
        sets = tuple(
            BufferSet({name: Region(addresses[buffer], size) for name, (buffer, size) in chosen.items()}, call.scalars)
            for chosen, call in zip(self._plan.calls, request.calls, strict=True)
        )
        self._workspace_bytes = extra["workspace"].bytes if "workspace" in extra else None
        return table.placed(extra, sets)

    async def _init(self, executor: Executor, recording: Recording) -> bool:
        """What came before the calls. False: it ended everything."""
        if not self._outcome.init(recording.init):
            return False
        if isinstance(recording.init, Operations) and recording.init.operations:
            self._outcome.calling(0)
            await executor.commands([self._trace("init", recording.init), ("call", "init")], limit_s=self._left())
        return True

    def _trace(self, name: str, trace: Operations) -> Command:
        self._work.write({"trace": trace.canonical})
        self._traces.append(name)
        return ("trace", name, SLOT, self._work.path / "trace")

    async def _call(self, executor: Executor, recording: Recording, index: int) -> bool:
        """Contents up, the trace, results down. False: there is no going on."""
        if (trace := self._outcome.reading(index, recording.calls[index])) is None:
            return False
        call, chosen = self._request.calls[index], self._plan.calls[index]
        commands: list[Command] = [self._trace(str(index), trace)]
        # One file for all contents and one for all results: making and removing files is what takes time.
        given = {name: contents for name, (_, contents) in call.buffers.items() if contents is not None}
        places = file_places({name: len(contents) for name, contents in given.items()})
        data = b"".join(contents + bytes(-len(contents) % PAGE) for contents in given.values())
        self._work.write({"contents": data})
        commands += [("upload", chosen[name][0], self._work.path / "contents", places[name]) for name in given]
        poison, guard = _POISON[index % len(_POISON)], self._request.guard_bytes
        sizes = {name: call.buffers[name][0] + 2 * guard for name in call.download}
        if self._workspace_bytes is not None and self._place.poison:
            commands.append(("fill", WORKSPACE, poison))
            if guard and self._workspace_bytes <= MAX_LOOKED_AT:
                sizes[WORKSPACE] = self._workspace_bytes + 2 * guard
        commands.append(("call", str(index)))
        places = file_places(sizes)
        buffers = {name: chosen[name][0] if name in chosen else name for name in sizes}
        commands += [("download", buffers[name], self._work.path / "results", places[name]) for name in sizes]
        self._outcome.calling(index)
        await executor.commands(commands, limit_s=self._left())
        found = self._work.read("results", sum(sizes.values()) + PAGE * len(sizes)) or b"" if sizes else b""
        if any(size and len(found) < places[name] + size for name, size in sizes.items()):
            raise Unavailable(UNREADABLE)
        downloads = {name: found[places[name] : places[name] + size] for name, size in sizes.items()}
        if (damage := guard_damage(downloads.pop(WORKSPACE, b""), guard, poison)) is not None:
            self._outcome.violated(index, damage)
            return False
        self._outcome.answered(index, downloads)
        return True
