"""Random kernels that are well defined: one text that nvcc and a host compiler both take."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

TYPES = {"u": "u32", "s": "int", "l": "u64", "f": "float", "d": "double"}
VARIABLES = {"u": 4, "s": 3, "l": 2, "f": 3, "d": 2}
LOCAL = 8

UNSIGNED = [
    "({u} + {u})", "({u} - {u})", "({u} * {u})", "({u} / ({u} | 1u))", "({u} % ({u} | 1u))", "({u} & {u})", "({u} | {u})", "({u} ^ {u})", "(~{u})",
    "({u} << ({u} & 31))", "({u} >> ({u} & 31))", "(u32){s}", "(u32){l}", "(u32)({l} >> 32)", "({p} ? {u} : {u})", "(u32)__popc({u})", "(u32)__clz((int){u})",
    "__brev({u})", "(u32)__ffs((int){u})", "__byte_perm({u}, {u}, {u} & 0x7777u)", "__funnelshift_l({u}, {u}, {u})", "__funnelshift_r({u}, {u}, {u})",
    "__umulhi({u}, {u})", "whole({f})", "bits({f})", "(u32)(unsigned char){u}", "(u32)(unsigned short){u}", "min({u}, {u})", "max({u}, {u})",
    "(({u} >> 5) & 0xffu)", "(u32){p}", "local[{u} & 7]", "(u32)__popcll({l})", "(u32)__clzll((long long){l})", "in[({u} & 255u)]", "helper_u({u}, {s}, depth)",
    "(({u} & 0xffu) << 8 | ({u} & 0xffu))", "({u} * 5u + {u})",
]  # fmt: skip
SIGNED = [
    "plus({s}, {s})", "minus({s}, {s})", "times({s}, {s})", "quotient({s}, {s})", "rest({s}, {s})", "(int){u}", "(int){l}", "({s} >> ({u} & 31))", "({s} & {s})",
    "({s} | {s})", "({p} ? {s} : {s})", "(int)(signed char){u}", "(int)(short){u}", "min({s}, {s})", "max({s}, {s})", "__mulhi({s}, {s})", "signed_whole({f})",
    "signed_whole({d})", "(int){p}", "(~{s})", "minus(0, {s})", "quotient({s}, 8)", "rest({s}, 16)", "((int)({u} << 7) >> 20)",
]  # fmt: skip
LONG = [
    "({l} + {l})", "({l} - {l})", "({l} * {l})", "({l} / ({l} | 1ull))", "({l} % ({l} | 1ull))", "({l} & {l})", "({l} | {l})", "({l} ^ {l})", "(~{l})",
    "({l} << ({u} & 63))", "({l} >> ({u} & 63))", "(u64){u}", "(u64)(long long){s}", "((u64){u} * {u})", "(u64)((long long){s} * {s})", "({p} ? {l} : {l})",
    "whole({d})", "bits({d})", "__umul64hi({l}, {l})", "(u64)((long long){l} >> ({u} & 63))", "((u64){u} << 32 | {u})", "((u64){u} * {u} + {l})",
]  # fmt: skip
FLOAT = [
    "({f} + {f})", "({f} - {f})", "({f} * {f})", "({f} / {f})", "fmaf({f}, {f}, {f})", "sqrtf(fabsf({f}))", "(float){s}", "(float){u}", "(float){d}", "(float){l}",
    "fabsf({f})", "(- {f})", "lower_of({f}, {f})", "upper_of({f}, {f})", "({p} ? {f} : {f})", "floorf({f} + zero_f)", "ceilf({f} + zero_f)", "truncf({f} + zero_f)", "rintf({f} + zero_f)",
    "real({u})", "helper_f({f}, {u})", "((float)({u} & 0xffffu) * 0.25f)", "({f} * {f} + {f})",
]  # fmt: skip
DOUBLE = [
    "({d} + {d})", "({d} - {d})", "({d} * {d})", "({d} / {d})", "fma({d}, {d}, {d})", "sqrt(fabs({d}))", "(double){s}", "(double){u}", "(double){f}", "(double){l}",
    "fabs({d})", "(- {d})", "lower_of({d}, {d})", "upper_of({d}, {d})", "({p} ? {d} : {d})", "floor({d} + zero_d)", "ceil({d} + zero_d)", "trunc({d} + zero_d)", "rint({d} + zero_d)", "real({l})",
    "({d} * {d} + {d})",
]  # fmt: skip
PREDICATE = [
    "({u} < {u})", "({u} == {u})", "({u} >= {u})", "({s} < {s})", "({s} <= {s})", "({s} != {s})", "({l} > {l})", "({f} < {f})", "({f} >= {f})", "({f} == {f})",
    "({f} != {f})", "({d} < {d})", "({d} <= {d})", "(({u} & 3u) == 1u)", "({p} && {p})", "({p} || {p})", "(!{p})", "({p} != {p})", "(!({f} < {f}))", "(!({d} > {d}))",
]  # fmt: skip
RULES = {"u": UNSIGNED, "s": SIGNED, "l": LONG, "f": FLOAT, "d": DOUBLE, "p": PREDICATE}
LITERALS: dict[str, Callable[[random.Random], str]] = {
    "u": lambda r: f"{r.choice([0, 1, 2, 7, 31, 255, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, r.getrandbits(32)])}u",
    "s": lambda r: f"({r.choice([0, 1, -1, 5, -8, 127, -128, 32767, 2147483647, r.getrandbits(31)])})",
    "l": lambda r: f"{r.choice([0, 1, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, (1 << 64) - 1, r.getrandbits(64)])}ull",
    "f": lambda r: r.choice(
        [
            "0.0f",
            "1.0f",
            "-1.5f",
            "0.1f",
            "1e10f",
            "1e-30f",
            "3.0f",
            "-0.0f",
            "16777216.0f",
            "1e-42f",
            "3e38f",
            f"{r.uniform(-99, 99):.6f}f",
        ]
    ),
    "d": lambda r: r.choice(
        [
            "0.0",
            "1.0",
            "-2.5",
            "0.1",
            "1e100",
            "1e-300",
            "3.0",
            "4503599627370496.5",
            "5e-320",
            f"{r.uniform(-99, 99):.9f}",
        ]
    ),
    "p": lambda r: f"({r.choice('us')}0 {r.choice(['<', '>', '==', '!='])} {r.choice('12')})",
}


@dataclass
class Maker:
    """Writes one kernel."""

    random: random.Random
    size: int
    lines: list[str] = field(default_factory=list)
    loops: int = 0

    def expression(self, kind: str, depth: int) -> str:
        """Of a kind: u, s, l, f, d, or p for a condition."""
        r = self.random
        if depth <= 0 or r.random() < 0.15:
            if kind == "p" or r.random() < 0.25:
                return LITERALS[kind](r)
            return f"{kind}{r.randrange(VARIABLES[kind])}"
        rule = r.choice(RULES[kind])
        parts = []
        while "{" in rule:
            before, _, rule = rule.partition("{")
            parts += [before, self.expression(rule[0], depth - 1 - (r.random() < 0.3))]
            rule = rule[2:]
        return "".join(parts) + rule

    def assignment(self, depth: int = 3) -> str:
        """To a variable or an element of the local array."""
        r = self.random
        if r.random() < 0.12:
            return f"local[{self.expression('u', 1)} & 7] = {self.expression('u', depth)};"
        kind = r.choice("uusslffd")
        return f"{kind}{r.randrange(VARIABLES[kind])} = {self.expression(kind, depth)};"

    def diverging(self, indent: str, depth: int) -> None:
        """A statement that threads of a warp may take in different ways: nothing in it waits for others."""
        r = self.random
        choice = r.random()
        if depth <= 0 or choice < 0.5:
            self.lines.append(indent + self.assignment())
            return
        inner = indent + "  "
        if choice < 0.68:
            self.lines.append(f"{indent}if ({self.expression('p', 2)}) {{")
            self.some(inner, depth - 1)
            if r.random() < 0.6:
                self.lines.append(f"{indent}}} else {{")
                self.some(inner, depth - 1)
            self.lines.append(f"{indent}}}")
        elif choice < 0.85:
            self.loops += 1
            i = f"i{self.loops}"
            self.lines.append(
                f"{indent}for (u32 {i} = 0; {i} < ({self.expression('u', 1)} & {r.choice([3, 7])}u); ++{i}) {{"
            )
            self.lines.append(f"{inner}u0 += {i};")
            self.some(inner, depth - 1)
            if r.random() < 0.5:
                self.lines.append(f"{inner}if ({self.expression('p', 1)}) {r.choice(['break', 'continue'])};")
                self.some(inner, 0)
            self.lines.append(f"{indent}}}")
        else:
            self.lines.append(f"{indent}switch ({self.expression('u', 1)} & 7u) {{")
            for case in r.sample(range(8), r.randrange(2, 7)):
                self.lines.append(f"{indent}  case {case}:")
                self.some(inner + "  ", depth - 2)
                if r.random() < 0.8:
                    self.lines.append(f"{inner}  break;")
            self.lines.append(f"{indent}  default: {self.assignment(2)}")
            self.lines.append(f"{indent}}}")

    def some(self, indent: str, depth: int) -> None:
        """A few of them."""
        for _ in range(self.random.randrange(1, 4)):
            self.diverging(indent, depth)

    def together(self, indent: str) -> None:
        """What all threads of the block do together."""
        r = self.random
        value = self.expression("u", 1)
        target = f"u{r.randrange(4)}"
        by = r.choice([1, 2, 5, 8, 16])
        lane = self.expression("u", 1)
        choices = [
            f"__syncthreads(); shared[t] = {value}; __syncthreads(); {target} ^= shared[(t + {r.randrange(1, 95)}u) % BLOCK];",
            f"__syncthreads(); shared[t] = {value}; __syncthreads(); {target} += shared[BLOCK - 1 - t] + shared[({lane}) % BLOCK];",
            (
                f"__syncthreads(); if (t < 8) counts[t] = 0; __syncthreads(); atomicAdd(&counts[({value}) & 7], {self.expression('u', 1)}); "
                f"__syncthreads(); {target} += counts[t & 7];"
            ),
            (
                f"__syncthreads(); if (t < 8) counts[t] = t; __syncthreads(); {r.choice(['atomicXor', 'atomicMax'])}(&counts[({value}) & 7], {self.expression('u', 1)}); "
                f"__syncthreads(); {target} ^= counts[(t + 3) & 7];"
            ),
            f"{target} = __shfl_sync(ALL, {value}, (int)({lane}) & 31);",
            f"{target} += __shfl_xor_sync(ALL, {value}, {by});",
            f"{target} = __shfl_up_sync(ALL, {value}, {by}u);",
            f"{target} ^= __shfl_down_sync(ALL, {value}, {by}u);",
            f"f0 = __shfl_xor_sync(ALL, {self.expression('f', 1)}, {by});",
            f"l0 = __shfl_down_sync(ALL, {self.expression('l', 1)}, {by}u);",
            f"d1 = __shfl_sync(ALL, {self.expression('d', 1)}, (int){by});",
            f"{target} = __ballot_sync(ALL, {self.expression('p', 2)});",
            f"{target} += __reduce_add_sync(ALL, {value});",
            f"s0 = __syncthreads_count({self.expression('p', 1)});",
        ]  # fmt: skip
        self.lines.append(indent + r.choice(choices))

    def kernel(self, name: str) -> str:
        """The whole text."""
        r = self.random
        for _ in range(self.size):
            choice = r.random()
            if choice < 0.3:
                self.together("  ")
            elif choice < 0.4:
                self.loops += 1
                i = f"i{self.loops}"
                self.lines.append(f"  for (u32 {i} = 0; {i} < {r.randrange(2, 5)}u; ++{i}) {{")
                self.lines.append(f"    u1 += {i};")
                self.together("    ")
                self.some("    ", 1)
                self.lines.append("  }")
            else:
                self.diverging("  ", 3)
        declare = "\n".join(
            f"  {TYPES[k]} " + ", ".join(f"{k}{n} = {_start(k, n)}" for n in range(count)) + ";"
            for k, count in VARIABLES.items()
        )
        result = "\n".join(_mix(k, n) for k, count in VARIABLES.items() for n in range(count))
        body = "\n".join(self.lines)
        return f"""{_helpers(self)}
