"""Checks a candidate: its calls are recorded in the sandbox, and compute-sanitizer wraps the executor that replays them.

Buffers are exact and separate, without guards, and the workspace is not filled: either would hide what the checks look for.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.tools.findings import Check
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.outcome import Unrecordable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution, Sanitization
from cudanalyst.tools.toolchain.replaying import Replaying, replay
from cudanalyst.tools.toolchain.report import findings as reported
from cudanalyst.tools.toolchain.sanitizer.context import known_kernels
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer
from cudanalyst.tools.toolchain.sanitizer.places import Allocation
from cudanalyst.tools.toolchain.sanitizer.records import integer
from cudanalyst.tools.toolchain.sanitizer.running import Drive, Driven, Target, sanitize_together

RECORDER: Final = {"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": "memcheck"}
"""The recorder tells of the calls that it refuses: those never reach the tool."""
FINISH_S: Final = 20.0
"""Seconds from the executor's end to the tool's: it writes its files then."""


async def sanitize_candidate(
    sanitizer: Sanitizer,
    checks: Sequence[Check],
    place: Replaying,
    build: Build,
    request: CandidateRequest,
    names: PathNames,
) -> tuple[Sanitization, ...] | Unrecordable:
    """Runs checks side by side, holding the device once for all of them.

    Args:
        sanitizer: The installed tool.
        checks: Which of its tools.
        place: Where and with what candidates are replayed; its prefix and its workspace's poison are set here.
        build: The candidate's library and device code.
        request: One call, without guards.
        names: Names of files.

    Returns:
        One result for each check, in their order; or what cannot be recorded: only a native run can be checked then.

    Raises:
        BadRequest: The buffers have guards, which would hide an overrun.
    """
    if request.guard_bytes:
        raise BadRequest("checks need exact allocations: ask for guard_bytes = 0")
    refused: list[Unrecordable] = []
    kernels = known_kernels((kernel.symbol, kernel.name) for kernel in build.kernels)
    target = Target(names, kernels=kernels, sandbox=place.recorder.confinement.level)
    drive = _replaying(replace(place, lease=contextlib.nullcontext), build, request, refused)
    async with place.lease():
        results = await sanitize_together(sanitizer, checks, drive, target, work=place.recorder.scratch, replayed=True)
    return refused[0] if refused else results


def _replaying(place: Replaying, build: Build, request: CandidateRequest, refused: list[Unrecordable]) -> Drive:
    """Replays the request behind a tool's words; what cannot be recorded is put in `refused`."""

    async def drive(prefix: Sequence[str | Path]) -> Driven:
        under = replace(place, prefix=tuple(prefix), poison=False, finish_s=FINISH_S, recorder_settings=RECORDER)
        execution = await replay(under, build, request)
        if isinstance(execution, Unrecordable):
            refused.append(execution)
            return Driven(unavailable(execution.reason))
        only = build.kernels[0].name if len(build.kernels) == 1 else "a kernel of `solve`"
        hung = only if "hung_call" in execution.extra else None
        refused_calls = reported(execution.report, "memcheck")
        return Driven(execution, allocations(execution), hung, refused=refused_calls)

    return drive


def allocations(execution: Execution) -> tuple[Allocation, ...]:
    """The executor's buffers, by name."""
    found = []
    for record in execution.report:
        address = integer(str(record.get("address", "")))
        size, name = record.get("bytes"), record.get("name")
        if (
            record.get("type") == "allocation"
            and address is not None
            and isinstance(size, int)
            and isinstance(name, str)
        ):
            found.append(Allocation(name, address, size))
    return tuple(found)
