"""CUDA's functions as forms: the math library, the intrinsics, halves and their conversions. One kernel each, made from a table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

C_TYPE = {
    "f32": "float", "angle": "float", "f64": "double", "f64x": "double", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long long", "f16": "__half",
    "bf16": "__nv_bfloat16", "f16x2": "__half2", "bf16x2": "__nv_bfloat162", "f8x2": "unsigned short",
}  # fmt: skip

HEADERS = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"


@dataclass(frozen=True)
class Function:
    """A C++ expression of `a`, `b`, `c`."""

    name: str
    expression: str
    inputs: tuple[str, ...]
    output: str

    @property
    def symbol(self) -> str:
        """The kernel's name."""
        return "f_" + "".join(c if c.isalnum() else "_" for c in self.name)

    def kernel(self) -> str:
        """Its source."""
        names = "abc"[: len(self.inputs)]
        parameters = "".join(f", const {C_TYPE[kind]}* A{name}" for name, kind in zip(names, self.inputs, strict=True))
        loads = " ".join(
            f"const {C_TYPE[kind]} {name} = A{name}[i];" for name, kind in zip(names, self.inputs, strict=True)
        )
        out = C_TYPE[self.output]
        statement = self.expression if self.expression.startswith("{") else f"r = ({self.expression});"
        return (
            f'extern "C" __global__ void {self.symbol}({out}* out, unsigned n{parameters}) {{ const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; '
            f"if (i >= n) return; {loads} {out} r; {statement} out[i] = r; }}\n"
        )


def source(functions: Iterable[Function]) -> str:
    """A file with a kernel for each."""
    return HEADERS + "".join(one.kernel() for one in functions)


def _plain(names: str, inputs: str, output: str, arguments: str = "") -> Iterator[Function]:
    kinds = tuple(inputs.split())
    given = arguments or ", ".join("abc"[: len(kinds)])
    for name in names.split():
        yield Function(name, f"{name}({given})", kinds, output)


UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "erfc",
    "erfcinv",
    "erfcx",
    "erf",
    "erfinv",
    "exp10",
    "exp2",
    "exp",
    "expm1",
    "fabs",
    "floor",
    "j0",
    "j1",
    "lgamma",
    "log10",
    "log1p",
    "log2",
    "logb",
    "log",
    "nearbyint",
    "normcdf",
    "normcdfinv",
    "rcbrt",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
]
BINARY = ["atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder", "rhypot"]


def math_functions() -> Iterator[Function]:
    """The math library, float and double."""
    for t, suffix in (("f32", "f"), ("f64", "")):
        real = C_TYPE[t]
        for name in UNARY:
            yield from _plain(f"{name}{suffix}", t, t)
        for name in BINARY:
            yield from _plain(f"{name}{suffix}", f"{t} {t}", t)
        yield from _plain(f"fma{suffix} norm3d{suffix} rnorm3d{suffix}", f"{t} {t} {t}", t)
        yield from _plain(f"norm4d{suffix} rnorm4d{suffix}", f"{t} {t} {t}", t, "a, b, c, a")
        yield from _plain(f"ilogb{suffix} lrint{suffix} lround{suffix}", t, "u32")
        yield from _plain(f"llrint{suffix} llround{suffix}", t, "u64")
        yield Function(f"isfinite {t}", "isfinite(a)", (t,), "u32")
        yield Function(f"isinf {t}", "isinf(a) != 0", (t,), "u32")
        yield Function(f"isnan {t}", "isnan(a) != 0", (t,), "u32")
        yield Function(f"signbit {t}", "signbit(a) != 0", (t,), "u32")
        yield from _plain(f"ldexp{suffix} scalbn{suffix}", f"{t} u32", t, "a, (int)b")
        yield from _plain(f"scalbln{suffix}", f"{t} u32", t, "a, (long)(int)b")
        for order in (0, 2, 3):
            yield Function(f"jn{suffix} {order}", f"jn{suffix}({order}, a)", (t,), t)
            yield Function(f"yn{suffix} {order}", f"yn{suffix}({order}, a)", (t,), t)
        yield Function(f"frexp{suffix}", f"{{ int e; {real} m = frexp{suffix}(a, &e); r = m; }}", (t,), t)
        yield Function(
            f"frexp{suffix} exponent",
            f"{{ int e = 0; {real} m = frexp{suffix}(a, &e); r = m == m && !isinf(m) ? e : 0; }}",
            (t,),
            "u32",
        )
        yield Function(f"modf{suffix}", f"{{ {real} w; r = modf{suffix}(a, &w); }}", (t,), t)
        yield Function(f"modf{suffix} whole", f"{{ {real} w; modf{suffix}(a, &w); r = w; }}", (t,), t)
        yield Function(f"remquo{suffix}", f"{{ int q; r = remquo{suffix}(a, b, &q); }}", (t, t), t)
        for part, k in (("sine", "s"), ("cosine", "c")):
            yield Function(f"sincos{suffix} {part}", f"{{ {real} s, c; sincos{suffix}(a, &s, &c); r = {k}; }}", (t,), t)
            yield Function(
                f"sincospi{suffix} {part}", f"{{ {real} s, c; sincospi{suffix}(a, &s, &c); r = {k}; }}", (t,), t
            )
        yield Function(f"max of {t}", "max(a, b)", (t, t), t)
        yield Function(f"divide {t}", "a / b", (t, t), t)
    yield from _plain("fdividef", "f32 f32", "f32")


