"""Video instructions."""

from collections.abc import Iterator

from tests.tools.engine.arithmetic.form import Form, form, sequence

VIDEO = ("u32", "s32")


def sums() -> Iterator[Form]:
    """Video instructions on words, with byte and half selectors, saturation and a second operation."""
    for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for to in VIDEO:
            for a in VIDEO:
                for b in VIDEO:
                    for sat in ("", ".sat") if to == "s32" or name in {"vmin", "vmax"} else ("",):
                        yield form(f"{name}.{to}.{a}.{b}{sat}", "u32 u32", "u32")
    for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for sel_a, sel_b in (("b0", "b3"), ("h1", "b1"), ("h0", "h1")):
            yield sequence(
                f"{name}.s32.s32.u32.sat {sel_a} {sel_b}",
                f"{name}.s32.s32.u32.sat {{d}}, {{a}}.{sel_a}, {{b}}.{sel_b};",
                "u32 u32",
                "u32",
            )
        for second in ("add",) if name == "vabsdiff" else ("add", "min", "max"):
            yield form(f"{name}.s32.s32.s32.{second}", "u32 u32 u32", "u32")
        if name != "vsub":
            yield sequence(
                f"{name} merge", f"{name}.u32.u32.u32.sat {{d}}.b2, {{a}}.b1, {{b}}.h1, {{c}};", "u32 u32 u32", "u32"
            )


def shifts_and_products() -> Iterator[Form]:
    """Of words."""
    for name in ("vshl", "vshr"):
        for to in VIDEO:
            for mode in ("clamp", "wrap"):
                yield form(f"{name}.{to}.{to}.u32.{mode}", "u32 u32", "u32")
    for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield form(f"vset.u32.s32.{compare}", "u32 u32", "u32")
    for t in VIDEO:
        yield form(f"vmad.{t}.{t}.{t}", "u32 u32 u32", "u32")
    for flags in (".sat", ".shr7", ".shr15", ".sat.shr7"):
        yield form(f"vmad.s32.s32.s32{flags}", "u32 u32 u32", "u32")


def packed() -> Iterator[Form]:
    """Of two halves or four bytes at a time."""
    for width in ("2", "4"):
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            for t in VIDEO:
                yield form(f"{name}{width}.{t}.{t}.{t}", "u32 u32 u32", "u32")
                yield form(f"{name}{width}.{t}.{t}.{t}.add", "u32 u32 u32", "u32")
                if name != "vavrg":
                    yield form(f"{name}{width}.{t}.{t}.{t}.sat", "u32 u32 u32", "u32")
        for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
            for t in VIDEO:
                yield form(f"vset{width}.{t}.{t}.{compare}", "u32 u32 u32", "u32")
                yield form(f"vset{width}.{t}.{t}.{compare}.add", "u32 u32 u32", "u32")


def video() -> Iterator[Form]:
    """All of them."""
    yield from sums()
    yield from shifts_and_products()
    yield from packed()
