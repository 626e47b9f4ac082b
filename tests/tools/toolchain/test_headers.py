"""Headers that nvcc is spared: only where the text does without them, and never at the price of a build."""

import pytest

from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.builder import Builder
from cudanalyst.tools.toolchain.headers import LEFT_OUT, left_out, may_be_missing

KERNEL = "__global__ void k(float* y) { y[0] = 1.f; }\n"
SOLVE = 'extern "C" int solve(float* y, cudaStream_t s) { k<<<1, 1, 0, s>>>(y); return BODY; }\n'


@pytest.mark.parametrize(
    "text",
    [
        KERNEL,
        "#include <cmath>\nfloat f(float x) { return std::sqrt(x) + std::fmax(x, 1.f); }",
        "void layernorm(const float* gamma, const float* beta);",
        "#include <algorithm>\nint n = std::max(1, 2);",
        "#include <vector>\nstd::vector<float> v;",
        "float legendre(float x);",
        "std::maximum m;",
    ],
)
def test_what_means_nothing_of_the_special_functions_is_built_without_them(text):
    assert left_out(text) == (LEFT_OUT,)


@pytest.mark.parametrize(
    "text",
    [
        "double f() { return std::beta(1., 2.); }",
        "double f() { return std :: riemann_zeta(2.); }",
        "using std::sph_bessel;",
        "using namespace std;",
        "namespace s = ::std;",
        "#include <tr1/cmath>",
        "#if __STDCPP_MATH_SPEC_FUNCS__\n#endif",
        "#ifdef __cpp_lib_math_special_functions\n#endif",
        "int n = std::max(1, 2);",
        "#include <cmath>\n#include <cstdio>\nfloat f = std::numeric_limits<float>::max();",
        "#include <cuda_runtime.h>\n#include <cub/cub.cuh>\nint n = std::min(1, 2);",
    ],
)
def test_what_might_need_them_is_built_with_everything(text):
    assert left_out(text) == ()


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ('candidate.cu(3): error: namespace "std" has no member "numeric_limits"', True),
        ("candidate.cu:3:5: error: 'min' is not a member of 'std'", True),
        ('/usr/include/some/header.h(9): error: identifier "numeric_limits" is undefined', True),
        ("/usr/include/some/header.h:9:2: error: static assertion failed: no such tile", False),
        ('candidate.cu(3): error: identifier "min_value" is undefined', False),
        ('candidate.cu(3): error: expected a ";"', False),
        ('candidate.cu(3): warning: namespace "std" has no member "x"', False),
        ("", False),
    ],
)
def test_a_failure_is_made_again_only_where_something_may_have_been_missing(said, missing):
    assert may_be_missing(f"some words\n{said}\n1 error detected", "candidate.cu") is missing


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", "(int)std::legendre(1, 2.0)"),
        ("", "std::max(0, -1)"),
        ("#define LIBRARY std\n", "LIBRARY::numeric_limits<int>::digits"),
    ],
    ids=["named", "brought along", "hidden"],
)
async def test_a_source_that_needs_them_builds(shared_builder: Builder, head, body):
    built = await shared_builder.build(Source(text=head + KERNEL + SOLVE.replace("BODY", body), problem="p"))
    assert built.status == "compiled", built.diagnostics


@pytest.mark.anyio
async def test_a_source_that_is_wrong_fails_with_its_own_errors(shared_builder: Builder):
    text = KERNEL + SOLVE.replace("BODY", "std::no_such_function(1)")
    built = await shared_builder.build(Source(text=text, problem="p"))
    assert built.status == "failed"
    (error,) = [one for one in built.diagnostics if one.severity == "error"]
    assert "no_such_function" in error.text
    assert error.place.line == 2