def fast_functions() -> Iterator[Function]:
    """Single-precision intrinsics, approximate."""
    yield from _plain("__cosf __exp10f __expf __log10f __log2f __logf __sinf __tanf __tanhf", "f32", "f32")
    yield from _plain("__fdividef __powf", "f32 f32", "f32")


def rounded_functions() -> Iterator[Function]:
    """Intrinsics with a rounding of their own, and conversions."""
    for r in ("rn", "rz", "ru", "rd"):
        yield from _plain(f"__fadd_{r} __fsub_{r} __fmul_{r} __fdiv_{r}", "f32 f32", "f32")
        yield from _plain(f"__fmaf_{r} __fmaf_ieee_{r}", "f32 f32 f32", "f32")
        yield from _plain(f"__frcp_{r} __fsqrt_{r}", "f32", "f32")
        yield from _plain(f"__dadd_{r} __dsub_{r} __dmul_{r} __ddiv_{r}", "f64 f64", "f64")
        yield from _plain(f"__fma_{r}", "f64 f64 f64", "f64")
        yield from _plain(f"__drcp_{r} __dsqrt_{r}", "f64", "f64")
        yield from _plain(f"__double2float_{r}", "f64", "f32")
        yield from _plain(f"__double2int_{r} __double2uint_{r}", "f64", "u32")
        yield from _plain(f"__double2ll_{r} __double2ull_{r}", "f64", "u64")
        yield from _plain(f"__float2int_{r} __float2uint_{r}", "f32", "u32")
        yield from _plain(f"__float2ll_{r} __float2ull_{r}", "f32", "u64")
        yield from _plain(f"__int2float_{r}", "u32", "f32", "(int)a")
        yield from _plain(f"__uint2float_{r}", "u32", "f32")
        yield from _plain(f"__ll2float_{r}", "u64", "f32", "(long long)a")
        yield from _plain(f"__ull2float_{r}", "u64", "f32")
        yield from _plain(f"__ll2double_{r}", "u64", "f64", "(long long)a")
        yield from _plain(f"__ull2double_{r}", "u64", "f64")
    yield from _plain("__int2double_rn", "u32", "f64", "(int)a")
    yield from _plain("__uint2double_rn", "u32", "f64")
    yield from _plain("__double2hiint __double2loint", "f64", "u32")
    yield from _plain("__hiloint2double", "u32 u32", "f64", "(int)a, (int)b")
    yield from _plain("__saturatef", "f32", "f32")
    yield from _plain("__frsqrt_rn", "f32", "f32")
    yield from _plain("__float_as_int __float_as_uint", "f32", "u32")
    yield from _plain("__double_as_longlong", "f64", "u64")


