"""Forms of mma.sync, the PTX that runs them, and inputs that tell how a tensor core sums."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BITS = {
    "f64": 64,
    "f32": 32,
    "s32": 32,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
ROUNDS = 96
"""Products of matrices per form: a third of each kind of input."""


@dataclass(frozen=True)
class Form:
    """One form: what is written between `mma.sync.aligned.` and the operands."""

    text: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str

    def registers(self, which: str) -> int:
        """Registers of a lane for the operand, of 64 bits for f64, else of 32."""
        kind = getattr(self, which)
        elements = {"a": self.m * self.k, "b": self.k * self.n, "c": self.m * self.n, "d": self.m * self.n}[which]
        if self.m == 8 and self.k == 4 and self.a == "f16":
            elements *= 4  # four products, of eight lanes each
        return elements * BITS[kind] // 32 // (64 if kind == "f64" else 32)


def form(shape: str, types: str, layout: str = "row.col", before: str = "", after: str = "") -> Form:
    """`shape` is m16n8k16, `types` d.a.b.c."""
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    d, a, b, c = types.split(".")
    return Form(f"{shape}.{layout}{before}.{types}{after}", int(m), int(n), int(k), d, a, b, c)


def floats() -> Iterable[Form]:
    """Of floating-point elements."""
    for shape in ("m16n8k8", "m16n8k16"):
        yield form(shape, "f32.f16.f16.f32")
        yield form(shape, "f16.f16.f16.f16")
        yield form(shape, "f32.bf16.bf16.f32")
    yield form("m16n8k4", "f32.tf32.tf32.f32")
    yield form("m16n8k8", "f32.tf32.tf32.f32")
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        yield form(shape, "f64.f64.f64.f64")
    for shape, a, b in itertools.product(("m16n8k16", "m16n8k32"), ("e4m3", "e5m2"), ("e4m3", "e5m2")):
        yield form(shape, f"f32.{a}.{b}.f32")
        yield form(shape, f"f16.{a}.{b}.f16")
    for layout in ("row.col", "row.row", "col.row", "col.col"):
        for types in ("f32.f16.f16.f32", "f16.f16.f16.f16", "f32.f16.f16.f16"):
            yield form("m8n8k4", types, layout)


def integers() -> Iterable[Form]:
    """Of integers."""
    bytes_and_nibbles = (
        (("s8", "u8"), ("m8n8k16", "m16n8k16", "m16n8k32")),
        (("s4", "u4"), ("m8n8k32", "m16n8k32", "m16n8k64")),
    )
    for signs, shapes in bytes_and_nibbles:
        for shape, a, b in itertools.product(shapes, signs, signs):
            yield form(shape, f"s32.{a}.{b}.s32")
            yield form(shape, f"s32.{a}.{b}.s32", before=".satfinite")
    for shape, operation in itertools.product(("m8n8k128", "m16n8k128", "m16n8k256"), ("xor", "and")):
        yield form(shape, "s32.b1.b1.s32", after=f".{operation}.popc")


def forms() -> Iterable[Form]:
    """All that sm_90 has, but those with sparse operands."""
    yield from floats()
    yield from integers()


def module(numbered: Iterable[Form], target: str = "sm_90") -> str:
    """PTX with a kernel `kN` for each form: every block of a warp multiplies once, from its part of three arrays to its part of a fourth."""
    lines = [f".version 9.0\n.target {target}\n.address_size 64"]
    for number, one in enumerate(numbered):
        lines.append(f".visible .entry k{number}(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc) {{")
        lines.append(".reg .b32 %t, %w; .reg .b64 %at;")
        lines.append("mov.u32 %t, %ctaid.x; shl.b32 %t, %t, 5; mov.u32 %w, %tid.x; add.u32 %t, %t, %w;")
        operands = {}
        for which in "dabc":
            count, bits = one.registers(which), 64 if getattr(one, which) == "f64" else 32
            lines.append(f".reg .b{bits} %{which}<{count}>;")
            if bits == 64:
                lines[-1] = f".reg .f64 %{which}<{count}>;"
            elif getattr(one, which) == "f32":
                lines[-1] = f".reg .f32 %{which}<{count}>;"
            operands[which] = "{" + ", ".join(f"%{which}{k}" for k in range(count)) + "}"
            if which != "d":
                kind = {"f64": "f64", "f32": "f32"}.get(getattr(one, which), "b32")
                lines.append(f"ld.param.u64 %at, [p{which}]; mad.wide.u32 %at, %t, {count * bits // 8}, %at;")
                lines.extend(f"ld.global.{kind} %{which}{k}, [%at+{k * bits // 8}];" for k in range(count))
        lines.append(f"mma.sync.aligned.{one.text} {operands['d']}, {operands['a']}, {operands['b']}, {operands['c']};")
        count, bits = one.registers("d"), 64 if one.d == "f64" else 32
        kind = {"f64": "f64", "f32": "f32"}.get(one.d, "b32")
        lines.append(f"ld.param.u64 %at, [pd]; mad.wide.u32 %at, %t, {count * bits // 8}, %at;")
        lines.extend(f"st.global.{kind} [%at+{k * bits // 8}], %d{k};" for k in range(count))
        lines.append("ret; }")
    return "\n".join(lines) + "\n"


MANTISSA = {
    "f64": (11, 52),
    "f32": (8, 23),
    "tf32": (8, 23),
    "f16": (5, 10),
    "bf16": (8, 7),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}


def values(kind: str, count: int, spread: int, random: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Bit patterns: whole numbers of any bits; numbers around one whose exponents differ by up to `spread`; with spread 0 anything, specials too."""
    width = BITS[kind]
    whole = random.integers(0, 2**63, count, dtype=np.uint64) * np.uint64(2) + random.integers(
        0, 2, count, dtype=np.uint64
    )
    if kind not in MANTISSA or spread == 0:
        keep = np.uint64(2**width - 1)
        bits = whole & keep
        if kind in MANTISSA:  # a tenth is special, half is near one
            near = values(kind, count, 6, random)
            bits = np.where(random.integers(0, 20, count) == 0, bits, near)
        return bits
    exponents, fraction = MANTISSA[kind]
    bias = 2 ** (exponents - 1) - 1
    low, high = max(bias - spread, 1), min(bias + spread, 2**exponents - 2)
    exponent = random.integers(low, high + 1, count, dtype=np.uint64)
    sign = random.integers(0, 2, count, dtype=np.uint64)
    result = sign << np.uint64(width - 1) | exponent << np.uint64(fraction) | (whole & np.uint64(2**fraction - 1))
    return np.where(random.integers(0, 24, count) == 0, sign << np.uint64(width - 1), result)


def operand(one: Form, which: str, seed: int) -> npt.NDArray[np.uint32]:
    """The words of an operand for all rounds: exponents close together, far apart, and anything."""
    kind = getattr(one, which)
    random = np.random.default_rng([seed, "abc".index(which)])
    words = one.registers(which) * 32 * (2 if kind == "f64" else 1)
    each = max(32 // BITS[kind], 1)
    spreads = (3, 14, 0)
    parts = []
    for spread in spreads:
        count = words * each * ROUNDS // 3 // (2 if kind == "f64" else 1)
        bits = values(kind, count, spread, random)
        if kind == "f64":
            parts.append(bits.view(np.uint32))
            continue
        packed = np.zeros(count // each, dtype=np.uint64)
        for k in range(each):
            packed |= bits[k::each] << np.uint64(k * BITS[kind])
        parts.append(packed.astype(np.uint32))
    return np.concatenate(parts)
