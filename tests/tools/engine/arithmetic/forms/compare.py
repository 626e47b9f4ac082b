"""set, setp, selp, slct, testp."""

from collections.abc import Iterator

from tests.tools.engine.arithmetic.form import Form, form, sequence

EQUAL = ("eq", "ne")
SIGNED = (*EQUAL, "lt", "le", "gt", "ge")
UNSIGNED = (*SIGNED, "lo", "ls", "hi", "hs")
REAL = (*SIGNED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

TYPES = {
    "b16": (EQUAL, "u16"), "b32": (EQUAL, "u32"), "b64": (EQUAL, "u64"),
    "u16": (UNSIGNED, "u16"), "u32": (UNSIGNED, "u32"), "u64": (UNSIGNED, "u64"),
    "s16": (SIGNED, "u16"), "s32": (SIGNED, "u32"), "s64": (SIGNED, "u64"),
    "f32": (REAL, "f32"), "f64": (REAL, "f64"), "f16": (REAL, "f16"), "bf16": (REAL, "bf16"), "f16x2": (REAL, "f16x2"), "bf16x2": (REAL, "bf16x2"),
}  # fmt: skip
BOTH = "selp.u32 t, 1, 0, p; selp.u32 t1, 2, 0, q; or.b32 {d}, t, t1;"


def _flush(t: str) -> tuple[str, ...]:
    return ("", ".ftz") if t in {"f32", "f16", "f16x2"} else ("",)


def predicates() -> Iterator[Form]:
    """setp."""
    for t, (names, k) in TYPES.items():
        for ftz in _flush(t):
            single = t in {"f16", "bf16"}
            for name in () if single else names:
                yield sequence(
                    f"setp.{name}{ftz}.{t}", f"setp.{name}{ftz}.{t} p|q, {{a}}, {{b}}; {BOTH}", f"{k} {k}", "u32"
                )
            for name in names if single else () if t.endswith("x2") else names[-1:]:
                yield sequence(
                    f"setp.{name}{ftz}.{t} alone",
                    f"setp.{name}{ftz}.{t} p, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, p;",
                    f"{k} {k}",
                    "u32",
                )
            for name in dict.fromkeys((names[0], names[1], names[-1])):
                for combine in ("and", "or", "xor"):
                    for no in ("", "!"):
                        make = "and.b32 t, {c}, 1; setp.ne.u32 r, t, 0;"
                        both, show = ("p", "selp.u32 {d}, 1, 0, p;") if single else ("p|q", BOTH)
                        yield sequence(
                            f"setp.{name}.{combine}{ftz}.{t} {no}c",
                            f"{make} setp.{name}.{combine}{ftz}.{t} {both}, {{a}}, {{b}}, {no}r; {show}",
                            f"{k} {k} u32",
                            "u32",
                        )


def sets() -> Iterator[Form]:
    """set."""
    make = "and.b32 t, {c}, 1; setp.ne.u32 r, t, 0;"
    for t, (names, k) in TYPES.items():
        for ftz in _flush(t):
            targets: list[tuple[str, str]]
            if t in {"f16x2", "bf16x2"}:
                targets = [(t, "u32"), ("u32", "u32"), ("s32", "u32")]
            elif t == "f16":
                targets = [("f16", "u16"), ("u16", "u16"), ("s16", "u16"), ("u32", "u32"), ("s32", "u32")]
            elif t == "bf16":
                targets = [("bf16", "u16"), ("u16", "u16"), ("s16", "u16"), ("u32", "u32"), ("s32", "u32")]
            else:
                targets = [("u32", "u32"), ("s32", "u32"), ("f32", "u32"), ("f16", "u16"), ("bf16", "u16")][
                    : 4 if ftz else 5
                ]
            for to, output in targets:
                chosen = names if to == targets[0][0] else dict.fromkeys((names[0], names[1], names[-1]))
                for name in chosen:
                    yield form(f"set.{name}{ftz}.{to}.{t}", f"{k} {k}", output)
                for combine in ("and", "or", "xor"):
                    yield sequence(
                        f"set.{names[0]}.{combine}{ftz}.{to}.{t}",
                        f"{make} set.{names[0]}.{combine}{ftz}.{to}.{t} {{d}}, {{a}}, {{b}}, r;",
                        f"{k} {k} u32",
                        output,
                    )
                yield sequence(
                    f"set.{names[1]}.and{ftz}.{to}.{t} !c",
                    f"{make} set.{names[1]}.and{ftz}.{to}.{t} {{d}}, {{a}}, {{b}}, !r;",
                    f"{k} {k} u32",
                    output,
                )


def choices() -> Iterator[Form]:
    """selp, slct, testp."""
    for t, (_, k) in TYPES.items():
        if (t[-1] == "2" and "x" in t) or t in {"f16", "bf16"}:
            continue
        yield sequence(f"selp.{t}", f"setp.gt.s32 p, {{c}}, 3; selp.{t} {{d}}, {{a}}, {{b}}, p;", f"{k} {k} u32", k)
        yield sequence(f"selp.{t} !p", f"setp.gt.s32 p, {{c}}, 3; selp.{t} {{d}}, {{a}}, {{b}}, !p;", f"{k} {k} u32", k)
        yield form(f"slct.{t}.s32", f"{k} {k} u32", k)
        yield form(f"slct.{t}.f32", f"{k} {k} f32", k)
        yield form(f"slct.ftz.{t}.f32", f"{k} {k} f32", k)
    for t in ("f32", "f64"):
        for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield sequence(f"testp.{name}.{t}", f"testp.{name}.{t} p, {{a}}; selp.u32 {{d}}, 1, 0, p;", t, "u32")


def compare_forms() -> Iterator[Form]:
    """All of them."""
    yield from predicates()
    yield from sets()
    yield from choices()