def integer_functions() -> Iterator[Function]:
    """Integer and SIMD intrinsics."""
    yield from _plain("__brev __clz __ffs __popc", "u32", "u32")
    yield from _plain("__brevll", "u64", "u64")
    yield from _plain("__clzll __ffsll __popcll", "u64", "u32")
    yield from _plain(
        "__byte_perm __funnelshift_l __funnelshift_lc __funnelshift_r __funnelshift_rc", "u32 u32 u32", "u32"
    )
    yield from _plain("__hadd __rhadd __mul24 __mulhi", "u32 u32", "u32", "(int)a, (int)b")
    yield from _plain("__uhadd __urhadd __umul24 __umulhi", "u32 u32", "u32")
    yield from _plain("__mul64hi", "u64 u64", "u64", "(long long)a, (long long)b")
    yield from _plain("__umul64hi", "u64 u64", "u64")
    yield from _plain("__sad", "u32 u32 u32", "u32", "(int)a, (int)b, c")
    yield from _plain("__usad", "u32 u32 u32", "u32")
    yield Function("__dp4a signed", "__dp4a((int)a, (int)b, (int)c)", ("u32",) * 3, "u32")
    yield Function("__dp4a unsigned", "__dp4a(a, b, c)", ("u32",) * 3, "u32")
    yield Function("__dp2a_lo signed", "__dp2a_lo((int)a, (int)b, (int)c)", ("u32",) * 3, "u32")
    yield Function("__dp2a_hi unsigned", "__dp2a_hi(a, b, c)", ("u32",) * 3, "u32")
    yield Function("__fns", "__fns(a, b & 31, (int)(c & 15) - 7)", ("u32",) * 3, "u32")
    for w in ("2", "4"):
        yield from _plain(f"__vabs{w} __vabsss{w} __vneg{w} __vnegss{w}", "u32", "u32")
        names = [
            "absdiffs",
            "absdiffu",
            "add",
            "addss",
            "addus",
            "avgs",
            "avgu",
            "haddu",
            "maxs",
            "maxu",
            "mins",
            "minu",
            "sads",
            "sadu",
            "sub",
            "subss",
            "subus",
        ]
        names += [
            f"{kind}{c}"
            for kind in ("cmp", "set")
            for c in ["eq", "ges", "geu", "gts", "gtu", "les", "leu", "lts", "ltu", "ne"]
        ]
        yield from _plain(" ".join(f"__v{name}{w}" for name in names), "u32 u32", "u32")
    for which in ("max", "min"):
        for relu in ("", "_relu"):
            yield from _plain(
                f"__viadd{which}_s32{relu} __vi{which}3_s32{relu}", "u32 u32 u32", "u32", "(int)a, (int)b, (int)c"
            )
            yield from _plain(f"__viadd{which}_s16x2{relu} __vi{which}3_s16x2{relu}", "u32 u32 u32", "u32")
        yield from _plain(f"__vi{which}_s32_relu", "u32 u32", "u32", "(int)a, (int)b")
        yield from _plain(f"__vi{which}_s16x2_relu", "u32 u32", "u32")
        yield from _plain(
            f"__viadd{which}_u32 __viadd{which}_u16x2 __vi{which}3_u32 __vi{which}3_u16x2", "u32 u32 u32", "u32"
        )
        yield Function(
            f"__vib{which}_s32",
            f"{{ bool p; r = __vib{which}_s32((int)a, (int)b, &p); r ^= p ? 0x80000000u : 0u; }}",
            ("u32", "u32"),
            "u32",
        )
        yield Function(
            f"__vib{which}_u32",
            f"{{ bool p; r = __vib{which}_u32(a, b, &p); r ^= p ? 0x80000000u : 0u; }}",
            ("u32", "u32"),
            "u32",
        )
        for t in ("s16x2", "u16x2"):
            yield Function(
                f"__vib{which}_{t}",
                f"{{ bool p, q; r = __vib{which}_{t}(a, b, &p, &q); r ^= (p ? 0x80000000u : 0u) | (q ? 0x8000u : 0u); }}",
                ("u32", "u32"),
                "u32",
            )
    for t, k in (("int", "u32"), ("long long", "u64"), ("unsigned", "u32"), ("unsigned long long", "u64")):
        yield Function(f"{t} quotient", f"b ? ({t})a / (({t})b == ({t})-1 ? ({t})7 : ({t})b) : 0", (k, k), k)
        yield Function(f"{t} remainder", f"b ? ({t})a % (({t})b == ({t})-1 ? ({t})7 : ({t})b) : 0", (k, k), k)
    yield Function(
        "unsigned 128-bit product",
        "(unsigned long long)(((unsigned __int128)a * b) >> 64) ^ (unsigned long long)((unsigned __int128)a * b)",
        ("u64", "u64"),
        "u64",
    )
    yield Function(
        "128-bit sum",
        "{ __int128 s = ((__int128)(long long)a << 32) + b - a; r = (unsigned long long)(s >> 40); }",
        ("u64", "u64"),
        "u64",
    )
    yield Function(
        "128-bit quotient", "(unsigned long long)((((unsigned __int128)a << 64) | b) / (b | 1))", ("u64", "u64"), "u64"
    )


