"""What one form of an instruction is, and the PTX module around many of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTHS = {
    "f32": 4, "u32": 4, "f16x2": 4, "bf16x2": 4, "f8x4": 4, "angle": 4,
    "f64": 8, "u64": 8, "f64x": 8,
    "f16": 2, "bf16": 2, "u16": 2, "f8x2": 2,
    "f32tiny": 4, "f32least": 4, "f32nan": 4, "f16tiny": 2, "f16least": 2, "f16nan": 2, "f64tiny": 8,
}  # fmt: skip
"""Bytes of an element of each kind of value. A kind decides which inputs are tried; the registers have only a width."""

FORMS_PER_KERNEL = 24


@dataclass(frozen=True)
class Form:
    """One instruction, or a short sequence, from up to four inputs to one output."""

    name: str
    body: str
    """PTX with `{d}`, `{a}`, `{b}`, `{c}`, `{e}`; it may use the predicates p, q, r and the registers h, t, u (16, 32, 64 bits)."""
    inputs: tuple[str, ...]
    output: str
    """The kind of the result."""

    @property
    def width(self) -> int:
        """Bytes of a result."""
        return WIDTHS[self.output]


def form(opcode: str, inputs: str, output: str) -> Form:
    """A plain instruction: the destination and then the sources."""
    kinds = tuple(inputs.split())
    operands = ", ".join("{" + name + "}" for name in "dabce"[: 1 + len(kinds)])
    return Form(opcode, f"{opcode} {operands};", kinds, output)


def sequence(name: str, body: str, inputs: str, output: str) -> Form:
    """Statements with placeholders."""
    return Form(name, body, tuple(inputs.split()), output)


@dataclass(frozen=True)
class Kernel:
    """Forms of one signature that share the loading of their inputs; results lie one array after the other."""

    name: str
    forms: tuple[Form, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The kinds of the inputs."""
        return self.forms[0].inputs

    @property
    def width(self) -> int:
        """Bytes of one result."""
        return self.forms[0].width


def kernels(forms: Iterable[Form]) -> list[Kernel]:
    """Groups forms by what they read and write."""
    groups: dict[tuple[tuple[str, ...], int], list[Form]] = {}
    for one in forms:
        groups.setdefault((one.inputs, one.width), []).append(one)
    result: list[Kernel] = []
    for members in groups.values():
        for first in range(0, len(members), FORMS_PER_KERNEL):
            result.append(Kernel(f"k{len(result)}", tuple(members[first : first + FORMS_PER_KERNEL])))
    return result


def _text(kernel: Kernel) -> Iterable[str]:
    names = "abce"[: len(kernel.inputs)]
    out = kernel.width
    yield f".visible .entry {kernel.name}(.param .u64 po, .param .u32 pn"
    yield from (f", .param .u64 p{name}" for name in names)
    yield ") {"
    yield ".reg .pred %live; .reg .b32 %n, %i, %w, %g; .reg .b64 %at, %o, %step;"
    yield "mov.u32 %i, %tid.x; mov.u32 %w, %ntid.x; mov.u32 %g, %ctaid.x; mad.lo.u32 %i, %g, %w, %i;"
    yield "ld.param.u32 %n, [pn]; setp.ge.u32 %live, %i, %n; @%live ret;"
    yield f"ld.param.u64 %o, [po]; mul.wide.u32 %step, %n, {out}; mul.wide.u32 %at, %i, {out}; add.u64 %o, %o, %at;"
    registers = {}
    for name, kind in zip(names, kernel.inputs, strict=True):
        width = WIDTHS[kind]
        registers[name] = f"%{name}"
        yield f".reg .b{8 * width} %{name}; ld.param.u64 %at, [p{name}]; mad.wide.u32 %at, %i, {width}, %at; ld.global.b{8 * width} %{name}, [%at];"
    for one in kernel.forms:
        yield f"{{ .reg .pred p, q, r; .reg .b16 h, h1; .reg .b32 t, t1; .reg .b64 u, u1; .reg .b{8 * out} d;"
        yield one.body.format(d="d", **registers)
        yield f"st.global.b{8 * out} [%o], d; add.u64 %o, %o, %step; }}"
    yield "}"


def module(grouped: Sequence[Kernel], target: str = "sm_90") -> str:
    """PTX with all the kernels."""
    lines = [f".version 9.0\n.target {target}\n.address_size 64"]
    for kernel in grouped:
        lines.extend(_text(kernel))
    return "\n".join(lines) + "\n"
