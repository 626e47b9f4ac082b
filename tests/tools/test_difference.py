"""Two results of the same call: what differs, to the last bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.kernels.inputs import poison
from cudanalyst.kernels.problem import Parameter
from cudanalyst.tools.oracle import difference

OUT = Parameter(name="out", dtype="f32", role="out", shape=("n",))
KEYS = Parameter(name="keys", dtype="i64", role="out", shape=("2", "n"))


def test_equal_results_have_no_difference_not_even_nan():
    same = np.array([1.0, np.nan, -0.0], np.float32)

    assert difference(OUT, same, same.copy(), (0, 1)) is None


def test_zeros_of_two_signs_differ_and_values_are_told_to_their_last_digit():
    first, second = np.array([1.0, 0.0], np.float32), np.array([np.float32(1) + 2.0**-23, -0.0], np.float32)

    seen = difference(OUT, first, second, (0, 1))

    assert (seen.index, seen.differing_elements) == ((0,), 2)
    assert (seen.first_text, seen.second_text) == ("1", "1.00000012")
    assert difference(OUT, first[1:], second[1:], (0, 1)).second_text == "-0"


def test_infinities_are_told_as_text():
    seen = difference(OUT, np.array([np.inf], np.float32), np.array([1.0], np.float32), (0, 1))

    assert (seen.first, seen.first_text, seen.second) == (None, "inf", 1.0)


def test_elements_that_hold_their_poison_were_not_written():
    left = [poison(OUT, {"n": 3}, pattern) for pattern in (0, 1)]
    assert difference(OUT, left[0], left[1], (0, 1)) is None

    left[1][2] = 5.0
    left[0][2] = 6.0
    assert difference(OUT, left[0], left[1], (0, 1)).index == (2,)


@given(
    first=st.lists(st.integers(0, 3), min_size=2, max_size=40),
    changes=st.dictionaries(st.integers(0, 39), st.integers(0, 3)),
    chunk=st.integers(1, 50),
)
def test_a_difference_in_chunks_is_the_difference(first, changes, chunk):
    one = np.array(first[: len(first) // 2 * 2], np.int64).reshape(2, -1)
    other = one.copy()
    for place, value in changes.items():
        other.reshape(-1)[place % other.size] = value

    whole = difference(KEYS, one, other, (0, 1))

    assert difference(KEYS, one, other, (0, 1), chunk_elements=chunk) == whole
    assert (whole.differing_elements if whole else 0) == np.count_nonzero(one != other)
    assert whole is None or one[whole.index] != other[whole.index]