HALVES = (("f16", "__half", "half", "h"), ("bf16", "__nv_bfloat16", "bfloat16", "h"))


def half_functions() -> Iterator[Function]:
    """f16 and bf16: arithmetic, comparisons, conversions."""
    for t, c, word, _ in HALVES:
        pair = t + "x2"

        def named(names: str, suffix: str = t) -> Iterator[tuple[str, str]]:
            for name in names.split():
                yield f"{name} {suffix}", name

        for label, name in named(
            "__hadd __hsub __hmul __hdiv __hadd_rn __hsub_rn __hmul_rn __hadd_sat __hsub_sat __hmul_sat __hmax __hmin __hmax_nan __hmin_nan"
        ):
            yield Function(label, f"{name}(a, b)", (t, t), t)
        for label, name in named(
            "__hadd2 __hsub2 __hmul2 __h2div __hadd2_rn __hsub2_rn __hmul2_rn __hadd2_sat __hsub2_sat __hmul2_sat __hmax2 __hmin2 __hmax2_nan __hmin2_nan"
        ):
            yield Function(label, f"{name}(a, b)", (pair, pair), pair)
        for label, name in named("__hfma __hfma_sat __hfma_relu"):
            yield Function(label, f"{name}(a, b, c)", (t, t, t), t)
        for label, name in named("__hfma2 __hfma2_sat __hfma2_relu __hcmadd"):
            yield Function(label, f"{name}(a, b, c)", (pair, pair, pair), pair)
        for label, name in named("__hneg __habs hceil hfloor hrint htrunc"):
            yield Function(label, f"{name}(a)", (t,), t)
        for label, name in named("__hneg2 __habs2 h2ceil h2floor h2rint h2trunc"):
            yield Function(label, f"{name}(a)", (pair,), pair)
        yield from half_comparisons(t)
        yield from half_conversions(t, c, word)
    yield from quarter_functions()


def half_comparisons(t: str) -> Iterator[Function]:
    """Of one format, single and packed."""
    pair = t + "x2"
    for op in ("eq", "ne", "le", "ge", "lt", "gt"):
        for u in ("", "u"):
            yield Function(f"__h{op}{u} {t}", f"__h{op}{u}(a, b)", (t, t), "u32")
            yield Function(f"__h{op}{u}2 {t}", f"__h{op}{u}2(a, b)", (pair, pair), pair)
            yield Function(f"__hb{op}{u}2 {t}", f"__hb{op}{u}2(a, b)", (pair, pair), "u32")
            yield Function(f"__h{op}{u}2_mask {t}", f"__h{op}{u}2_mask(a, b)", (pair, pair), "u32")
    yield Function(f"__hisnan {t}", "__hisnan(a)", (t,), "u32")
    yield Function(f"__hisinf {t}", "__hisinf(a) != 0", (t,), "u32")
    yield Function(f"__hisnan2 {t}", "__hisnan2(a)", (pair,), pair)


