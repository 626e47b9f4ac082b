"""Inputs of every kind of value: the edges in all combinations, then many more that are drawn. The same on every machine."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.tools.engine.arithmetic.form import WIDTHS

Words = npt.NDArray[np.uint64]

EDGES = 576
"""Inputs whose results are kept as they are."""
DRAWN = 7616
"""Inputs of whose results a digest is kept."""
TOTAL = EDGES + DRAWN

CORE_F32 = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
    0x7FC00000, 0x7F800001, 0xFFC12345, 0x3F000000, 0x3FC00000, 0xC0200000, 0x3F7FFFFF, 0x3F800001, 0x40490FDB, 0xCB800001, 0x0D800000, 0x72000003,
]  # fmt: skip
CORE_F64 = [
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000,
    0x8010000000000001, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001,
    0xFFF8123456789ABC, 0x3FE0000000000000, 0x3FF8000000000000, 0xC004000000000000, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x400921FB54442D18,
    0xC340000000000001, 0x2000000000000000, 0x6010000000000003,
]  # fmt: skip
CORE_F16 = [
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x8401, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE55, 0x3800, 0x3E00, 0xC100,
    0x3BFF, 0x3C01, 0x4248, 0xE401, 0x1400, 0x6403,
]  # fmt: skip
CORE_BF16 = [
    0x0000, 0x8000, 0x3F80, 0xBF80, 0x0001, 0x807F, 0x0080, 0x8081, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFD5, 0x3F00, 0x3FC0, 0xC020,
    0x3F7F, 0x3F81, 0x4049, 0xC381, 0x2F80, 0x7203,
]  # fmt: skip
CORE_U16 = [
    0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 127, 128, 255, 256, 0x5555, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xABCD, 0xFF80, 0xFFFE, 0xFFFF,
]  # fmt: skip
CORE_U32 = [
    0, 1, 2, 5, 8, 15, 16, 31, 32, 33, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x12345678, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF8000, 0xFFFFFFFF,
]  # fmt: skip
CORE_U64 = [
    0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x123456789ABCDEF0, 0x7FFFFFFFFFFFFFFF,
    0x8000000000000000, 0x8000000000000001, 0xFFFFFFFF00000000, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF,
]  # fmt: skip


def bits32(value: float) -> int:
    """The pattern of the nearest float."""
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def bits64(value: float) -> int:
    """The pattern of a double."""
    return int(np.float64(value).view(np.uint64))


def _reals() -> list[float]:
    """Values at which conversions change their mind."""
    reals = [k + 0.5 for k in range(-4, 5)] + [0.49999997, 1e30, -1e30, 1e-30, 0.1, -0.3, 123456.789, 1e300, 1e-300]
    for power in (7, 8, 15, 16, 31, 32, 63, 64):
        reals += [sign * (2.0**power + by) for sign in (1, -1) for by in (-1, -0.5, 0, 0.5, 1)]
    reals += [65504.0, 65519.0, 65520.0, 65535.0, 2.0**-14, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 2.0**-15 + 2.0**-25]
    reals += [
        1 + 2.0**-11,
        1 + 3 * 2.0**-11,
        1 + 2.0**-8,
        1 + 3 * 2.0**-8,
        1 + 2.0**-9,
        448.0,
        464.0,
        480.0,
        57344.0,
        61440.0,
    ]
    reals += [
        2.0**-6,
        2.0**-9,
        2.0**-10,
        1.5 * 2.0**-9,
        2.0**-16,
        2.0**-17,
        1.5 * 2.0**-16,
        1.0625,
        1.1875,
        1.125,
        1.375,
    ]
    reals += [
        1 + 2.0**-24,
        1 + 3 * 2.0**-24,
        2.0**-149,
        2.0**-150,
        1.5 * 2.0**-149,
        2.0**-126,
        2.0**128 - 2.0**103,
        2.0**128 - 2.0**102,
    ]
    reals += [0.5 * np.pi * k for k in (1, 2, 3, 4, 100, 1e5, -7)] + [
        -126.5,
        -127.0,
        -149.0,
        -150.5,
        127.9,
        128.0,
        88.7,
        -103.9,
    ]
    return reals


def _beside(center: int, by: list[int], sign: int) -> list[int]:
    return [top | center + step for top in (0, sign) for step in by]


_LEAST = [0, 1, 2, -1]
SPECIAL = {
    # Products of two lie around the smallest normal.
    "f32tiny": _beside(0x20000000, [0, 1, 2, 3, -1, -2, -3, -4, 0x400000, 0x800000, 0x1000, -0x800], 1 << 31),
    "f16tiny": _beside(0x2000, [0, 1, 2, 3, -1, -2, -3, -4, 0x200, 0x400, 0x10, -0x20], 1 << 15),
    "f64tiny": _beside(
        0x3810000000000000,
        [
            0,
            1,
            -1,
            1 << 28,
            -(1 << 27),
            -(1 << 28),
            -(1 << 28) - 1,
            -(1 << 28) + 1,
            -(1 << 29),
            -(1 << 29) - 1,
            -(3 << 27),
            -2,
        ],
        1 << 63,
    ),
    # The smallest normal, its neighbours, and factors close to one.
    "f32least": _beside(
        0x00800000, [*_LEAST, 0x800000, 0x7FFFFF, 0x400000, 0x1000000, 0x3F000000, 0x3F000001, 0x3EFFFFFF, 5], 1 << 31
    ),
    "f16least": _beside(0x0400, [*_LEAST, 0x400, 0x3FF, 0x200, 0x800, 0x3800, 0x3801, 0x37FF, 5], 1 << 15),
    # NaNs, infinity, and what is next to it.
    "f32nan": _beside(
        0x7F800000,
        [1, 0x1000, 0x1FFF, 0x7FFFFF, 0x7FF000, 0x7FEFFF, 0x400000, 0x3FFFFF, 0x12345, 0, -1, 0x401000],
        1 << 31,
    ),
    "f16nan": _beside(
        0x7C00, [0x3FF, 0x200, 1, 0, 0x3FE, 0x1FF, -1, -0x4000, 0x100, -0x4001, -0x7C00, -0x7BFF], 1 << 15
    ),
}
"""Kinds for single questions."""


@functools.cache
def edges(kind: str) -> list[int]:
    """The values of a kind that are worth trying alone; the first 24 are tried in all combinations."""
    if kind in {"f32", "angle"}:
        near = [bits32(sign * x) for x in _reals() for sign in (1, -1)]
        return list(
            dict.fromkeys(CORE_F32 + near + [b + by for b in near for by in (1, -1) if 0 < b & 0x7FFFFFFF < 0x7F7FFFFF])
        )
    if kind in {"f64", "f64x"}:
        near = [bits64(sign * x) for x in _reals() for sign in (1, -1)]
        ulp32 = [
            b + by for b in near for by in (1, -1, 1 << 29, -(1 << 29)) if 0 < b & (2**63 - 1) < 0x7FE0000000000000
        ]
        return list(dict.fromkeys(CORE_F64 + near + [b for b in ulp32 if 0 < b < 2**64]))
    if kind in {"f16", "f16x2"}:
        return CORE_F16
    if kind in {"bf16", "bf16x2"}:
        return CORE_BF16
    if kind in SPECIAL:
        return SPECIAL[kind]
    if kind in {"u16", "f8x2"}:
        return (
            CORE_U16
            + [1 << k for k in range(16)]
            + [(1 << k) - 1 for k in range(16)]
            + [0xFFFF ^ (1 << k) for k in range(16)]
        )
    if kind in {"u32", "f8x4"}:
        extra = (
            [1 << k for k in range(32)] + [(1 << k) - 1 for k in range(32)] + [0xFFFFFFFF ^ (1 << k) for k in range(32)]
        )
        ties = [(1 << k) + (1 << j) for k in range(24, 32) for j in (0, k - 24, k - 25, 1) if 0 <= j < k]
        return list(dict.fromkeys(CORE_U32 + extra + ties + [t + by for t in ties for by in (1, -1)]))
    extra = (
        [1 << k for k in range(64)] + [(1 << k) - 1 for k in range(64)] + [(2**64 - 1) ^ (1 << k) for k in range(64)]
    )
    ties = [
        (1 << k) + (1 << j)
        for k in (24, 25, 40, 52, 53, 54, 62, 63)
        for j in (0, k - 24, k - 25, k - 53, k - 54, 1)
        if 0 <= j < k
    ]
    return list(dict.fromkeys(CORE_U64 + extra + ties + [t + by for t in ties for by in (1, -1)]))


def draw(seed: int, count: int) -> Words:
    """Uniform words: splitmix64 of a counter."""
    with np.errstate(over="ignore"):
        x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            seed * 0xD1B54A32D192ED03 % 2**64
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _moderate(kind: str, words: Words) -> Words:
    """Floats of any sign and significand with exponents near zero; integers of any length."""
    one = np.uint64
    significand, exponent = {
        "f32": (23, 127), "angle": (23, 127), "f64": (52, 1023), "f64x": (52, 1023), "f16": (10, 15), "bf16": (7, 127), "f16x2": (10, 15), "bf16x2": (7, 127),
    }.get(kind, (0, 0))  # fmt: skip
    if not exponent:
        return words >> (draw(99, words.size) % one(8 * WIDTHS[kind]))
    spread = draw(98, words.size) % one(9)
    low = words & one((1 << significand) - 1)
    sign = words >> one(63)
    width = 16 if kind in {"f16", "bf16", "f16x2", "bf16x2"} else 64 if kind in {"f64", "f64x"} else 32
    return sign << one(width - 1) | (spread + one(exponent - 4)) << one(significand) | low


def _of_width(kind: str, words: Words) -> npt.NDArray[np.generic]:
    if kind in {"f16x2", "bf16x2"}:
        other = np.concatenate([np.roll(words[:EDGES], 7), np.roll(words[EDGES:], 3)])
        words = words & np.uint64(0xFFFF) | other << np.uint64(16)
    return words.astype({2: np.uint16, 4: np.uint32, 8: np.uint64}[WIDTHS[kind]])


@functools.cache
def inputs(kinds: tuple[str, ...]) -> tuple[npt.NDArray[np.generic], ...]:
    """TOTAL values for each input of a form with these kinds of inputs."""
    columns = [_column(kinds, k) for k in range(len(kinds))]
    if kinds in {
        ("f64",) * 2,
        ("f64",) * 3,
    }:  # of two NaNs either may survive: it depends on the order in which ptxas puts the sources
        taken = np.zeros(TOTAL, dtype=bool)
        for k, column in enumerate(columns):
            columns[k] = np.where(taken & np.isnan(column.view(np.float64)), np.uint64(0x3FF8000000000000), column)
            taken |= np.isnan(columns[k].view(np.float64))
    real = {("f32",) * 3: np.float32, ("f64",) * 3: np.float64, ("f16",) * 3: np.float16}.get(kinds)
    if real is not None:  # a third of the sums nearly cancel the product
        with np.errstate(all="ignore"):
            product = -(columns[0].view(real) * columns[1].view(real))
        cancel = np.arange(TOTAL) % 3 == 0
        cancel[:EDGES] = False
        columns[2] = np.where(cancel, product.view(columns[2].dtype), columns[2])
    return tuple(columns)


def _edge_column(kinds: Sequence[str], at: int) -> Words:
    values = np.array(edges(kinds[at]), dtype=np.uint64)
    if len(kinds) == 1:
        return np.concatenate([values, draw(5, EDGES)])[:EDGES]
    if len(kinds) == 2:
        index = np.arange(EDGES)
        return values[:24][index // 24 if at == 0 else index % 24]
    picked = draw(11 + at, EDGES)
    return values[:24][(picked % np.uint64(24)).astype(np.int64)]


def _column(kinds: tuple[str, ...], at: int) -> npt.NDArray[np.generic]:
    kind = kinds[at]
    values = np.array(edges(kind), dtype=np.uint64)
    words = draw(101 + 7 * at, DRAWN)
    near = values[(draw(201 + at, DRAWN) % np.uint64(values.size)).astype(np.int64)]
    nudge = draw(301 + at, DRAWN) % np.uint64(4)
    with np.errstate(over="ignore"):
        beside = near + nudge
    moderate = _moderate(kind, words)
    choice = draw(401, DRAWN) % np.uint64(4)
    drawn = np.select([choice == 0, choice == 1, choice == 2], [words, moderate, beside], moderate if at % 2 else near)
    return _of_width(kind, np.concatenate([_edge_column(kinds, at), drawn]))
