"""Decides what one process showed. Reference, inputs and verdict stay in this process.

Everything in an `Execution` but how the process ended is the candidate's word. A report can only do harm to its author: it
never turns an output that differs from the reference into a right one, and one that does not add up is a violation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from cudanalyst.kernels.dtypes import NUMPY, Array
from cudanalyst.kernels.inputs import POISON_BYTES, shape_of
from cudanalyst.kernels.problem import Parameter, Problem, SizeGroup, SizeSet
from cudanalyst.tools.cases import GUARD_BYTES, PlannedCall, PlannedProcess
from cudanalyst.tools.ending import Verdict, answered_calls, ending, not_possible
from cudanalyst.tools.oracle import Expected, changed_input, difference, examine, guard_damage, wrong_text
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.verdicts import CaseResult, CaseStatus, Difference

SEVERITY: Final[tuple[CaseStatus, ...]] = ("contract_violation", "crashed", "timed_out", "wrong", "not_run", "passed")
HIDDEN_MESSAGE: Final[dict[CaseStatus, str]] = {
    "wrong": "an output differs from the reference on a size that is not shown",
    "crashed": "crashed on a size that is not shown",
    "timed_out": "did not end in time on a size that is not shown",
    "contract_violation": "broke the contract on a size that is not shown: wrote outside its buffers or to an input, "
    "or left the report or the output in disorder",
    "not_run": "not run, since an earlier call or case failed",
}
"""All that is told of a held-out case: index, offset, count, exit status and error ratio could each spell the size."""


Raw = bytes | memoryview
"""Contents of a buffer, guard zones included."""


class Sized(Protocol):
    """What a call was made for."""

    @property
    def problem(self) -> Problem:
        """The problem."""

    @property
    def sizes(self) -> SizeSet:
        """Its named sizes."""


class Seeded(Protocol):
    """A call that knows which inputs it got."""

    @property
    def seed_index(self) -> int:
        """Number of its inputs."""


@dataclass(frozen=True)
class Judgement:
    """What one process showed."""

    cases: tuple[CaseResult, ...]
    cuda_error: str | None
    deterministic: bool | None
    difference: Difference | None = None
    """Two values of an output that equal inputs gave; None for a size that is not shown."""
    unavailable: str | None = None
    """Why nothing can be said: the toolchain, not the candidate, could not do it."""
    unrecordable: str | None = None
    """What keeps a large size from being verified, where calls must be recorded: it is left out, and the result is worth a native one's."""


def judge(planned: PlannedProcess, execution: Execution, reference: Expected) -> Judgement:
    """One case per seed: the worst of its calls. Computes references, so it may take long."""
    missing = not_possible(execution)
    if missing is not None:
        return Judgement(cases=(), cuda_error=None, deterministic=None, unavailable=missing)
    answered = answered_calls(planned, execution)
    ended = ending(planned, execution, answered)
    if ended is not None and ended.status == "contract_violation" and answered == 0:
        verdicts = [ended] * len(planned.calls)
    else:
        inputs = {call.seed_index: call.inputs for call in planned.calls[:answered]}
        expected = {index: reference(planned.problem.id, given, planned.sizes) for index, given in inputs.items()}
        verdicts = [
            judge_call(planned, call, execution.downloads[position], expected[call.seed_index])
            for position, call in enumerate(planned.calls[:answered])
        ]
        if ended is not None:
            at_fault = min(answered, len(planned.calls) - 1)
            verdicts = [*verdicts[:at_fault], ended]
            verdicts += [Verdict("not_run", "an earlier call ended the process")] * (len(planned.calls) - at_fault - 1)
    deterministic, differs = _deterministic(planned, execution) if ended is None else (None, None)
    return Judgement(
        cases=tuple(
            case_of(planned.group, planned.sizes, index, own) for index, own in by_seed(planned.calls, verdicts)
        ),
        cuda_error=next((verdict.cuda_error for verdict in verdicts if verdict.cuda_error), None),
        deterministic=deterministic,
        difference=None if planned.group == "held_out" else differs,
    )


def worst(statuses: Sequence[CaseStatus]) -> CaseStatus:
    """The most severe of some statuses; one case that was not run forbids `passed`."""
    return min(statuses, key=SEVERITY.index)


def not_run(group: SizeGroup, sizes: SizeSet, seeds: int) -> Judgement:
    """A process that was not started."""
    hidden = group == "held_out"
    cases = tuple(
        CaseResult(
            group=group,
            sizes=None if hidden else sizes,
            seed_index=index,
            status="not_run",
            message="not run, since an earlier case ended the evaluation",
        )
        for index in range(seeds)
    )
    return Judgement(cases=cases, cuda_error=None, deterministic=None)


