"""Replays on the device, plainly and under NVIDIA's tools, which wrap the trusted executor; programs they wrap inside the sandbox."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.capture import Captured
from cudanalyst.tools.findings import Check
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.toolchain.disassembly import Disassembler
from cudanalyst.tools.toolchain.execution import RUN_OUTPUT_LIMIT, read_execution, unavailable
from cudanalyst.tools.toolchain.executor import ExecutorCommand, Starter, plainly
from cudanalyst.tools.toolchain.gpu_native import NO_ADDRESS_LIMIT
from cudanalyst.tools.toolchain.gpu_parts import GpuParts, executor_environment
from cudanalyst.tools.toolchain.ncu.argv import collect_prefix
from cudanalyst.tools.toolchain.ncu.collect import FINISH_S, OVERHEAD_S, Collection, tool_environment, with_counters
from cudanalyst.tools.toolchain.ncu.reading import reading
from cudanalyst.tools.toolchain.outcome import Unrecordable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution, ProgramRequest, Sanitization
from cudanalyst.tools.toolchain.recording import Recorder
from cudanalyst.tools.toolchain.replaying import Replaying, replay
from cudanalyst.tools.toolchain.sanitizer.candidates import sanitize_candidate
from cudanalyst.tools.toolchain.sanitizer.context import known_kernels
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer
from cudanalyst.tools.toolchain.sanitizer.running import Driven, Target, not_run, sanitize_together
from cudanalyst.tools.toolchain.workspace import Workspace, workspace

NEEDS_FULL_SANDBOX: Final = (
    "NVIDIA's tools speak with a program over sockets, which what is not trusted may do only in a network and a file system of its own, and "
    "this machine offers none ({reason}); use the cpu toolchain for this program, or start with --allow-unsandboxed if every source is trusted"
)
"""Candidates are not concerned: there the tools wrap the trusted executor."""
NO_COUNTERS_INSIDE: Final = (
    "the driver gives performance counters to administrators only (ERR_NVGPUCTRPERM), and in the sandbox nobody is one: let everyone read them "
    "(options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, and reboot), profile the kernels as a candidate for a problem, "
    "or start with --allow-unsandboxed if every source is trusted"
)
"""Of a program. Candidates are profiled in the executor, which keeps the server's privileges."""
TOOL_FOLDERS: Final = ("/opt/nvidia",)
"""Where packages put the tools, of which a toolkit has only scripts that start them."""
ONLY_NATIVE: Final = (
    "under a tool only calls that can be recorded are run, and this candidate's cannot: {reason}. Next: make them recordable, or debug and "
    "profile the kernels in a program of their own"
)


@dataclass(frozen=True)
class OnDevice:
    """A held device, and what runs on it."""

    parts: GpuParts
    uuid: str
    scratch: Path

    def names(self, own_file: str) -> PathNames:
        """Names to show for files."""
        return PathNames(own_file, {str(self.parts.toolkit.root): "<toolkit>", str(self.scratch): "<work>"})

    def replaying(self) -> Replaying:
        """How candidates are replayed here, without a tool."""
        parts = self.parts
        return Replaying(
            recorder=Recorder(
                runner=parts.engine.runner,
                readable=(parts.engine.root,),
                confinement=parts.confinement,
                scratch=self.scratch,
                names={str(parts.toolkit.root): "<toolkit>"},
            ),
            executor=parts.engine.executor,
            starter=lambda work, _: self.start_in(work),
            driver=parts.driver,
            has_report=False,
        )

    def executor_command(self, work: Workspace) -> ExecutorCommand:
        """How the executor is started there."""
        return ExecutorCommand(self.parts.engine.executor, self.start_in(work), self.parts.driver)

    def start_in(self, work: Workspace) -> Starter:
        """How the executor is started on this device; what wraps it finds a home."""
        environment = executor_environment(self.uuid, self.parts.driver)
        return plainly(work.path, {**environment, **tool_environment(work.path)})


async def replay_plainly(on: OnDevice, build: Build, request: CandidateRequest) -> Execution | Unrecordable:
    """A candidate's calls, recorded and replayed."""
    return await replay(on.replaying(), build, request)


async def sanitize(
    on: OnDevice,
    sanitizer: Sanitizer,
    build: Build,
    request: CandidateRequest | ProgramRequest,
    checks: Sequence[Check],
) -> tuple[Sanitization, ...]:
    """The checks side by side, each in a process of its own."""
    if isinstance(request, CandidateRequest):
        place = replace(on.replaying(), finish_s=FINISH_S)
        done = await sanitize_candidate(sanitizer, checks, place, build, request, on.names("candidate.cu"))
        if isinstance(done, Unrecordable):
            return tuple(not_run(check, ONLY_NATIVE.format(reason=done.reason)) for check in checks)
        return done
    program = request

    async def drive(prefix: Sequence[str | Path]) -> Driven:
        execution = await _run_program(on, tuple(prefix), build, program, room)
        return Driven(execution, hung="the program" if execution.how == "timed_out" else None)

    kernels = known_kernels((kernel.symbol, kernel.name) for kernel in build.kernels)
    with workspace(on.scratch) as room:
        target = Target(on.names("program.cu"), kernels=kernels)
        return await sanitize_together(sanitizer, checks, drive, target, work=room.path, replayed=False)


