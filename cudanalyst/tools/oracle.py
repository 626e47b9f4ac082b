"""What the parent process knows of a problem: argument values, the float64 reference, and how far outputs are from it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from cudanalyst.kernels.arrays import module_of
from cudanalyst.kernels.compare import CHUNK_ELEMENTS, Comparison, compare
from cudanalyst.kernels.dtypes import NUMPY, Array, to_reference
from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.inputs import POISON_BYTES, Inputs, PoisonPattern, shape_of
from cudanalyst.kernels.problem import DType, Parameter, Problem, SizeSet
from cudanalyst.tools.verdicts import Difference, Mismatch

Expected = Callable[[str, Inputs, Mapping[str, int]], Mapping[str, Array]]
"""`Catalogue.expected`: the float64 outputs (integers where the output is) of a problem, by id, on given inputs."""
SCALAR_TYPES: Final[dict[DType, Literal["int", "long", "float", "double"]]] = {
    "i32": "int",
    "u32": "int",
    "i64": "long",
    "u64": "long",
    "f32": "float",
    "f64": "double",
}
LARGEST_RATIO: Final = 1e300
FLOPS_PER_WARP_INSTRUCTION: Final = 6.0
"""An engine executes about six warp instructions for each useful one (address, loop, predicate)."""
BYTES_PER_WARP_INSTRUCTION: Final = 24.0


@dataclass(frozen=True)
class Found:
    """One output against its reference."""

    mismatch: Mismatch | None
    error_ratio: float | None
    first: int = 0
    """Flat index of the first wrong element."""


def examine(parameter: Parameter, problem: Problem, sizes: SizeSet, data: bytes | memoryview, expected: Array) -> Found:
    """Compares the bytes of one output with its reference."""
    got = np.frombuffer(data, dtype=NUMPY[parameter.dtype]).reshape(shape_of(parameter, sizes))
    return found(parameter, problem, sizes, compare(got, expected, parameter.dtype, problem.tolerance, sizes))


def found(parameter: Parameter, problem: Problem, sizes: SizeSet, result: Comparison) -> Found:
    """What is told of a comparison."""
    ratio = min(result.error_ratio, LARGEST_RATIO)
    if result.passed:
        return Found(mismatch=None, error_ratio=ratio)
    if result.index is None or result.got is None or result.expected is None:
        # The reference is not of the output's shape: a fault of the problem, not of the candidate.
        message = f"problem {problem.id}: output `{parameter.name}` cannot be compared: {result.reason}"
        raise ValueError(message)
    mismatch = Mismatch(
        output=parameter.name,
        index=result.index,
        got=result.got if math.isfinite(result.got) else None,
        got_text=f"{result.got:.6g}",
        expected=result.expected if math.isfinite(result.expected) else math.copysign(LARGEST_RATIO, result.expected),
        wrong_elements=result.wrong_elements,
        total_elements=result.total_elements,
        max_error=ratio,
    )
    return Found(mismatch, ratio, first=int(np.ravel_multi_index(result.index, shape_of(parameter, sizes))))


def difference(
    parameter: Parameter,
    first: Array,
    second: Array,
    poisons: tuple[PoisonPattern, PoisonPattern],
    *,
    chunk_elements: int = CHUNK_ELEMENTS,
) -> Difference | None:
    """Where two results of the same call differ, to the last bit; elements that still hold their poison are left out.

    Args:
        parameter: The output.
        first: What it held after one call, in its own element type.
        second: What it held after the other, of the same array module.
        poisons: What each call found in it.
        chunk_elements: Elements that are compared at once.
    """
    arrays = module_of(first)
    width = NUMPY[parameter.dtype].itemsize
    word = np.dtype(f"<u{width}")
    left = [np.full(width, POISON_BYTES[pattern], np.uint8).view(word)[0] for pattern in poisons]
    one, other = first.reshape(-1).view(word), second.reshape(-1).view(word)
    total, count = int(one.size), 0
    place: int | None = None
    for start in range(0, total, chunk_elements):
        a, b = one[start : start + chunk_elements], other[start : start + chunk_elements]
        differs = (a != b) & (a != left[0]) & (b != left[1])
        found_here = int(arrays.count_nonzero(differs))
        if found_here and place is None:
            place = start + int(differs.argmax())
        count += found_here
    if place is None:
        return None
    values = [float(to_reference(side.reshape(-1)[place : place + 1], parameter.dtype)[0]) for side in (first, second)]
    digits = 17 if width == 8 else 9
    return Difference(
        output=parameter.name,
        index=tuple(int(part) for part in np.unravel_index(place, first.shape)),
        first=values[0] if math.isfinite(values[0]) else None,
        first_text=f"{values[0]:.{digits}g}",
        second=values[1] if math.isfinite(values[1]) else None,
        second_text=f"{values[1]:.{digits}g}",
        differing_elements=count,
        total_elements=total,
    )


def guard_damage(name: str, before: bytes, after: bytes, guard: bytes) -> str | None:
    """What is said of a buffer whose guard zones do not hold what was put there."""
    if after != guard:
        offset = next(i for i, (got, put) in enumerate(zip(after, guard, strict=True)) if got != put)
        return f"wrote beyond the end of buffer `{name}`; first changed byte is {offset} bytes after it"
    if before != guard:
        offset = next(i for i, (got, put) in enumerate(zip(before[::-1], guard[::-1], strict=True)) if got != put)
        return f"wrote beyond the start of buffer `{name}`; last changed byte is {offset + 1} bytes before it"
    return None


def changed_input(name: str) -> str:
    """What is said of an input that `solve` wrote to."""
    return f"input `{name}` was changed; inputs are read-only"


def wrong_text(mismatch: Mismatch, *, never_written: bool) -> str:
    """What is said of an output that differs from its reference."""
    place = f"{mismatch.output}[{','.join(map(str, mismatch.index))}]"
    got = "was never written" if never_written else f"is {mismatch.got_text}"
    return (
        f"{place} {got}, should be {mismatch.expected:.6g}; "
        f"{mismatch.wrong_elements} of {mismatch.total_elements} elements differ"
    )


def estimated_warp_instructions(problem: Problem, sizes: SizeSet) -> float:
    """A rough size of the work, from the least that any solution must do; equal for baseline and candidates."""
    flops = float(evaluate(problem.work.flops, sizes))
    moved = float(evaluate(problem.work.bytes_moved, sizes))
    return (flops / 2 * FLOPS_PER_WARP_INSTRUCTION) / 32 + moved / BYTES_PER_WARP_INSTRUCTION
