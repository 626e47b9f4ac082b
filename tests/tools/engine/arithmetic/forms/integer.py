"""Integer arithmetic, logic, shifts, bit fields, permutes, moves, video."""

from collections.abc import Iterator

from tests.tools.engine.arithmetic.form import Form, form, sequence

KIND = {"16": "u16", "32": "u32", "64": "u64"}
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")


def kind(ptx_type: str) -> str:
    """The kind of the values of a PTX type."""
    return KIND[ptx_type[1:]]


def _wide(t: str) -> str:
    return {"16": "u32", "32": "u64"}[t[1:]]


def arithmetic() -> Iterator[Form]:
    """Sums, products, quotients."""
    for t in INTEGERS:
        k = kind(t)
        for name in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield form(f"{name}.{t}", f"{k} {k}", k)
        for name in ("mad.lo", "mad.hi", "sad"):
            yield form(f"{name}.{t}", f"{k} {k} {k}", k)
        if t[1:] != "64":
            yield form(f"mul.wide.{t}", f"{k} {k}", _wide(t))
            yield form(f"mad.wide.{t}", f"{k} {k} {_wide(t)}", _wide(t))
        if t[0] == "s":
            yield form(f"neg.{t}", k, k)
            yield form(f"abs.{t}", k, k)
    for name in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        yield form(name, "u32 u32", "u32")
    yield form("mad.hi.sat.s32", "u32 u32 u32", "u32")
    for t in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield form(f"mul24.{half}.{t}", "u32 u32", "u32")
            yield form(f"mad24.{half}.{t}", "u32 u32 u32", "u32")
    yield form("mad24.hi.sat.s32", "u32 u32 u32", "u32")
    for name in (
        "add.u16x2",
        "add.s16x2",
        "min.u16x2",
        "min.s16x2",
        "max.u16x2",
        "max.s16x2",
        "min.relu.s16x2",
        "max.relu.s16x2",
    ):
        yield form(name, "u32 u32", "u32")
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            yield form(f"dp4a.{a}.{b}", "u32 u32 u32", "u32")
            yield form(f"dp2a.lo.{a}.{b}", "u32 u32 u32", "u32")
            yield form(f"dp2a.hi.{a}.{b}", "u32 u32 u32", "u32")


def carries() -> Iterator[Form]:
    """Chains through the carry flag; the second instruction shows what the first left in it."""
    for t in ("u32", "s32", "u64", "s64"):
        k = kind(t)
        for first, name in (("add", "addc"), ("sub", "subc")):
            show = f"{name}.{t} {{d}}, {{c}}, 0;"
            yield sequence(f"{first}.cc.{t}", f"{first}.cc.{t} {{d}}, {{a}}, {{b}}; {show}", f"{k} {k} {k}", k)
            yield sequence(f"{first}.cc.{t} value", f"{first}.cc.{t} {{d}}, {{a}}, {{b}};", f"{k} {k}", k)
            yield sequence(
                f"{name}.cc.{t}",
                f"{first}.cc.{t} {{d}}, {{a}}, {{b}}; {name}.cc.{t} {{d}}, {{b}}, {{c}}; {show}",
                f"{k} {k} {k}",
                k,
            )
            yield sequence(
                f"{name}.cc.{t} value",
                f"{first}.cc.{t} {{d}}, {{a}}, {{b}}; {name}.cc.{t} {{d}}, {{b}}, {{c}};",
                f"{k} {k} {k}",
                k,
            )
        for first, name in (("sub", "addc"), ("add", "subc")):
            text = f"{first}.cc.{t} {{d}}, {{a}}, {{b}}; {name}.{t} {{d}}, {{c}}, 0;"
            yield sequence(f"{name}.{t} after {first}.cc", text, f"{k} {k} {k}", k)
        for half in ("lo", "hi"):
            yield sequence(
                f"mad.{half}.cc.{t}",
                f"mad.{half}.cc.{t} {{d}}, {{a}}, {{b}}, {{c}}; addc.{t} {{d}}, {{a}}, 0;",
                f"{k} {k} {k}",
                k,
            )
            yield sequence(
                f"mad.{half}.cc.{t} value", f"mad.{half}.cc.{t} {{d}}, {{a}}, {{b}}, {{c}};", f"{k} {k} {k}", k
            )
            yield sequence(
                f"madc.{half}.{t}",
                f"add.cc.{t} {{d}}, {{a}}, {{c}}; madc.{half}.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                f"{k} {k} {k}",
                k,
            )
            yield sequence(
                f"madc.{half}.cc.{t}",
                f"add.cc.{t} {{d}}, {{a}}, {{c}}; madc.{half}.cc.{t} {{d}}, {{a}}, {{b}}, {{c}}; addc.{t} {{d}}, {{d}}, {{c}};",
                f"{k} {k} {k}",
                k,
            )


