"""Is an output the reference, within the rounding that its own arithmetic must make?

The tolerance of element i is `factor * eps * sqrt(K) * max(|reference_i|, rms(reference))` with eps of the output's
element type and K the length of the longest sum behind an element. The error of a sum of K rounded terms grows like
sqrt(K) in any order (Higham and Mary, 2019, probabilistic bounds); the rms enters because an element that
cancels is no more exact than its neighbours. It is far below what a lower precision would leave.

Everything is done in chunks, so that a large output on a GPU needs little memory beside itself. The verdict does not
depend on how it is cut: the rms is summed over blocks of its own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cudanalyst.kernels.arrays import ArrayModule, module_of
from cudanalyst.kernels.dtypes import EPSILON, LARGEST, NUMPY, SMALLEST_NORMAL, Array, is_float, to_reference
from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.problem import DType, Tolerance

CHUNK_ELEMENTS: Final = 1 << 16
"""At once on the host: what one needs stays in the cache."""
BLOCK_ELEMENTS: Final = 1 << 20
"""Of the sums behind the rms: fixed, or the last digit of a tolerance would depend on the chunk."""


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


@dataclass(frozen=True)
class Scale:
    """What the tolerance of every element depends on."""

    rms: float
    relative: float
    """`factor * eps * sqrt(K)`; 0 where elements must be equal."""


def compare(
    got: Array,
    expected: Array,
    dtype: DType,
    tolerance: Tolerance,
    sizes: Mapping[str, int],
    *,
    chunk_elements: int = CHUNK_ELEMENTS,
) -> Comparison:
    """Compares an output with its reference.

    Args:
        got: The output in its own element type (`uint16` bits for bf16).
        expected: Float64 (integers for integer outputs) of the same shape, of the same array module as `got`.
        dtype: Element type of the output.
        tolerance: How far it may be off.
        sizes: Values of the names in `tolerance.reduction`.
        chunk_elements: Elements that are compared at once: about 100 bytes of memory each.
    """
    total = int(expected.size)
    if got.shape != expected.shape:
        return _refused(total, f"the output has shape {got.shape}, the reference {expected.shape}")
    if got.dtype != NUMPY[dtype]:
        return _refused(total, f"the output has element type {got.dtype}, not {NUMPY[dtype]}")
    if total == 0:
        return Comparison(passed=True, error_ratio=0.0, wrong_elements=0, total_elements=0)
    arrays = module_of(got)
    flat_got, flat_expected = got.reshape(-1), expected.reshape(-1)
    scale = scale_of(flat_expected, dtype, tolerance, sizes) if is_float(dtype) else None
    worst, wrong_elements = 0.0, 0
    first: tuple[int, float, float] | None = None
    for start in range(0, total, chunk_elements):
        part = slice(start, start + chunk_elements)
        values, reference = to_reference(flat_got[part], dtype), flat_expected[part]
        if scale is None:
            ratios = arrays.where(values == reference, 0.0, math.inf)
        else:
            ratios = _float_ratios(arrays, values, reference, dtype, scale)
        wrong = ratios > 1.0
        worst = max(worst, float(ratios.max()))
        count = int(arrays.count_nonzero(wrong))
        if count and first is None:
            at = int(wrong.argmax())
            first = start + at, float(values[at]), float(reference[at])
        wrong_elements += count
    if first is None:
        return Comparison(passed=True, error_ratio=worst, wrong_elements=0, total_elements=total)
    return Comparison(
        passed=False,
        error_ratio=worst,
        wrong_elements=wrong_elements,
        total_elements=total,
        index=tuple(int(part) for part in np.unravel_index(first[0], expected.shape)),
        got=first[1],
        expected=first[2],
    )


def scale_of(expected: Array, dtype: DType, tolerance: Tolerance, sizes: Mapping[str, int]) -> Scale:
    """The scale of a reference, flat and in float64; infinities, and what the element type cannot hold, are left out."""
    arrays = module_of(expected)
    blocks = [expected[start : start + BLOCK_ELEMENTS] for start in range(0, expected.size, BLOCK_ELEMENTS)]
    largest = max((float(_magnitude(arrays, block, dtype).max()) for block in blocks), default=0.0)
    rms = 0.0
    if largest > 0.0:
        # Scaled before it is squared: the squares of large float64 values overflow.
        squares = [float(((_magnitude(arrays, block, dtype) / largest) ** 2).sum()) for block in blocks]
        rms = largest * math.sqrt(math.fsum(squares) / expected.size)
    length = max(1.0, float(evaluate(tolerance.reduction, sizes)))
    relative = 0.0 if tolerance.exact else tolerance.factor * EPSILON[dtype] * math.sqrt(length)
    return Scale(rms=rms, relative=relative)


def _magnitude(arrays: ArrayModule, block: Array, dtype: DType) -> Array:
    magnitude = arrays.abs(block)
    ordinary: Array = arrays.where(magnitude <= _beyond(dtype), magnitude, 0.0)
    return ordinary


def _beyond(dtype: DType) -> float:
    """Above it the right answer, in the element type, is an infinity."""
    return LARGEST[dtype] * (1.0 + EPSILON[dtype] / 4.0) if dtype != "f64" else LARGEST[dtype]


def _float_ratios(arrays: ArrayModule, got: Array, reference: Array, dtype: DType, scale: Scale) -> NDArray[Any]:
    with np.errstate(invalid="ignore", over="ignore"):
        magnitude = arrays.abs(reference)
        overflows = (magnitude > _beyond(dtype)) & arrays.isfinite(reference)
        target = arrays.where(overflows, arrays.copysign(math.inf, reference), reference)
        same = (got == target) | (arrays.isnan(got) & arrays.isnan(target))
        if scale.relative == 0.0:
            exact: NDArray[Any] = arrays.where(same, 0.0, math.inf)
            return exact
        allowed = arrays.maximum(scale.relative * arrays.maximum(magnitude, scale.rms), SMALLEST_NORMAL[dtype])
        ratios = arrays.abs(got - target) / allowed
        ordinary = arrays.isfinite(target) & arrays.isfinite(got)
        judged: NDArray[Any] = arrays.where(same, 0.0, arrays.where(ordinary, ratios, math.inf))
        return judged


def _refused(total: int, reason: str) -> Comparison:
    return Comparison(passed=False, error_ratio=math.inf, wrong_elements=total, total_elements=total, reason=reason)
