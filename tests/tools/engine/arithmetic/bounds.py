"""How far results of approximate instructions and functions may lie apart: the engine from an H200, and each from the exact value.

A distance is in units of the last place of the result's format. Where a GPU's error is absolute (sine, cosine, logarithms near one) a difference below
`absolute` is good, too. NaNs count as equal, infinities and zeros only with themselves.
"""

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.generic]
Wide = npt.NDArray[np.longdouble]


@dataclass(frozen=True)
class Bound:
    """What is allowed."""

    apart: float
    """Units of the last place between the engine and the GPU."""
    absolute: float = 0.0
    exact: float | None = None
    """Units between either and the exact value; None where no exact value is computed here."""


SINE = 2.0**-21.4
LOGARITHM = 2.0**-21.5
BOUNDS = {
    # Instructions.
    "div.approx": Bound(2), "div.full": Bound(2, exact=2), "rcp.approx": Bound(1, exact=1.5), "sqrt.approx": Bound(1, exact=1.5),
    "rsqrt.approx": Bound(1, exact=1.5), "ex2.approx": Bound(2, exact=2.5), "lg2.approx": Bound(2, LOGARITHM, exact=3), "tanh.approx.f32": Bound(130, exact=140),
    "tanh.approx": Bound(1, exact=1.5), "sin.approx": Bound(1, SINE), "cos.approx": Bound(1, SINE), "rcp.approx.ftz.f64": Bound(2.0**32), "rsqrt.approx.ftz.f64": Bound(2.0**32),
    # Fast functions.
    "__cosf": Bound(1, SINE), "__sinf": Bound(1, SINE), "__tanf": Bound(math.inf), "__exp10f": Bound(3), "__expf": Bound(3), "__log10f": Bound(3, LOGARITHM),
    "__log2f": Bound(3, LOGARITHM), "__logf": Bound(3, LOGARITHM), "__tanhf": Bound(130, exact=140), "__fdividef": Bound(2), "__powf": Bound(math.inf),
    # The math library: what it makes of these instructions.
    "acosf": Bound(1, exact=2), "asinf": Bound(1, exact=2), "asinhf": Bound(1, exact=3), "atanf": Bound(1, exact=2), "atanhf": Bound(2, exact=3), "cbrtf": Bound(1, exact=1.5),
    "coshf": Bound(2, exact=3), "cyl_bessel_i0f": Bound(3), "cyl_bessel_i1f": Bound(3), "erfcf": Bound(2, exact=4), "erfcinvf": Bound(2), "erfcxf": Bound(3), "erff": Bound(1, exact=2),
    "erfinvf": Bound(2), "exp10f": Bound(1, exact=2), "exp2f": Bound(2, exact=2.5), "expf": Bound(1, exact=2), "j0f": Bound(3), "j1f": Bound(3), "lgammaf": Bound(2),
    "normcdff": Bound(3), "normcdfinvf": Bound(3), "rcbrtf": Bound(1), "rsqrtf": Bound(1, exact=2), "sinhf": Bound(2, exact=3), "tanf": Bound(1, exact=4), "tanhf": Bound(1, exact=2),
    "tgammaf": Bound(2), "y0f": Bound(3), "y1f": Bound(3), "rhypotf": Bound(1), "rnorm3df": Bound(1), "rnorm4df": Bound(1), "jnf 0": Bound(3), "ynf 0": Bound(3), "jnf 2": Bound(6),
    "ynf 2": Bound(6), "jnf 3": Bound(40), "ynf 3": Bound(6), "asinh": Bound(1, exact=3), "cosh": Bound(1, exact=1.5), "erfcinv": Bound(4), "j0": Bound(3), "j1": Bound(3),
    "normcdfinv": Bound(4), "rsqrt": Bound(1, exact=1.5), "y0": Bound(3), "y1": Bound(3), "hypot": Bound(2, exact=2), "rhypot": Bound(1), "norm3d": Bound(1), "rnorm3d": Bound(1),
    "norm4d": Bound(1), "rnorm4d": Bound(1), "jn 0": Bound(3), "yn 0": Bound(3), "jn 2": Bound(4), "yn 2": Bound(4), "jn 3": Bound(30), "yn 3": Bound(4),
    "htanh_approx": Bound(1, exact=1.5), "h2tanh_approx": Bound(1),
}  # fmt: skip
"""By name, or by its beginning up to a dot or a blank; the longest one counts. What is in no line is equal bit for bit."""