__global__ void {name}(const u32* in, u32* out) {{
  __shared__ u32 shared[BLOCK], counts[8];
  const u32 t = threadIdx.x, g = blockIdx.x * BLOCK + t, depth = t & 3;
  const float zero_f = (float)in[256];  // so that nvcc rounds no constants: of those over 2^63 it makes 2^63
  const double zero_d = (double)in[256];
  u32 local[{LOCAL}];
  for (u32 k = 0; k < {LOCAL}; ++k) local[k] = in[(g + k) & 255];
{declare}
{body}
  u32 h = 17;
{result}
  for (u32 k = 0; k < {LOCAL}; ++k) h = mixed(h, local[k]);
  out[g] = h;
}}
"""


def _start(kind: str, n: int) -> str:
    word = f"in[(g * 7 + {ord(kind) + 3 * n}) & 255]"
    return {
        "u": word,
        "s": f"(int){word}",
        "l": f"((u64){word} << {n * 17} | t)",
        "f": f"real({word})" if n else f"(float){word}",
        "d": f"real((u64){word} << 32 | {word})" if n else f"(double)(int){word}",
    }[kind]


def _mix(kind: str, n: int) -> str:
    v = f"{kind}{n}"
    if kind in "us":
        return f"  h = mixed(h, (u32){v});"
    if kind == "f":
        return f"  h = mixed(h, bits({v}));"
    wide = v if kind == "l" else f"bits({v})"
    return f"  h = mixed(mixed(h, (u32)({wide})), (u32)({wide} >> 32));"


def _helpers(maker: Maker) -> str:
    """Functions that are called: one recurses, neither is inlined."""
    saved, maker.lines = maker.lines, []
    u, f = (
        maker.random.choice(["a * 3u + (u32)b", "a ^ (u32)b >> 3", "(a << 1) - (u32)b"]),
        maker.random.choice(["a * 0.5f + (float)b", "a - (float)(b & 7u)"]),
    )
    maker.lines = saved
    return (
        f"__device__ __noinline__ u32 helper_u(u32 a, int b, u32 n) {{ if (n == 0 || (a & 1u)) return {u}; return helper_u(a >> 1, b + (int)n, n - 1) + a; }}\n"
        f"__device__ __noinline__ float helper_f(float a, u32 b) {{ return b & 1u ? {f} : - a; }}"
    )


def kernel_text(seed: int, size: int, name: str) -> str:
    """A kernel in a namespace of its own, with what it calls."""
    maker = Maker(random.Random(seed), size)
    return f"namespace n_{name} {{\n{maker.kernel(name)}}}\n"
