"""Decides what one process showed. Reference, inputs and verdict stay in this process.

Everything in an `Execution` but how the process ended is the candidate's word. A report can only do harm to its author: it
never turns an output that differs from the reference into a right one, and one that does not add up is a violation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cudanalyst.kernels.dtypes import NUMPY, Array
from cudanalyst.kernels.problem import Parameter, SizeGroup, SizeSet
from cudanalyst.tools.cases import GUARD_BYTES, PlannedCall, PlannedProcess
from cudanalyst.tools.ending import Verdict, answered_calls, ending, not_possible
from cudanalyst.tools.oracle import Expected, examine
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.verdicts import CaseResult, CaseStatus, Mismatch

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


@dataclass(frozen=True)
class Judgement:
    """What one process showed."""

    cases: tuple[CaseResult, ...]
    cuda_error: str | None
    deterministic: bool | None
    unavailable: str | None = None
    """Why nothing can be said: the toolchain, not the candidate, could not do it."""


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
    return Judgement(
        cases=tuple(_case(planned, index, verdicts) for index in planned.seed_indices),
        cuda_error=next((verdict.cuda_error for verdict in verdicts if verdict.cuda_error), None),
        deterministic=_deterministic(planned, execution) if ended is None else None,
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
    planned: PlannedProcess, call: PlannedCall, download: Mapping[str, bytes], expected: Mapping[str, Array]
) -> Verdict:
    """Guards, then inputs, then outputs."""
    for parameter in planned.problem.parameters:
        if parameter.role == "scalar":
            continue
        message = _guard_damage(parameter.name, download[parameter.name], call.guard)
        if message:
            return Verdict("contract_violation", message)
        if parameter.role == "in" and _body(download[parameter.name]) != call.uploads[parameter.name]:
            return Verdict("contract_violation", f"input `{parameter.name}` was changed; inputs are read-only")
    largest: float | None = None
    for parameter in planned.problem.parameters:
        if parameter.role not in {"out", "inout"}:
            continue
        data = _body(download[parameter.name])
        found = examine(parameter, planned.problem, planned.sizes, data, expected[parameter.name])
        if found.mismatch is not None:
            text = _wrong_text(found.mismatch, never_written=_holds_poison(parameter, call, data, found.first))
            return Verdict("wrong", text, mismatch=found.mismatch, error_ratio=found.error_ratio)
        largest = max(largest or 0.0, found.error_ratio or 0.0)
    return Verdict("passed", error_ratio=largest)


def _case(planned: PlannedProcess, index: int, verdicts: Sequence[Verdict]) -> CaseResult:
    own = [verdict for verdict, call in zip(verdicts, planned.calls, strict=True) if call.seed_index == index]
    status = worst([verdict.status for verdict in own])
    verdict = next(verdict for verdict in own if verdict.status == status)
    hidden = planned.group == "held_out"
    ratios = [one.error_ratio for one in own if one.error_ratio is not None]
    return CaseResult(
        group=planned.group,
        sizes=None if hidden else planned.sizes,
        seed_index=index,
        status=status,
        message=HIDDEN_MESSAGE.get(status) if hidden else verdict.message,
        mismatch=None if hidden else verdict.mismatch,
        error_ratio=None if hidden else max(ratios, default=None),
    )


def _guard_damage(name: str, data: bytes, guard: bytes) -> str | None:
    before, after = data[:GUARD_BYTES], data[-GUARD_BYTES:]
    if after != guard:
        offset = next(i for i, (got, put) in enumerate(zip(after, guard, strict=True)) if got != put)
        return f"wrote beyond the end of buffer `{name}`; first changed byte is {offset} bytes after it"
    if before != guard:
        offset = next(i for i, (got, put) in enumerate(zip(before[::-1], guard[::-1], strict=True)) if got != put)
        return f"wrote beyond the start of buffer `{name}`; last changed byte is {offset + 1} bytes before it"
    return None


def _holds_poison(parameter: Parameter, call: PlannedCall, data: bytes, first: int) -> bool:
    width = NUMPY[parameter.dtype].itemsize
    element = slice(first * width, (first + 1) * width)
    return parameter.role == "out" and data[element] == call.uploads[parameter.name][element]


def _wrong_text(mismatch: Mismatch, *, never_written: bool) -> str:
    place = f"{mismatch.output}[{','.join(map(str, mismatch.index))}]"
    got = "was never written" if never_written else f"is {mismatch.got_text}"
    return (
        f"{place} {got}, should be {mismatch.expected:.6g}; "
        f"{mismatch.wrong_elements} of {mismatch.total_elements} elements differ"
    )


def _body(data: bytes) -> bytes:
    return data[GUARD_BYTES : len(data) - GUARD_BYTES]


def _deterministic(planned: PlannedProcess, execution: Execution) -> bool | None:
    """Whether the same input gave the same bytes in every call with it; None where no input came twice."""
    outputs = [parameter.name for parameter in planned.problem.parameters if parameter.role in {"out", "inout"}]
    first: dict[int, tuple[bytes, ...]] = {}
    repeated = False
    for call, download in zip(planned.calls, execution.downloads, strict=True):
        bodies = tuple(_body(download[name]) for name in outputs)
        if call.seed_index in first:
            repeated = True
            if first[call.seed_index] != bodies:
                return False
        first[call.seed_index] = bodies
    return True if repeated else None
