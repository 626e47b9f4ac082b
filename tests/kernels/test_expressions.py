"""Arithmetic over named sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.kernels.expressions import ExpressionError, evaluate, evaluate_integer

NAMES = {"n": 1000, "m": 7, "k": 3}

TREES = st.recursive(
    st.integers(0, 99).map(str) | st.sampled_from(sorted(NAMES)),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})"),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("m*k", 21),
        ("(n + 255) // 256", 4),
        ("max(m, k, n)", 1000),
        ("min(m, 2) - -1", 3),
        ("n % m", 6),
        ("n / 8", 125.0),
        ("ceil(n / 256)", 4),
        ("2**10", 1024),
        (" 0.125 ", 0.125),
    ],
)
def test_arithmetic_over_sizes_is_evaluated(expression, value):
    assert evaluate(expression, NAMES) == value


@given(TREES)
def test_every_sum_difference_and_product_agrees_with_python(expression):
    assert evaluate(expression, NAMES) == eval(expression, {"__builtins__": {}}, NAMES)


@given(st.text(max_size=60))
def test_any_text_gives_a_number_or_an_expression_error(text):
    try:
        outcome = evaluate(text, NAMES)
    except ExpressionError as error:
        outcome = error

    assert isinstance(outcome, int | float | ExpressionError)
    assert str(outcome)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("q + 1", "unknown name `q`; the names here are: k, m, n"),
        ("__import__('os')", "not allowed here"),
        ("n.real", "not allowed here"),
        ("[n]", "not allowed here"),
        ("max()", "not allowed here"),
        ("ceil(n, m)", "with 2 argument"),
        ("max(n)", "with 1 argument"),
        ("'a' * n", "not allowed here"),
        ("True", "not allowed here"),
        ("n if n else m", "not allowed here"),
        ("9**9**9", "an exponent"),
        ("9**60", "beyond 2\\*\\*63"),
        ("(0-8)**0.5", "beyond|negative"),
        ("n // 0", "division by zero"),
        ("n +", "not arithmetic"),
        ("", "not arithmetic"),
        ("1+" * 200 + "1", "at most 200"),
        ("1e999", "beyond"),
    ],
)
def test_what_is_not_arithmetic_is_refused_with_the_reason(expression, says):
    with pytest.raises(ExpressionError, match=says):
        evaluate(expression, NAMES)


def test_an_extent_must_be_a_whole_number():
    assert evaluate_integer("n / 8", NAMES) == 125
    with pytest.raises(ExpressionError, match="not an integer"):
        evaluate_integer("n / 7", NAMES)
    with pytest.raises(ExpressionError, match="less than 0"):
        evaluate_integer("m - n", NAMES)
