"""Element types of buffers: their NumPy and C names, and conversion to and from float64.

NumPy has no bfloat16: such arrays hold its 16 bits as `uint16`.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cudanalyst.kernels.problem import DType

Array = NDArray[Any]
"""An array of any element type."""

NUMPY: Final[dict[DType, np.dtype[Any]]] = {
    "f16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "i8": np.dtype("<i1"),
    "u8": np.dtype("<u1"),
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "i64": np.dtype("<i8"),
    "u64": np.dtype("<u8"),
}
"""How a buffer's bytes are laid out: little-endian, as on the device."""
EPSILON: Final[dict[DType, float]] = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
"""Distance from 1 to the next larger value."""
SMALLEST_NORMAL: Final[dict[DType, float]] = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
LARGEST: Final[dict[DType, float]] = {
    "f16": 65504.0,
    "bf16": float.fromhex("0x1.fep127"),
    "f32": float(np.finfo(np.float32).max),
    "f64": float(np.finfo(np.float64).max),
}
_BF16_QUIET_NAN: Final = 0x7FC0


def is_float(dtype: DType) -> bool:
    """Whether elements are floating point numbers."""
    return dtype in EPSILON


def to_reference(array: Array, dtype: DType) -> Array:
    """Widens a buffer for the reference: floats to float64 (exactly), integers as they are."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if is_float(dtype) else array


def from_reference(values: Array, dtype: DType) -> Array:
    """Rounds values to a buffer's element type (to nearest even; beyond the largest becomes infinite)."""
    if dtype != "bf16":
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(NUMPY[dtype])
    with np.errstate(over="ignore"):
        single = values.astype(np.float64).astype(np.float32)
    bits = single.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(single)] = _BF16_QUIET_NAN
    return rounded
