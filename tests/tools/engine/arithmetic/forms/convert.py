"""cvt in every combination."""

from collections.abc import Iterator

from tests.tools.engine.arithmetic.form import Form, form, sequence

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
REALS = ("f16", "bf16", "f32", "f64")
KIND = {"8": "u16", "16": "u16", "32": "u32", "64": "u64"}
ROUNDINGS = (".rn", ".rz", ".rm", ".rp")
INTEGRAL = (".rni", ".rzi", ".rmi", ".rpi")


def _kind(t: str) -> str:
    return t if t in REALS else KIND[t[1:]]


RANK = {"f16": 1, "bf16": 1, "f32": 2, "f64": 3}


def _range(t: str) -> tuple[int, int]:
    bits = int(t[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)


def _can_saturate(to: str, of: str) -> bool:
    return _range(of)[0] < _range(to)[0] or _range(of)[1] > _range(to)[1]


def _assembles(to: str, of: str, rounding: str, *, ftz: bool, sat: bool) -> bool:
    """Which conversions between floats ptxas takes."""
    if rounding in INTEGRAL:
        right = to == of
    elif to == of:
        right = not rounding and to != "bf16"
    elif of == "bf16":
        right = (to == "f16" and bool(rounding)) or to != "f16"
    else:
        right = bool(rounding) == (RANK[to] <= RANK[of])
    if ftz:
        right = right and "f32" in {to, of} and (to != "bf16" or of == "f32")
    return right and not (sat and "bf16" in {to, of})


def integers() -> Iterator[Form]:
    """Between integers; registers may be wider than the types."""
    for to in INTEGERS:
        for of in INTEGERS:
            for sat in ("", ".sat") if _can_saturate(to, of) else ("",):
                yield form(f"cvt{sat}.{to}.{of}", _kind(of), _kind(to))
                if of in {"u8", "s8", "u16", "s16"} or to in {"u8", "s8", "u16", "s16"}:
                    yield Form(
                        f"cvt{sat}.{to}.{of} in 32 bits",
                        f"cvt{sat}.{to}.{of} {{d}}, {{a}};",
                        ("u32" if _kind(of) != "u64" else "u64",),
                        "u32" if _kind(to) != "u64" else "u64",
                    )
                yield Form(f"cvt{sat}.{to}.{of} in 64 bits", f"cvt{sat}.{to}.{of} {{d}}, {{a}};", ("u64",), "u64")


def to_integers() -> Iterator[Form]:
    """From floats."""
    for to in INTEGERS:
        for of in REALS:
            if of == "bf16" and to in {"u8", "s8"}:
                continue
            for rounding in INTEGRAL:
                for flags in {"f32": ("", ".ftz", ".sat", ".ftz.sat"), "bf16": ("",)}.get(of, ("", ".sat")):
                    yield form(f"cvt{rounding}{flags}.{to}.{of}", of, _kind(to))
    for to in ("u8", "s8", "u16", "s16"):
        yield Form(f"cvt.rzi.{to}.f32 in 32 bits", f"cvt.rzi.{to}.f32 {{d}}, {{a}};", ("f32",), "u32")


def from_integers() -> Iterator[Form]:
    """To floats."""
    for to in REALS:
        for of in INTEGERS:
            if to == "bf16" and of in {"u8", "s8"}:
                continue
            for rounding in ROUNDINGS:
                for sat in ("",) if to == "bf16" else ("", ".sat"):
                    yield form(f"cvt{rounding}{sat}.{to}.{of}", _kind(of), to)


def between_reals() -> Iterator[Form]:
    """Between floats, and to integral values."""
    for to in REALS:
        for of in REALS:
            for rounding in ("", *ROUNDINGS, *INTEGRAL):
                for flags in ("", ".ftz", ".sat", ".ftz.sat"):
                    if _assembles(to, of, rounding, ftz=".ftz" in flags, sat=".sat" in flags):
                        yield form(f"cvt{rounding}{flags}.{to}.{of}", of, to)
    for rounding in (".rn", ".rz"):
        for flags in ("", ".relu", ".satfinite", ".relu.satfinite"):
            for to in ("f16", "bf16"):
                yield form(f"cvt{rounding}{flags}.{to}.f32", "f32", to)
                yield form(f"cvt{rounding}{flags}.{to}x2.f32", "f32 f32", f"{to}x2")
        for flags in ("", ".relu"):
            yield form(f"cvt{rounding}{flags}.tf32.f32", "f32", "f32")
    yield form("cvt.rna.tf32.f32", "f32", "f32")
    yield form("cvt.rna.satfinite.tf32.f32", "f32", "f32")


def quarters() -> Iterator[Form]:
    """e4m3 and e5m2."""
    for t in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            yield form(f"cvt.rn.satfinite{relu}.{t}.f32", "f32 f32", "u16")
            yield form(f"cvt.rn.satfinite{relu}.{t}.f16x2", "f16x2", "u16")
            yield form(f"cvt.rn{relu}.f16x2.{t}", "f8x2", "f16x2")


def packs() -> Iterator[Form]:
    """cvt.pack."""
    for to in ("u16", "s16"):
        yield form(f"cvt.pack.sat.{to}.s32", "u32 u32", "u32")
    for to in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield form(f"cvt.pack.sat.{to}.s32.b32", "u32 u32 u32", "u32")


def convert_forms() -> Iterator[Form]:
    """All of them."""
    yield from integers()
    yield from to_integers()
    yield from from_integers()
    yield from between_reals()
    yield from quarters()
    yield from packs()
    yield sequence("cvt.f32.f16 high half", "mov.b32 {{ h, h1 }}, {a}; cvt.f32.f16 {d}, h1;", "f16x2", "f32")