def logic() -> Iterator[Form]:
    """Logic and shifts."""
    for t in ("b16", "b32", "b64"):
        k = kind(t)
        for name in ("and", "or", "xor"):
            yield form(f"{name}.{t}", f"{k} {k}", k)
        yield form(f"not.{t}", k, k)
        yield form(f"cnot.{t}", k, k)
        yield form(f"shl.{t}", f"{k} u32", k)
        for sign in "bus":
            yield form(f"shr.{sign}{t[1:]}", f"{k} u32", k)
    for name in ("and", "or", "xor"):
        make = "setp.lt.u32 p, {a}, {b}; setp.gt.s32 q, {a}, {b};"
        yield sequence(f"{name}.pred", f"{make} {name}.pred r, p, q; selp.u32 {{d}}, 1, 0, r;", "u32 u32", "u32")
    yield sequence("not.pred", "setp.lt.u32 p, {a}, {b}; not.pred q, p; selp.u32 {d}, 1, 0, q;", "u32 u32", "u32")
    for side in ("l", "r"):
        for mode in ("wrap", "clamp"):
            yield form(f"shf.{side}.{mode}.b32", "u32 u32 u32", "u32")
    for table in (0x00, 0x01, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0xFF):
        yield sequence(f"lop3.b32 {table:#x}", f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "u32 u32 u32", "u32")
    for combine in ("and", "or"):
        yield sequence(
            f"lop3.{combine}.b32",
            f"setp.lt.s32 q, {{a}}, {{c}}; lop3.{combine}.b32 t|p, {{a}}, {{b}}, {{c}}, 0x96, q; selp.u32 t1, 0x80000000, 0, p; xor.b32 {{d}}, t, t1;",
            "u32 u32 u32",
            "u32",
        )


def bits() -> Iterator[Form]:
    """Counts, fields, permutes."""
    for t in ("b32", "b64"):
        yield form(f"popc.{t}", kind(t), "u32")
        yield form(f"clz.{t}", kind(t), "u32")
        yield form(f"brev.{t}", kind(t), kind(t))
        yield form(f"bfi.{t}", f"{kind(t)} {kind(t)} u32 u32", kind(t))
    for t in ("u32", "s32", "u64", "s64"):
        yield form(f"bfind.{t}", kind(t), "u32")
        yield form(f"bfind.shiftamt.{t}", kind(t), "u32")
        yield form(f"bfe.{t}", f"{kind(t)} u32 u32", kind(t))
    yield sequence(
        "bfe.u32 small", "and.b32 t, {b}, 31; and.b32 t1, {c}, 31; bfe.u32 {d}, {a}, t, t1;", "u32 u32 u32", "u32"
    )
    yield sequence(
        "bfe.s32 small", "and.b32 t, {b}, 31; and.b32 t1, {c}, 31; bfe.s32 {d}, {a}, t, t1;", "u32 u32 u32", "u32"
    )
    yield sequence(
        "bfi.b32 small",
        "and.b32 t, {c}, 31; and.b32 t1, {e}, 31; bfi.b32 {d}, {a}, {b}, t, t1;",
        "u32 u32 u32 u32",
        "u32",
    )
    for mode in ("wrap", "clamp"):
        yield form(f"szext.{mode}.u32", "u32 u32", "u32")
        yield form(f"szext.{mode}.s32", "u32 u32", "u32")
        yield form(f"bmsk.{mode}.b32", "u32 u32", "u32")
    yield sequence(
        "fns.b32",
        "and.b32 t, {b}, 31; and.b32 t1, {c}, 15; sub.s32 t1, t1, 7; fns.b32 {d}, {a}, t, t1;",
        "u32 u32 u32",
        "u32",
    )
    yield form("prmt.b32", "u32 u32 u32", "u32")
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield form(f"prmt.b32.{mode}", "u32 u32 u32", "u32")


def moves() -> Iterator[Form]:
    """Packing and unpacking."""
    yield sequence("mov.b32 pack", "mov.b32 {d}, {{ {a}, {b} }};", "u16 u16", "u32")
    yield sequence("mov.b32 unpack", "mov.b32 {{ h, h1 }}, {a}; mov.b32 {d}, {{ h1, h }};", "u32", "u32")
    yield sequence("mov.b32 unpack sink", "mov.b32 {{ _, {d} }}, {a};", "u32", "u16")
    yield sequence("mov.b64 pack", "mov.b64 {d}, {{ {a}, {b} }};", "u32 u32", "u64")
    yield sequence("mov.b64 unpack", "mov.b64 {{ t, t1 }}, {a}; mov.b64 {d}, {{ t1, t }};", "u64", "u64")
    yield sequence("mov.b64 of four", "mov.b64 {d}, {{ {a}, {b}, {b}, {a} }};", "u16 u16", "u64")
    yield sequence(
        "mov.b64 to four",
        ".reg .b16 x, y, z, w; mov.b64 {{ x, y, z, w }}, {a}; mov.b64 {d}, {{ w, z, y, x }};",
        "u64",
        "u64",
    )
    yield sequence(
        "mov.b32 of bytes",
        ".reg .b8 x, y; cvt.u8.u32 x, {a}; cvt.u8.u32 y, {b}; mov.b32 {d}, {{ x, y, x, y }};",
        "u32 u32",
        "u32",
    )
    yield sequence(
        "mov.b16 of bytes",
        ".reg .b8 x, y; cvt.u8.u32 x, {a}; cvt.u8.u32 y, {b}; mov.b16 {d}, {{ x, y }};",
        "u32 u32",
        "u16",
    )
    yield sequence("mov.b16 to bytes", ".reg .b8 x, y; mov.b16 {{ x, y }}, {a}; mov.b16 {d}, {{ y, x }};", "u16", "u16")
    yield sequence(
        "mov.b128",
        ".reg .b128 x, y; mov.b128 x, {{ {a}, {b} }}; mov.b128 y, x; mov.b128 {{ u, u1 }}, y; sub.u64 {d}, u, u1;",
        "u64 u64",
        "u64",
    )
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        yield form(f"mov.{t}", kind(t), kind(t))


def integer_forms() -> Iterator[Form]:
    """All of them."""
    yield from arithmetic()
    yield from carries()
    yield from logic()
    yield from bits()
    yield from moves()