def judge_call(
    planned: Sized, call: PlannedCall, download: Mapping[str, Raw], expected: Mapping[str, Array]
) -> Verdict:
    """Guards, then inputs, then outputs."""
    for parameter in planned.problem.parameters:
        if parameter.role == "scalar":
            continue
        data = download[parameter.name]
        message = guard_damage(parameter.name, bytes(data[:GUARD_BYTES]), bytes(data[-GUARD_BYTES:]), call.guard)
        if message:
            return Verdict("contract_violation", message)
        if parameter.role == "in" and not _equal(_body(data), call.uploads[parameter.name]):
            return Verdict("contract_violation", changed_input(parameter.name))
    largest: float | None = None
    for parameter in planned.problem.parameters:
        if parameter.role not in {"out", "inout"}:
            continue
        data = _body(download[parameter.name])
        found = examine(parameter, planned.problem, planned.sizes, data, expected[parameter.name])
        if found.mismatch is not None:
            text = wrong_text(found.mismatch, never_written=_holds_poison(parameter, call, data, found.first))
            return Verdict("wrong", text, mismatch=found.mismatch, error_ratio=found.error_ratio)
        largest = max(largest or 0.0, found.error_ratio or 0.0)
    return Verdict("passed", error_ratio=largest)


def by_seed(calls: Sequence[Seeded], verdicts: Sequence[Verdict]) -> list[tuple[int, list[Verdict]]]:
    """The verdicts of each seed, seeds in order."""
    indices = sorted({call.seed_index for call in calls})
    pairs = list(zip(calls, verdicts, strict=True))
    return [(index, [verdict for call, verdict in pairs if call.seed_index == index]) for index in indices]


def case_of(group: SizeGroup, sizes: SizeSet, index: int, own: Sequence[Verdict]) -> CaseResult:
    """One case from the verdicts of its calls: the worst; of a held-out size only the verdict."""
    status = worst([verdict.status for verdict in own])
    verdict = next(verdict for verdict in own if verdict.status == status)
    hidden = group == "held_out"
    ratios = [one.error_ratio for one in own if one.error_ratio is not None]
    return CaseResult(
        group=group,
        sizes=None if hidden else sizes,
        seed_index=index,
        status=status,
        message=HIDDEN_MESSAGE.get(status) if hidden else verdict.message,
        mismatch=None if hidden else verdict.mismatch,
        error_ratio=None if hidden else max(ratios, default=None),
    )


def _holds_poison(parameter: Parameter, call: PlannedCall, data: Raw, first: int) -> bool:
    width = NUMPY[parameter.dtype].itemsize
    left = bytes([POISON_BYTES[call.poison]]) * width
    return parameter.role == "out" and bytes(data[first * width : (first + 1) * width]) == left


def _body(data: Raw) -> Raw:
    return data[GUARD_BYTES : len(data) - GUARD_BYTES]


def _equal(one: Raw, other: Raw) -> bool:
    # NumPy compares without holding up the other threads.
    return np.array_equal(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8))


def _deterministic(planned: PlannedProcess, execution: Execution) -> tuple[bool | None, Difference | None]:
    """Whether the same input gave the same bytes in every call with it (None: no input came twice), and where not."""
    outputs = [parameter for parameter in planned.problem.parameters if parameter.role in {"out", "inout"}]
    first: dict[int, tuple[PlannedCall, Mapping[str, bytes]]] = {}
    repeated = False
    for call, download in zip(planned.calls, execution.downloads, strict=True):
        if call.seed_index not in first:
            first[call.seed_index] = call, download
            continue
        repeated = True
        before, earlier = first[call.seed_index]
        differing = [item for item in outputs if _body(earlier[item.name]) != _body(download[item.name])]
        if differing:
            found = (_difference(item, planned, (before, call), (earlier, download)) for item in differing)
            return False, next((one for one in found if one is not None), None)
    return (True if repeated else None), None


def _difference(
    parameter: Parameter,
    planned: PlannedProcess,
    calls: tuple[PlannedCall, PlannedCall],
    downloads: tuple[Mapping[str, bytes], Mapping[str, bytes]],
) -> Difference | None:
    shape = shape_of(parameter, planned.sizes)
    first, second = (
        np.frombuffer(_body(download[parameter.name]), dtype=NUMPY[parameter.dtype]).reshape(shape)
        for download in downloads
    )
    found = difference(parameter, first, second, (calls[0].poison, calls[1].poison))
    return found and found.model_copy(update={"sizes": planned.sizes, "seed_index": calls[0].seed_index})