async def profile(
    on: OnDevice,
    ncu: Path,
    build: Build,
    request: CandidateRequest | ProgramRequest,
    selection: Selection,
    *,
    version: str | None = None,
) -> Execution:
    """A build's run under Nsight Compute: of a candidate the replayed calls, and nothing else.

    Args:
        on: The held device.
        ncu: The program.
        build: What is profiled.
        request: The calls, or how the program is started.
        selection: Metric set, kernel and launch.
        version: What ncu says of itself.

    Raises:
        Unavailable: The sandbox for it cannot be had here, or it cannot be started.
    """
    candidate = isinstance(request, CandidateRequest)
    names = on.names("candidate.cu" if candidate else "program.cu")
    longer = replace(request, timeout_s=request.timeout_s + OVERHEAD_S)
    code = asyncio.create_task(_code(on, build))  # beside the run, which leaves the host idle
    try:
        async with reading() as reader:  # it loads what it needs beside the run, too
            with workspace(on.scratch) as room:
                prefix = collect_prefix(ncu, room.path, selection, only_between=candidate, version=version)
                if isinstance(longer, CandidateRequest):
                    place = replace(on.replaying(), prefix=prefix, finish_s=FINISH_S, profile=True)
                    outcome = await replay(place, build, longer)
                    if isinstance(outcome, Unrecordable):
                        return unavailable(ONLY_NATIVE.format(reason=outcome.reason))
                    execution = outcome
                else:
                    execution = await _run_program(on, prefix, build, longer, room)
                collection = Collection(ncu, room.path, selection)
                done = await with_counters(execution, _as_process(execution), collection, names, await code, reader)
                if not candidate and on.parts.confinement.level != "none" and "ERR_NVGPUCTRPERM" in (done.reason or ""):
                    return replace(done, reason=NO_COUNTERS_INSIDE)
                return done
    finally:
        code.cancel()
        await asyncio.wait([code])


async def _code(on: OnDevice, build: Build) -> dict[str, list[Decoded]] | None:
    """The disassembly, which tells where inlined code was called from; None where there is no disassembler."""
    parts = on.parts
    try:
        return await Disassembler(parts.toolkit.root, parts.confinement, os.environ, on.scratch).decoded(build)
    except Unavailable:
        return None  # lines are then those of ncu's own line table


async def _run_program(
    on: OnDevice, prefix: tuple[str | Path, ...], build: Build, request: ProgramRequest, room: Workspace
) -> Execution:
    """A program with a tool before it.

    Raises:
        Unavailable: The sandbox for it cannot be had here, or it cannot be started.
    """
    if build.binary is None:
        raise Unavailable(f"there is no binary to run: the build's status is {build.status}")
    parts = on.parts
    tool = Path(prefix[0])
    tool_folders = [parts.toolkit.root, tool.parent, tool.resolve().parent, *map(Path, TOOL_FOLDERS)]
    try:
        process = await parts.confinement.run(
            [*prefix, build.binary, *request.arguments],
            work=room.path,
            readable=[*parts.readable(build.binary.parent), *tool_folders],
            env={**parts.environment(on.uuid), **tool_environment(room.path)},
            timeout_s=request.timeout_s,
            memory_bytes=NO_ADDRESS_LIMIT,
            purpose="tools",
            stdin=request.stdin,
            output_limit=RUN_OUTPUT_LIMIT,
        )
    except Unavailable as error:
        raise Unavailable(NEEDS_FULL_SANDBOX.format(reason=error)) from error
    execution = read_execution(process, room, request, on.names("program.cu"), parts.confinement.level)
    return replace(execution, extra={**execution.extra, "trust": "native"})


def _as_process(execution: Execution) -> ProcessResult:
    """What a tool printed, for whoever looks for its words among those of the process."""

    def captured(text: str, total: int) -> Captured:
        data = text.encode()
        return Captured(data, b"", max(total, len(data)) if total <= len(data) else len(data))

    return ProcessResult(
        exit_status=execution.exit_status,
        signal=execution.signal,
        timed_out=execution.how == "timed_out",
        output_limited=execution.how == "output_limit",
        stdout=captured(execution.stdout, execution.stdout_bytes),
        stderr=captured(execution.stderr, execution.stderr_bytes),
        duration_s=execution.duration_s,
    )
