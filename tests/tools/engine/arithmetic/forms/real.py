"""f32, f64, f16 and bf16 arithmetic."""

from collections.abc import Iterator

from tests.tools.engine.arithmetic.form import Form, form

ROUNDINGS = (".rn", ".rz", ".rm", ".rp")
FLAGS = ("", ".ftz", ".sat", ".ftz.sat")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")


def single() -> Iterator[Form]:
    """f32."""
    for flags in FLAGS:
        for rounding in ("", *ROUNDINGS):
            for name in ("add", "sub", "mul"):
                yield form(f"{name}{rounding}{flags}.f32", "f32 f32", "f32")
        for rounding in ROUNDINGS:
            for name in ("fma", "mad"):
                yield form(f"{name}{rounding}{flags}.f32", "f32 f32 f32", "f32")
    for ftz in ("", ".ftz"):
        for rounding in ROUNDINGS:
            yield form(f"div{rounding}{ftz}.f32", "f32 f32", "f32")
            yield form(f"rcp{rounding}{ftz}.f32", "f32", "f32")
            yield form(f"sqrt{rounding}{ftz}.f32", "f32", "f32")
        for name in ("min", "max"):
            for nan in ("", ".NaN"):
                for sign in ("", ".xorsign.abs"):
                    yield form(f"{name}{ftz}{nan}{sign}.f32", "f32 f32", "f32")
        yield form(f"neg{ftz}.f32", "f32", "f32")
        yield form(f"abs{ftz}.f32", "f32", "f32")
    yield form("copysign.f32", "f32 f32", "f32")


def double() -> Iterator[Form]:
    """f64."""
    for rounding in ("", *ROUNDINGS):
        for name in ("add", "sub", "mul"):
            yield form(f"{name}{rounding}.f64", "f64 f64", "f64")
    for rounding in ROUNDINGS:
        yield form(f"fma{rounding}.f64", "f64 f64 f64", "f64")
        yield form(f"mad{rounding}.f64", "f64 f64 f64", "f64")
        yield form(f"div{rounding}.f64", "f64 f64", "f64")
        yield form(f"rcp{rounding}.f64", "f64", "f64")
        yield form(f"sqrt{rounding}.f64", "f64", "f64")
    for name in ("min", "max", "copysign"):
        yield form(f"{name}.f64", "f64 f64", "f64")
    yield form("neg.f64", "f64", "f64")
    yield form("abs.f64", "f64", "f64")


def half() -> Iterator[Form]:
    """f16, bf16 and pairs of them."""
    for t in HALVES:
        brain = t.startswith("b")
        for rounding in ("", ".rn"):
            for name in ("add", "sub", "mul"):
                for flags in ("",) if brain else FLAGS:
                    yield form(f"{name}{rounding}{flags}.{t}", f"{t} {t}", t)
        for flags in ("", ".relu") if brain else (*FLAGS, ".relu", ".ftz.relu"):
            yield form(f"fma.rn{flags}.{t}", f"{t} {t} {t}", t)
        for ftz in ("",) if brain else ("", ".ftz"):
            for name in ("min", "max"):
                for nan in ("", ".NaN"):
                    for sign in ("", ".xorsign.abs"):
                        yield form(f"{name}{ftz}{nan}{sign}.{t}", f"{t} {t}", t)
            yield form(f"neg{ftz}.{t}", t, t)
            yield form(f"abs{ftz}.{t}", t, t)


def tiny() -> Iterator[Form]:
    """Flushing of results around the smallest normal."""
    for rounding in ROUNDINGS:
        for flags in (".ftz", ".ftz.sat"):
            yield named(f"mul{rounding}{flags}.f32", "f32tiny f32tiny", "f32")
            yield named(f"fma{rounding}{flags}.f32", "f32tiny f32tiny f32least", "f32")
            yield named(f"mul{rounding}{flags}.f32", "f32least f32", "f32")
        yield named(f"div{rounding}.ftz.f32", "f32least f32least", "f32")
        yield named(f"add{rounding}.ftz.f32", "f32least f32least", "f32")
        yield named(f"rcp{rounding}.ftz.f32", "f32least", "f32")
        yield named(f"cvt{rounding}.ftz.f32.f64", "f64tiny", "f32")
    for flags in (".ftz", ".ftz.sat"):
        yield named(f"mul.rn{flags}.f16", "f16tiny f16tiny", "f16")
        yield named(f"mul.rn{flags}.f16", "f16least f16", "f16")
        yield named(f"fma.rn{flags}.f16", "f16tiny f16tiny f16least", "f16")
    for name in ("cvt.rna.tf32.f32", "cvt.rna.satfinite.tf32.f32", "cvt.rn.tf32.f32"):
        yield named(name, "f32nan", "f32")


def named(opcode: str, inputs: str, output: str) -> Form:
    """A form that is there with other inputs, too."""
    plain = form(opcode, inputs, output)
    return Form(f"{opcode} of {inputs}", plain.body, plain.inputs, plain.output)


def real_forms() -> Iterator[Form]:
    """All that have one right result."""
    yield from single()
    yield from double()
    yield from half()
    yield from tiny()


def approximate_forms() -> Iterator[Form]:
    """What a GPU computes approximately."""
    for ftz in ("", ".ftz"):
        yield form(f"div.approx{ftz}.f32", "f32 f32", "f32")
        yield form(f"div.full{ftz}.f32", "f32 f32", "f32")
        for name in ("rcp", "sqrt", "rsqrt", "ex2", "lg2"):
            yield form(f"{name}.approx{ftz}.f32", "f32", "f32")
        for name in ("sin", "cos"):
            yield form(f"{name}.approx{ftz}.f32", "angle", "f32")
    yield form("tanh.approx.f32", "f32", "f32")
    yield form("rcp.approx.ftz.f64", "f64x", "f64")
    yield form("rsqrt.approx.ftz.f64", "f64x", "f64")
    yield form("rsqrt.approx.f64", "f64x", "f64")
    for t in HALVES:
        yield form(f"tanh.approx.{t}", t, t)
        yield form(f"ex2.approx{'.ftz' if t.startswith('b') else ''}.{t}", t, t)
