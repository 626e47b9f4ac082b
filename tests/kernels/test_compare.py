"""The verdict on an output: honest rounding passes, everything cheaper does not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.compare import compare
from cudanalyst.kernels.dtypes import NUMPY, from_reference, is_float
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.inputs import distribution_count, make_inputs
from cudanalyst.kernels.problem import Tolerance

CATALOGUE = Catalogue()
PLAIN = Tolerance()
SMALL = [
    (problem_id, sizes, index)
    for problem_id in CATALOGUE.ids
    for group in ("test", "held_out")
    for sizes in CATALOGUE.problem(problem_id).sizes[group]
    if not is_large(CATALOGUE.problem(problem_id), sizes)
    for index in range(distribution_count(CATALOGUE.problem(problem_id)))
]
LARGE = [
    (problem_id, sizes, 0)
    for problem_id in CATALOGUE.ids
    for sizes in CATALOGUE.problem(problem_id).sizes["eval"]
    if not is_large(CATALOGUE.problem(problem_id), sizes)
]


def in_order(terms, order):
    """Sums float32 terms along the last axis one after the other, or pairwise."""
    if order == "pairwise":
        return terms.sum(axis=-1, dtype=np.float32)
    directed = terms if order == "forward" else terms[..., ::-1]
    return np.cumsum(directed, axis=-1, dtype=np.float32)[..., -1]


def matmul(x, order):
    a, b = x["a"], x["b"]
    if order == "pairwise":
        return a @ b
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    steps = range(a.shape[1])
    for i in steps if order == "forward" else reversed(steps):
        total += a[:, i : i + 1] * b[i]
    return total


def softmax(x, order):
    weights = np.exp(x["x"] - x["x"].max(axis=1, keepdims=True))
    return weights / in_order(weights, order)[:, None]


def stencil2d(x, _):
    grid, out = x["x"], x["x"].copy()
    near = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    out[1:-1, 1:-1] += np.float32(0.125) * (near - np.float32(4) * grid[1:-1, 1:-1])
    return out


def layernorm(x, order):
    centred = x["x"] - (in_order(x["x"], order) / np.float32(x["x"].shape[1]))[:, None]
    variance = in_order(centred * centred, order) / np.float32(x["x"].shape[1])
    return centred / np.sqrt(variance + np.float32(2.0**-10))[:, None] * x["gamma"] + x["beta"]


def spmv(x, order):
    products = x["values"] * x["x"][x["columns"]]
    row_of = np.repeat(np.arange(len(x["offsets"]) - 1), np.diff(x["offsets"]))
    step = -1 if order == "backward" else 1
    sums = np.zeros(len(x["offsets"]) - 1, np.float32)
    np.add.at(sums, row_of[::step], products[::step])
    return sums


HONEST = {
    "vector_add": lambda x, _: x["a"] + x["b"],
    "matmul": matmul,
    "softmax": softmax,
    "reduction": lambda x, order: np.array([in_order(x["x"], order)]),
    "transpose": lambda x, _: x["x"].T,
    "stencil2d": stencil2d,
    "layernorm": layernorm,
    "spmv": spmv,
}
"""What a plain float32 kernel computes, by problem, in a given order of summation."""


def expectation(problem_id, sizes, index, seed=11):
    problem = CATALOGUE.problem(problem_id)
    inputs = make_inputs(problem, sizes, seed, index)
    ((name, expected),) = CATALOGUE.expected(problem_id, inputs, sizes).items()
    dtype = next(parameter.dtype for parameter in problem.parameters if parameter.name == name)
    return problem, inputs, expected, dtype


def verdict(problem, values, expected, dtype, sizes):
    return compare(from_reference(values, dtype), expected, dtype, problem.tolerance, sizes)


@pytest.mark.parametrize(("problem_id", "sizes", "index"), [case for case in SMALL + LARGE if case[0] in HONEST])
def test_plain_float32_in_any_order_passes(problem_id, sizes, index):
    problem, inputs, expected, dtype = expectation(problem_id, sizes, index)

    for order in ("forward", "backward", "pairwise"):
        result = verdict(problem, HONEST[problem_id](inputs.arrays, order), expected, dtype, sizes)

        assert result.passed, (order, result)
        assert result.error_ratio <= 0.75, "too near the tolerance to be safe"


@pytest.mark.parametrize(("problem_id", "sizes", "index"), [case for case in SMALL + LARGE if case[0] in HONEST])
def test_half_precision_does_not_pass_for_single(problem_id, sizes, index):
    problem, inputs, expected, dtype = expectation(problem_id, sizes, index)
    halves = {
        name: array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array
        for name, array in inputs.arrays.items()
    }
    with np.errstate(over="ignore"):
        output = HONEST[problem_id](halves, "pairwise").astype(np.float16).astype(np.float32)

    exact = np.array_equal(output.astype(np.float64), expected)
    assert verdict(problem, output, expected, dtype, sizes).passed == exact


@pytest.mark.parametrize(("problem_id", "sizes", "index"), SMALL)
def test_zeros_do_not_pass(problem_id, sizes, index):
    problem, _, expected, dtype = expectation(problem_id, sizes, index)

    assert not verdict(problem, np.zeros_like(expected), expected, dtype, sizes).passed


@pytest.mark.parametrize(("problem_id", "sizes", "index"), SMALL)
def test_the_mean_everywhere_does_not_pass_where_the_reference_varies(problem_id, sizes, index):
    problem, _, expected, dtype = expectation(problem_id, sizes, index)
    constant = np.full_like(expected, expected.mean())

    passed = verdict(problem, constant, expected, dtype, sizes).passed

    assert passed == (np.ptp(expected) == 0)


@pytest.mark.parametrize(("problem_id", "sizes", "index"), SMALL)
def test_the_answer_to_other_inputs_does_not_pass(problem_id, sizes, index):
    problem, _, expected, dtype = expectation(problem_id, sizes, index)
    _, _, other, _ = expectation(problem_id, sizes, index, seed=12)

    assert verdict(problem, other, expected, dtype, sizes).passed == np.array_equal(other, expected)


def test_the_first_wrong_element_and_their_number_are_told():
    expected = np.ones((3, 4))
    got = expected.astype(np.float32)
    got[1, 2] = 2.0
    got[2, 0] = -1.0

    result = compare(got, expected, "f32", PLAIN, {})

    assert (result.passed, result.index, result.wrong_elements, result.total_elements) == (False, (1, 2), 2, 12)
    assert (result.got, result.expected) == (2.0, 1.0)
    assert result.error_ratio == pytest.approx(2.0 / (4.0 * 2.0**-23))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_fails_with_an_infinite_ratio(value):
    result = compare(np.array([1.0, value], np.float32), np.array([1.0, 1.0]), "f32", PLAIN, {})

    assert not result.passed
    assert result.index == (1,)
    assert result.error_ratio == math.inf


def test_nan_and_infinity_are_right_where_the_reference_has_them():
    expected = np.array([math.nan, math.inf, -math.inf, 1.0])

    assert compare(expected.astype(np.float32), expected, "f32", PLAIN, {}).passed
    flipped = np.array([math.nan, -math.inf, -math.inf, 1.0], np.float32)
    assert compare(flipped, expected, "f32", PLAIN, {}).index == (1,)
    finite = np.array([0.0, math.inf, -math.inf, 1.0], np.float32)
    assert compare(finite, expected, "f32", PLAIN, {}).index == (0,)


def test_beyond_the_range_of_the_element_type_infinity_is_right():
    expected = np.array([1e6, -1e6])

    assert compare(np.array([np.inf, -np.inf], np.float16), expected, "f16", PLAIN, {}).passed
    assert not compare(np.array([65504.0, -65504.0], np.float16), expected, "f16", PLAIN, {}).passed


def test_squares_that_overflow_do_not_loosen_the_tolerance():
    expected = np.array([1e300, -1e300])

    assert not compare(np.array([0.0, 0.0]), expected, "f64", PLAIN, {}).passed
    assert compare(expected.copy(), expected, "f64", PLAIN, {}).passed


def test_all_zero_references_allow_only_subnormal_dust():
    expected = np.zeros(4)

    assert compare(np.zeros(4, np.float32), expected, "f32", PLAIN, {}).passed
    assert not compare(np.full(4, 1e-30, np.float32), expected, "f32", PLAIN, {}).passed


def test_integers_must_be_equal():
    expected = np.array([2**53, 2**53 + 1])

    assert compare(expected.copy(), expected, "i64", PLAIN, {}).passed
    assert compare(expected[::-1].copy(), expected, "i64", PLAIN, {}).wrong_elements == 2


def test_another_shape_or_element_type_is_refused_with_the_reason():
    expected = np.ones(4)

    shape = compare(np.ones((2, 2), np.float32), expected, "f32", PLAIN, {})
    kind = compare(np.ones(4), expected, "f32", PLAIN, {})

    assert not shape.passed
    assert "shape" in (shape.reason or "")
    assert not kind.passed
    assert "element type" in (kind.reason or "")


@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20),
    dtype=st.sampled_from(sorted(dtype for dtype in NUMPY if is_float(dtype))),
)
def test_the_rounded_reference_always_passes(values, dtype):
    expected = np.array(values, dtype=np.float64)

    assert compare(from_reference(expected, dtype), expected, dtype, PLAIN, {}).passed


@given(
    values=st.lists(st.floats(1.0, 1e6), min_size=1, max_size=20),
    scale=st.sampled_from([2.0**-20, 1.0, 2.0**20]),
    bump=st.floats(1e-4, 10.0),
)
def test_the_verdict_does_not_depend_on_the_scale(values, scale, bump):
    expected = np.array(values)
    got = expected.copy()
    got[-1] += bump

    plain = compare(got.astype(np.float32), expected, "f32", PLAIN, {})
    scaled = compare((got * scale).astype(np.float32), expected * scale, "f32", PLAIN, {})

    assert (plain.passed, plain.index) == (scaled.passed, scaled.index)
    assert plain.error_ratio == pytest.approx(scaled.error_ratio, rel=1e-6, abs=1e-9)