EXACT = Bound(0)


def bound_of(name: str) -> Bound:
    """The line of a form or function."""
    for end in range(len(name), 0, -1):
        if (end == len(name) or name[end] in ". ") and name[:end] in BOUNDS:
            return BOUNDS[name[:end]]
    return EXACT


def halves(row: Row, kind: str) -> tuple[Row, str]:
    """A packed row as a row of its elements."""
    if kind in {"f16x2", "bf16x2"}:
        return np.concatenate([row & np.uint32(0xFFFF), row >> np.uint32(16)]).astype(np.uint16), kind[:-2]
    return row, kind


def values(row: Row, kind: str) -> Wide:
    """The numbers that words stand for."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        if kind == "bf16":
            return (row.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.longdouble)
        return row.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]).astype(np.longdouble)


def flushed(column: Wide) -> Wide:
    """Without subnormal values, as `.ftz` takes f32."""
    return np.where(np.abs(column) < 2.0**-126, 0, column)


def rank(row: Row) -> Wide:
    """Numbers of a format in their order, one apart each."""
    sign = np.longdouble(2) ** (8 * row.dtype.itemsize - 1)
    wide = row.astype(np.longdouble)
    return np.where(wide >= sign, sign - wide - 1, wide)


def far_apart(ours: Row, theirs: Row, kind: str, bound: Bound) -> npt.NDArray[np.bool_]:
    """Where two rows of one format differ by more than the bound allows."""
    if kind not in {"f16", "bf16", "f16x2", "bf16x2", "f32", "f64"}:
        return np.asarray(ours != theirs, dtype=np.bool_)
    (ours, plain), (theirs, _) = halves(ours, kind), halves(theirs, kind)
    mine, other = values(ours, plain), values(theirs, plain)
    with np.errstate(invalid="ignore"):
        near = (np.abs(rank(ours) - rank(theirs)) <= bound.apart) & (np.isfinite(mine) == np.isfinite(other))
        near |= np.abs(mine - other) <= bound.absolute
        near |= math.isinf(bound.apart)
    return np.asarray(~(near | (ours == theirs) | (np.isnan(mine) & np.isnan(other))), dtype=np.bool_)


_PRECISION = {"f16": (10, -14), "bf16": (7, -126), "f32": (23, -126), "f64": (52, -1022)}


def errors(row: Row, kind: str, exact: Wide, absolute: float) -> Wide:
    """Distances from the exact values, where these are finite and normal and the result is finite, in units of the last place."""
    digits, least = _PRECISION[kind]
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(exact))), least)
        unit = np.exp2((exponent - digits).astype(np.longdouble))
        difference = np.abs(values(row, kind) - exact)
        error = np.where(difference <= absolute, 0, difference / unit)
    return np.where(
        np.isfinite(exact) & np.isfinite(values(row, kind)) & (np.abs(exact) >= np.exp2(np.longdouble(least))), error, 0
    )


def _libm(name: str) -> Callable[[Wide], Wide]:
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    return lambda x: np.array([function(float(v)) for v in x], dtype=np.longdouble)


def _references() -> dict[str, Callable[..., Wide]]:
    one = np.longdouble(1)
    found: dict[str, Callable[..., Wide]] = {
        "div": lambda a, b: a / b, "rcp": lambda a: one / a, "sqrt": np.sqrt, "rsqrt": lambda a: one / np.sqrt(a), "ex2": np.exp2, "lg2": np.log2, "tanh": np.tanh,
        "acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt, "cosh": np.cosh, "exp2": np.exp2, "exp": np.exp,
        "sinh": np.sinh, "tan": np.tan, "hypot": np.hypot, "exp10": lambda a: np.power(np.longdouble(10), a), "erf": _libm("erf"), "erfc": _libm("erfc"),
    }  # fmt: skip
    return found


REFERENCES = _references()


def exact_values(name: str, columns: list[Wide]) -> Wide:
    """What the function of this name gives, in more digits than a double has for all but the error function."""
    plain = name.split(".", maxsplit=1)[0].split(" ", maxsplit=1)[0].removesuffix("_approx").removeprefix("__")
    for word in (plain, plain.removesuffix("f"), plain.removeprefix("h"), plain.removesuffix("f").removeprefix("h")):
        if word in REFERENCES:
            with np.errstate(all="ignore"):
                return REFERENCES[word](*columns)
    raise KeyError(name)
