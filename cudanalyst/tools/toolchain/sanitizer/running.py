"""Runs compute-sanitizer around a process that somebody else starts and drives.

For a candidate that process is the trusted executor, which replays recorded calls on exact, separate allocations without guards or poison;
for a program it is the program. Either way the caller starts it behind the argument list that it is given, so that this part knows
neither leases nor sandboxes.
"""

import asyncio
import itertools
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Execution, Sanitization
from cudanalyst.tools.toolchain.sanitizer.argv import PORTS_PER_RUN, Options, arguments
from cudanalyst.tools.toolchain.sanitizer.context import RESERVED_SHARED, Context
from cudanalyst.tools.toolchain.sanitizer.coverage import coverage
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer
from cudanalyst.tools.toolchain.sanitizer.log import MAX_LOG_BYTES
from cudanalyst.tools.toolchain.sanitizer.patience import with_patience
from cudanalyst.tools.toolchain.sanitizer.places import Allocation
from cudanalyst.tools.toolchain.sanitizer.reading import aggregate
from cudanalyst.tools.toolchain.sanitizer.records import MAX_XML_BYTES
from cudanalyst.tools.toolchain.sanitizer.verdict import interpret, of_stopped
from cudanalyst.tools.toolchain.workspace import read_plain

_FIRST_PORT: Final = 20_000
_LAST_PORT: Final = 31_990
"""Below the range from which systems choose ports of outgoing connections (from 32768 on)."""


@dataclass(frozen=True)
class Driven:
    """How the process under the tool ended, as the one who drove it saw it."""

    execution: Execution
    allocations: tuple[Allocation, ...] = ()
    """Device memory of the executor, by name."""
    hung: str | None = None
    """What was under way when the time limit came, such as a kernel's name; None where nothing hung."""
    flooded: bool = False
    """It was stopped here, for the many errors that it made."""
    refused: tuple[Finding, ...] = ()
    """Calls that were refused before the tool could see them; findings of memcheck."""


Drive = Callable[[Sequence[str | Path]], Awaitable[Driven]]
"""Starts its process with these words before its own command line, works with it, and waits for its end."""


@dataclass(frozen=True)
class Target:
    """What is known about the code under the tool."""

    names: PathNames
    kernels: Mapping[str, str] = field(default_factory=dict)
    """By the names and symbols that a record may use: a kernel's full name."""
    symbols: tuple[str, ...] = ()
    """Mangled names of the only kernels to check; none for all."""
    sandbox: Sandbox = "none"
    """Around the code whose calls the process makes."""
    reserved_shared: int = RESERVED_SHARED
    """The device's CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK."""


async def sanitize_together(
    sanitizer: Sanitizer, checks: Sequence[Check], drive: Drive, target: Target, *, work: Path, replayed: bool
) -> tuple[Sanitization, ...]:
    """Checks side by side, each in a process of its own; their starting up is most of what they take.

    The caller holds the device for all of them. What goes wrong with one leaves the others alone.

    Args:
        sanitizer: The installed tool.
        checks: Which of its four tools.
        drive: Starts the process behind the words it is given, and works with it.
        target: Names of files and kernels.
        work: Folder for the tool's files; the process under it writes there too.
        replayed: The process is the executor, on exact allocations: its own calls and leaks are no findings. Otherwise it is
            a program, whose calls and leaks count.
    """
    each = [_sanitize(sanitizer, check, drive, target, work=work, replayed=replayed) for check in checks]
    return tuple(await asyncio.gather(*each))


async def _sanitize(
    sanitizer: Sanitizer, check: Check, drive: Drive, target: Target, *, work: Path, replayed: bool
) -> Sanitization:
    started = time.monotonic()
    context = Context(target.names, kernels=target.kernels, replayed=replayed, reserved_shared=target.reserved_shared)

    def tells(text: bytes) -> bool:
        return bool(of_stopped(check, text, context).findings)

    with tempfile.TemporaryDirectory(prefix=f"{check}-", dir=work, ignore_cleanup_errors=True) as folder:
        options = Options(
            check=check,
            xml=Path(folder) / "records.xml",
            log=Path(folder) / "log.txt",
            port=next(_ports),
            host_stack=not replayed,
            leaks=not replayed,
            api_memory=not replayed,
            kernels=target.symbols,
        )
        try:
            driven = await with_patience(_driven(drive, arguments(sanitizer.path, options, ())), options.log, tells)
            if driven is None:
                driven = Driven(_stopped(target.sandbox, time.monotonic() - started), flooded=True)
        except Unavailable as error:
            return not_run(check, str(error))
        # One byte more than the limit tells that there is more.
        xml, log = read_plain(options.xml, MAX_XML_BYTES + 1), read_plain(options.log, MAX_LOG_BYTES + 1)
    execution = driven.execution
    if driven.flooded or (driven.hung is not None and xml is None):
        verdict = await asyncio.to_thread(of_stopped, check, log, context, allocations=driven.allocations)
    else:
        verdict = await asyncio.to_thread(
            interpret, check, xml, log, context, allocations=driven.allocations, stderr=execution.stderr
        )
    broken = verdict.broken
    if driven.hung is not None and not verdict.findings:  # with many errors to write down, any kernel is slow
        execution = _with_hang(execution, driven.hung, check)
    if driven.hung is not None or execution.how in {"timed_out", "output_limit", "unavailable"}:
        broken = (
            None  # stopped with its target, or without one: that the tool left nothing whole is no failure of its own
        )
    return Sanitization(
        check=check,
        execution=execution,
        findings=aggregate((*driven.refused, *verdict.findings)) if check == "memcheck" else verdict.findings,
        failed=verdict.broken,
        coverage=coverage(check, sanitizer.version),
        broken=broken,
        note=verdict.note,
        stopped=verdict.stopped,
        wall_s=time.monotonic() - started,
    )


def not_run(check: Check, reason: str) -> Sanitization:
    """A check that could not be run."""
    execution = unavailable(reason)
    return Sanitization(check=check, execution=execution, findings=(), failed=reason, coverage="nothing was checked")


async def _driven(drive: Drive, words: Sequence[str | Path]) -> Driven:
    return await drive(words)


def _stopped(sandbox: Sandbox, duration_s: float) -> Execution:
    """A run that was ended for its many errors: it is not tried at the next size."""
    return replace(
        unavailable("it was stopped for the many errors"), how="timed_out", duration_s=duration_s, sandbox=sandbox
    )


def _with_hang(execution: Execution, what: str, check: Check) -> Execution:
    """The execution with a record of the hang, as the CPU engine's watchdog writes one."""
    message = f"{one_line(what, 120)} did not end within the time limit under {check}: an endless loop, a deadlock, or more work than the limit allows"
    record = {"type": "watchdog", "kernel": one_line(what, 120), "warps": [], "message": message}
    return replace(execution, report=(*execution.report, record))


def _base_ports() -> Iterator[int]:
    """Ranges one after the other, from a random one on, so that several servers seldom meet."""
    ranges = range(_FIRST_PORT, _LAST_PORT, PORTS_PER_RUN)
    start = secrets.randbelow(len(ranges))
    return itertools.cycle([*ranges[start:], *ranges[:start]])


_ports: Final = _base_ports()
