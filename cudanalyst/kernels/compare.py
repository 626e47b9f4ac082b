"""Is an output the reference, within the rounding that its own arithmetic must make?

The tolerance of element i is `factor * eps * sqrt(K) * max(|reference_i|, rms(reference))` with eps of the output's
element type and K the length of the longest sum behind an element. The error of a sum of K rounded terms grows like
sqrt(K) in any order (Higham and Mary, 2019, probabilistic bounds); the rms enters because an element that
cancels is no more exact than its neighbours. It is far below what a lower precision would leave.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cudanalyst.kernels.dtypes import EPSILON, LARGEST, NUMPY, SMALLEST_NORMAL, Array, is_float, to_reference
from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.problem import DType, Tolerance


@dataclass(frozen=True)
class Comparison:
    """A verdict on one output."""

    passed: bool
    error_ratio: float
    """Largest error over the tolerance; infinite for a NaN or an infinity that the reference does not have."""
    wrong_elements: int
    total_elements: int
    index: tuple[int, ...] | None = None
    """First element that is wrong, in row-major order."""
    got: float | None = None
    expected: float | None = None
    reason: str | None = None
    """Why the output could not be compared element by element."""


def compare(got: Array, expected: Array, dtype: DType, tolerance: Tolerance, sizes: Mapping[str, int]) -> Comparison:
    """Compares an output with its reference.

    Args:
        got: The output in its own element type (`uint16` bits for bf16).
        expected: Float64 (integers for integer outputs) of the same shape.
        dtype: Element type of the output.
        tolerance: How far it may be off.
        sizes: Values of the names in `tolerance.reduction`.
    """
    expected = np.asarray(expected)
    total = int(expected.size)
    if got.shape != expected.shape:
        return _refused(total, f"the output has shape {got.shape}, the reference {expected.shape}")
    if got.dtype != NUMPY[dtype]:
        return _refused(total, f"the output has element type {got.dtype}, not {NUMPY[dtype]}")
    if total == 0:
        return Comparison(passed=True, error_ratio=0.0, wrong_elements=0, total_elements=0)
    values = to_reference(got, dtype)
    ratios = _float_ratios(values, expected, dtype, tolerance, sizes) if is_float(dtype) else _exact(values, expected)
    wrong = ratios > 1.0
    worst = float(ratios.max())
    if not wrong.any():
        return Comparison(passed=True, error_ratio=worst, wrong_elements=0, total_elements=total)
    first = tuple(int(part) for part in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return Comparison(
        passed=False,
        error_ratio=worst,
        wrong_elements=int(np.count_nonzero(wrong)),
        total_elements=total,
        index=first,
        got=float(values[first]),
        expected=float(expected[first]),
    )


def absolute_tolerance(
    expected: Array, dtype: DType, tolerance: Tolerance, sizes: Mapping[str, int]
) -> NDArray[np.float64]:
    """The largest error of each element that still passes."""
    magnitude = np.abs(np.where(np.isfinite(expected), expected, 0.0))
    largest = float(magnitude.max(initial=0.0))
    # Scaled before it is squared: the squares of large float64 values overflow.
    rms = largest * math.sqrt(float(np.mean((magnitude / largest) ** 2))) if largest > 0.0 else 0.0
    length = max(1.0, float(evaluate(tolerance.reduction, sizes)))
    scale = tolerance.factor * EPSILON[dtype] * math.sqrt(length)
    return np.maximum(scale * np.maximum(magnitude, rms), SMALLEST_NORMAL[dtype])


def _float_ratios(
    got: Array, expected: Array, dtype: DType, tolerance: Tolerance, sizes: Mapping[str, int]
) -> NDArray[Any]:
    reference = expected.astype(np.float64)
    if tolerance.exact:
        same = (got == reference) | (np.isnan(got) & np.isnan(reference))
        return np.where(same, 0.0, np.inf)
    # Beyond the element type's range the right answer is an infinity.
    overflows = np.abs(reference) > LARGEST[dtype] * (1.0 + EPSILON[dtype] / 4.0)
    reference = np.where(overflows & np.isfinite(reference), np.copysign(np.inf, reference), reference)
    ordinary = np.isfinite(reference)
    allowed = absolute_tolerance(reference, dtype, tolerance, sizes)
    with np.errstate(invalid="ignore", over="ignore"):
        ratios = np.abs(got - reference) / allowed
        same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    ratios = np.where(ordinary & np.isfinite(got), ratios, np.inf)
    return np.where(same, 0.0, ratios)


def _exact(got: Array, expected: Array) -> NDArray[Any]:
    return np.where(got == expected, 0.0, np.inf)


def _refused(total: int, reason: str) -> Comparison:
    return Comparison(passed=False, error_ratio=math.inf, wrong_elements=total, total_elements=total, reason=reason)
