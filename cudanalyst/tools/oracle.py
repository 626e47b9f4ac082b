"""What the parent process knows of a problem: argument values, the float64 reference, and how far outputs are from it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from cudanalyst.kernels.compare import compare
from cudanalyst.kernels.dtypes import NUMPY, Array
from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.inputs import Inputs, shape_of
from cudanalyst.kernels.problem import DType, Parameter, Problem, SizeSet
from cudanalyst.tools.verdicts import Mismatch

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


def examine(parameter: Parameter, problem: Problem, sizes: SizeSet, data: bytes, expected: Array) -> Found:
    """Compares the bytes of one output with its reference."""
    shape = shape_of(parameter, sizes)
    got = np.frombuffer(data, dtype=NUMPY[parameter.dtype]).reshape(shape)
    result = compare(got, np.asarray(expected), parameter.dtype, problem.tolerance, sizes)
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
    return Found(mismatch=mismatch, error_ratio=ratio, first=int(np.ravel_multi_index(result.index, shape)))


def estimated_warp_instructions(problem: Problem, sizes: SizeSet) -> float:
    """A rough size of the work, from the least that any solution must do; equal for baseline and candidates."""
    flops = float(evaluate(problem.work.flops, sizes))
    moved = float(evaluate(problem.work.bytes_moved, sizes))
    return (flops / 2 * FLOPS_PER_WARP_INSTRUCTION) / 32 + moved / BYTES_PER_WARP_INSTRUCTION