def half_conversions(t: str, c: str, word: str) -> Iterator[Function]:
    """Of one format."""
    pair = t + "x2"
    for r in ("rn", "rz", "ru", "rd"):
        for number, kind, cast in (
            ("int", "u32", "(int)"), ("uint", "u32", ""), ("short", "u16", "(short)"), ("ushort", "u16", ""), ("ll", "u64", "(long long)"), ("ull", "u64", ""),
        ):  # fmt: skip
            yield Function(f"__{word}2{number}_{r}", f"__{word}2{number}_{r}(a)", (t,), kind)
            yield Function(f"__{number}2{word}_{r}", f"__{number}2{word}_{r}({cast}a)", (kind,), t)
        yield Function(f"__float2{word}_{r}", f"__float2{word}_{r}(a)", ("f32",), t)
    yield Function(f"__{word}2char_rz", f"(unsigned short)(short)__{word}2char_rz(a)", (t,), "u16")
    yield Function(f"__{word}2uchar_rz", f"__{word}2uchar_rz(a)", (t,), "u16")
    yield Function(f"__{word}2float", f"__{word}2float(a)", (t,), "f32")
    yield Function(f"__double2{word}", f"__double2{word}(a)", ("f64",), t)
    yield Function(f"floats to {pair}", f"__floats2{word}2_rn(a, b)", ("f32", "f32"), pair)
    yield Function(f"low and high of {pair}", f"__lows2{word}2(b, __lowhigh2highlow(a))", (pair, pair), pair)
    yield Function(f"{c} to double", "(double)(float)a", (t,), "f64")


def quarter_functions() -> Iterator[Function]:
    """Eight-bit floats."""
    for kind in ("__NV_E4M3", "__NV_E5M2"):
        for sat in ("__NV_SATFINITE", "__NV_NOSAT"):
            tag = f"{kind[5:].lower()} {sat[5:].lower()}"
            yield Function(f"float to {tag}", f"__nv_cvt_float_to_fp8(a, {sat}, {kind})", ("f32",), "u16")
            yield Function(f"double to {tag}", f"__nv_cvt_double_to_fp8(a, {sat}, {kind})", ("f64",), "u16")
            yield Function(
                f"floats to {tag}", f"__nv_cvt_float2_to_fp8x2(make_float2(a, b), {sat}, {kind})", ("f32", "f32"), "u16"
            )
            yield Function(f"half to {tag}", f"__nv_cvt_halfraw_to_fp8(a, {sat}, {kind})", ("f16",), "u16")
            yield Function(f"halves to {tag}", f"__nv_cvt_halfraw2_to_fp8x2(a, {sat}, {kind})", ("f16x2",), "u16")
            yield Function(f"bfloat16 to {tag}", f"__nv_cvt_bfloat16raw_to_fp8(a, {sat}, {kind})", ("bf16",), "u16")
        yield Function(
            f"half of {kind}", f"__half(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)a, {kind}))", ("f8x2",), "f16"
        )
        yield Function(f"halves of {kind}", f"__half2(__nv_cvt_fp8x2_to_halfraw2(a, {kind}))", ("f8x2",), "f16x2")


def half_math() -> Iterator[Function]:
    """f16 and bf16 functions that are computed approximately."""
    names = [
        "cos",
        "exp",
        "exp10",
        "exp2",
        "log",
        "log10",
        "log2",
        "rcp",
        "rsqrt",
        "sin",
        "sqrt",
        "tanh",
        "tanh_approx",
    ]
    for t, *_ in HALVES:
        for name in names:
            yield Function(f"h{name} {t}", f"h{name}(a)", (t,), t)
            yield Function(f"h2{name} {t}", f"h2{name}(a)", (t + "x2",), t + "x2")


FUNCTION_FAMILIES = {
    "math": math_functions,
    "fast": fast_functions,
    "rounded": rounded_functions,
    "intrinsics": integer_functions,
    "halves": half_functions,
    "half_math": half_math,
}
"""`math`, `fast` and `half_math` hold functions that a GPU approximates; the others have one right result."""


def functions_of(family: str) -> list[Function]:
    """The functions of a family, each once."""
    return list({one.name: one for one in FUNCTION_FAMILIES[family]()}.values())
