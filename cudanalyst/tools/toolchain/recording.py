"""Runs a candidate's host code in the sandbox, without a device, and reads back the traces of what it asked for (engine/TRACE.md)."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.execution import REPORT, RUN_OUTPUT_LIMIT
from cudanalyst.tools.toolchain.exports import exports
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.report import MAX_REPORT_BYTES, Record, read_report
from cudanalyst.tools.toolchain.workspace import Workspace, workspace
from cudanalyst.tools.trace.parse import MAX_BYTES
from cudanalyst.tools.trace.read import Operations, Reading, read_trace
from cudanalyst.tools.trace.records import Refusal
from cudanalyst.tools.trace.table import Table, render_table

__all__ = [
    "MAX_WORKSPACE",
    "RECORDER_MEMORY",
    "Recorder",
    "Recording",
    "WorkspaceAnswer",
    "ask_workspace",
    "exports",
    "record",
]

RECORDER_MEMORY: Final = 20 << 30
"""Address space of a recorder's host code; the device's addresses, which are reserved and lead nowhere, come on top."""
MAX_WORKSPACE: Final = 1 << 40
_ANSWER_BYTES: Final = 64


@dataclass(frozen=True)
class Recorder:
    """What records: the same for every toolchain."""

    runner: Path
    readable: tuple[Path, ...]
    """Folders of the runner and its runtime."""
    confinement: Confinement
    scratch: Path
    names: Mapping[str, str]
    """Folders, and what is shown for them in the report."""
    away: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext
    """Held while it runs: host code needs no device, so whoever has one may leave it to others meanwhile."""


@dataclass(frozen=True)
class Recording:
    """What a recorder left. All of it is the candidate's word, but the traces are verified."""

    process: ProcessResult
    init: Reading | None
    """None: the candidate asked for nothing before its calls."""
    calls: tuple[Reading | None, ...]
    """By buffer set; None: no trace was left, since the process ended before."""
    report: tuple[Record, ...]
    """What the recording runtime has to say, misuses of the host API among them."""

    @property
    def ended_badly(self) -> bool:
        """Whether the process did not come to its own end: what it was writing may then be half of it."""
        return ended_badly(self.process)


def ended_badly(process: ProcessResult) -> bool:
    """Whether a recorder did not come to its own end."""
    return process.exit_status != 0 or process.timed_out or process.output_limited


@dataclass(frozen=True)
class WorkspaceAnswer:
    """What `workspace_bytes` said."""

    process: ProcessResult
    bytes: int | None
    """None: it gave no answer."""
    refusal: Refusal | None
    error: str | None = None
    """Why not, where it threw."""


async def record(recorder: Recorder, table: Table, *, timeout_s: float, settings: Mapping[str, str]) -> Recording:
    """Records `init` and one call for each buffer set.

    Args:
        recorder: With what.
        table: Everything that the candidate may know.
        timeout_s: Wall limit.
        settings: Variables of the runtime (engine/REPORT.md).

    Raises:
        Unavailable: The sandbox could not start it.
    """
    with workspace(recorder.scratch) as work:
        process = await _run(recorder, work, "--record", table, timeout_s, settings)
        init = work.read("out/init.trace", MAX_BYTES + 1)
        calls = [work.read(f"out/{index}.trace", MAX_BYTES + 1) for index in range(len(table.sets))]
        names = PathNames("candidate.cu", {**recorder.names, str(recorder.scratch): "<work>"})
        report, _ = read_report(work.read(REPORT, MAX_REPORT_BYTES + 1) or b"", names)
    return await asyncio.to_thread(_read, process, table, init, calls, report)


def _read(
    process: ProcessResult, table: Table, init: bytes | None, calls: Sequence[bytes | None], report: tuple[Record, ...]
) -> Recording:
    """As far as there is something to replay. Not on the server's loop: a trace can be made to be slow to read."""
    first = None if init is None else read_trace(init, table, None)
    readings: list[Reading | None] = [None] * len(calls)
    if first is None or isinstance(first, Operations):
        for index, data in enumerate(calls):
            readings[index] = None if data is None else read_trace(data, table, index)
            if not isinstance(readings[index], Operations):
                break
    return Recording(process=process, init=first, calls=tuple(readings), report=report)


async def ask_workspace(recorder: Recorder, table: Table, *, timeout_s: float) -> WorkspaceAnswer:
    """Asks `workspace_bytes` for the table's sizes.

    Raises:
        Unavailable: The sandbox could not start it.
    """
    with workspace(recorder.scratch) as work:
        process = await _run(recorder, work, "--workspace", table, timeout_s, {})
        answer = (work.read("out/workspace", _ANSWER_BYTES) or b"").strip()
        trace = work.read("out/workspace.trace", MAX_BYTES + 1)
    reading = None if trace is None else read_trace(trace, table, None)
    size = int(answer) if answer.isdigit() and int(answer) <= MAX_WORKSPACE else None
    refusal = reading if isinstance(reading, Refusal) else None
    error = reading.error.text if isinstance(reading, Operations) and reading.error is not None else None
    return WorkspaceAnswer(process, size, refusal, error)


async def _run(
    recorder: Recorder, work: Workspace, mode: str, table: Table, timeout_s: float, settings: Mapping[str, str]
) -> ProcessResult:
    work.write({"table.txt": render_table(table).encode()})
    async with recorder.away():
        return await recorder.confinement.run(
            [recorder.runner, mode, "table.txt", "out"],
            work=work.path,
            readable=(*recorder.readable, table.library.parent),
            env={"TMPDIR": str(work.path), "CUDANALYST_REPORT": str(work.path / REPORT), **settings},
            timeout_s=timeout_s,
            memory_bytes=RECORDER_MEMORY + table.address_bytes,
            purpose="run",
            output_limit=RUN_OUTPUT_LIMIT,
        )
