"""Verifies a candidate at a large size: its calls on a device, inputs and comparisons by the oracle, the verdict here.

The same schedule, the same seeds and the same words as for a small size (tools/cases.py, tools/judge.py): every input set once, the
first twice with other poison, in shuffled order on the same buffers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from cudanalyst.kernels.problem import SizeGroup, SizeSet
from cudanalyst.tools.cases import ScheduledCall
from cudanalyst.tools.ending import Verdict
from cudanalyst.tools.gpu.oracle_client import GpuOracle, OracleFailed
from cudanalyst.tools.gpu.oracle_messages import BufferAt, Examined
from cudanalyst.tools.judge import Judgement, by_seed, case_of
from cudanalyst.tools.oracle import wrong_text


class Replayed(Protocol):
    """A candidate that is ready on a device, with buffers for one size."""

    async def shared(self, *, files: bool) -> Mapping[str, BufferAt]:
        """Where its buffers lie: handles of device memory, or (where those cannot be opened) paths of files."""

    async def load(self) -> None:
        """Brings the files' contents into the buffers; nothing to do unless `files` was asked for."""

    async def call(self, call: ScheduledCall) -> Verdict | None:
        """One call of `solve`; None when it returned as it should, else how it ended."""

    async def store(self) -> None:
        """Brings the buffers' contents into the files; nothing to do unless `files` was asked for."""


async def verify_large(
    oracle: GpuOracle,
    replayed: Replayed,
    folder: Path,
    group: SizeGroup,
    sizes: SizeSet,
    schedule: tuple[ScheduledCall, ...],
) -> Judgement:
    """One case per seed. A call that does not return ends it; a wrong answer does not.

    Args:
        oracle: Makes inputs and compares.
        replayed: The candidate.
        folder: The problem's folder.
        group: Group of the size.
        sizes: The size.
        schedule: `cases.schedule_verification` of the size.

    Raises:
        BadProblem: The problem's reference fails.
    """
    verdicts: list[Verdict] = []
    repeats: list[Examined] = []
    over = False
    try:
        buffers = await _shared(oracle, replayed, folder, sizes, schedule[0])
        for position, call in enumerate(schedule):
            if over:
                verdicts.append(Verdict("not_run", "an earlier call ended the process"))
                continue
            await oracle.prepare(folder, sizes, call, buffers)
            await replayed.load()
            ended = await replayed.call(call)
            if ended is not None:
                over = True
                verdicts.append(ended)
                continue
            await replayed.store()
            twice = [i for i, other in enumerate(schedule) if other.seed_index == call.seed_index]
            again = len(twice) > 1 and position == twice[-1] and verdicts[twice[0]].status != "contract_violation"
            examined = await oracle.examine(
                folder,
                sizes,
                call,
                buffers,
                keep=len(twice) > 1 and position == twice[0],
                against_kept=again,
            )
            repeats += [examined] if again else []
            verdicts.append(verdict_of(examined))
    except OracleFailed as error:
        await oracle.close()
        return Judgement(cases=(), cuda_error=None, deterministic=None, unavailable=str(error))
    except BaseException:  # cancelled, or the executor failed: its memory must not stay mapped
        oracle.abandon()
        raise
    try:
        await oracle.forget()
    except OracleFailed:  # a context that the candidate broke may take the mapping with it: the verdict stands
        await oracle.close()
    seen = None if over else next((repeat for repeat in repeats if repeat.same_as_kept is not None), None)
    return Judgement(
        cases=tuple(case_of(group, sizes, index, own) for index, own in by_seed(schedule, verdicts)),
        cuda_error=next((verdict.cuda_error for verdict in verdicts if verdict.cuda_error), None),
        deterministic=None if seen is None else seen.same_as_kept,
        difference=None if seen is None or group == "held_out" else seen.difference,
    )


async def _shared(
    oracle: GpuOracle, replayed: Replayed, folder: Path, sizes: SizeSet, call: ScheduledCall
) -> Mapping[str, BufferAt]:
    """Device memory where it can be shared, else files: containers may forbid what cuIpcOpenMemHandle needs."""
    buffers = await replayed.shared(files=False)
    try:
        await oracle.prepare(folder, sizes, call, buffers)
    except OracleFailed as error:
        if error.failed != "ipc":
            raise
        return await replayed.shared(files=True)
    return buffers


def verdict_of(examined: Examined) -> Verdict:
    """What the oracle saw, in the words of `judge`."""
    if examined.violation is not None:
        return Verdict("contract_violation", examined.violation)
    for seen in examined.outputs:
        if seen.mismatch is not None:
            text = wrong_text(seen.mismatch, never_written=seen.never_written)
            return Verdict("wrong", text, mismatch=seen.mismatch, error_ratio=seen.error_ratio)
    return Verdict("passed", error_ratio=max((seen.error_ratio or 0.0 for seen in examined.outputs), default=0.0))
