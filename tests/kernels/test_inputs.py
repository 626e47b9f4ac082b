"""Seeded inputs: equal on every machine, and fit for what they are meant for."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import NUMPY, from_reference, to_reference
from cudanalyst.kernels.generators import GeneratorError, alternatives, arguments_of, generate
from cudanalyst.kernels.inputs import distribution_count, make_inputs, nbytes_of, poison, shape_of
from cudanalyst.kernels.problem import Parameter

CATALOGUE = Catalogue()


def digest(inputs):
    return {name: hashlib.sha256(array.tobytes()).hexdigest()[:16] for name, array in inputs.arrays.items()}


def test_inputs_are_the_recorded_bytes_wherever_they_are_drawn():
    """Recorded once: a change of these digests makes results of different machines or versions incomparable."""
    add = make_inputs(CATALOGUE.problem("vector_add"), {"n": 1000}, secret_seed=1)
    keys = make_inputs(CATALOGUE.problem("histogram"), {"n": 997, "bins": 61}, secret_seed=1, index=1)

    assert digest(add) == {"a": "619891b7895fbe93", "b": "c860024bd8135650"}
    assert digest(keys) == {"keys": "2de91e92efc01c79"}


def test_the_same_request_gives_the_same_inputs_and_any_other_gives_others():
    problem = CATALOGUE.problem("vector_add")
    base = digest(make_inputs(problem, {"n": 64}, 5, 0))

    assert digest(make_inputs(problem, {"n": 64}, 5, 0)) == base
    others = [
        make_inputs(problem, {"n": 65}, 5, 0),
        make_inputs(problem, {"n": 64}, 6, 0),
        make_inputs(problem, {"n": 64}, 5, 3),
        make_inputs(problem, {"n": 64}, b"5 secret bytes", 0),
    ]
    digests = [base["a"], base["b"], *(value for other in others for value in digest(other).values())]
    assert len(set(digests)) == len(digests)


def test_the_distributions_of_a_parameter_are_taken_in_turn():
    problem = CATALOGUE.problem("histogram")

    chosen = [make_inputs(problem, {"n": 9, "bins": 4}, 0, index).distributions["keys"] for index in range(4)]

    assert distribution_count(problem) == 3
    assert len(set(chosen[:3])) == 3
    assert chosen[3] == chosen[0]


def test_scalars_take_their_values_from_the_sizes():
    inputs = make_inputs(CATALOGUE.problem("stencil2d"), {"rows": 4, "cols": 5}, 0)

    assert inputs.scalars == {"rows": 4, "cols": 5, "alpha": 0.125}


@given(seed=st.integers(0, 2**64), low=st.integers(-1000, 1000), span=st.integers(0, 300))
def test_integers_stay_in_their_range_and_reach_both_ends(seed, low, span):
    drawn = Draws(seed).integers(20 * (span + 1) if span < 10 else 50, low, low + span)

    assert drawn.min() >= low
    assert drawn.max() <= low + span


def test_normal_numbers_have_mean_zero_and_variance_one():
    drawn = Draws("moments").normal(200_000)

    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.var() - 1.0) < 0.02
    assert np.abs(drawn).max() <= 6.0


def test_skewed_numbers_are_positive_with_a_heavy_tail():
    drawn = Draws("tail").skewed(10_000)

    assert drawn.min() >= 1.0
    assert np.median(drawn) < 4.0
    assert drawn.max() > 256.0


@settings(max_examples=30)
@given(count=st.integers(1, 300), seed=st.integers(0, 1000))
def test_a_permutation_holds_every_index_once(count, seed):
    drawn = generate("permutation", Draws(seed), (count,), {})

    assert sorted(drawn.tolist()) == list(range(count))


@settings(max_examples=30)
@given(rows=st.integers(1, 50), total=st.integers(0, 400))
def test_offsets_rise_from_zero_to_the_total(rows, total):
    drawn = generate(f"offsets({total})", Draws("offsets"), (rows + 1,), {})

    assert drawn[0] == 0
    assert drawn[-1] == total
    assert (np.diff(drawn) >= 0).all()


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        ("gaussian", "unknown generator `gaussian`; known are: normal"),
        ("integers", "takes \\(low, high\\)"),
        ("integers(1)", "takes \\(low, high\\)"),
        ("normal(0, 1, 2)", "takes \\(mean, deviation\\)"),
        ("integers(0, q)", "unknown name `q`"),
        ("integers(5, 4)", "the range 5..4 is empty"),
        ("normal(0", "unknown generator"),
    ],
)
def test_a_bad_generator_is_refused_with_the_reason(generator, says):
    with pytest.raises(GeneratorError, match=says):
        generate(generator, Draws(0), (3,), {"n": 3})


def test_arguments_of_generators_may_be_expressions_with_commas():
    assert arguments_of("integers(min(n, 3), max(n, 3))", {"n": 10}) == [3, 10]
    assert arguments_of("normal(5)", {}) == [5, 1.0]
    assert alternatives("normal | uniform(0, 1)") == ("normal", "uniform(0, 1)")


@pytest.mark.parametrize("dtype", sorted(NUMPY))
def test_the_two_poisons_differ_in_every_element_and_fill_the_buffer(dtype):
    parameter = Parameter(name="out", dtype=dtype, role="out", shape=("n", "2"))

    first, second = (poison(parameter, {"n": 5}, pattern) for pattern in (0, 1))

    assert first.shape == shape_of(parameter, {"n": 5}) == (5, 2)
    assert first.nbytes == nbytes_of(parameter, {"n": 5})
    assert not (first == second).any()
    assert (to_reference(first, dtype) != 0).all()


@given(st.floats(width=32, allow_nan=False))
def test_bf16_rounds_to_the_nearest_value_of_eight_bits(value):
    rounded = to_reference(from_reference(np.array([value]), "bf16"), "bf16")[0]

    if abs(value) > 3.3961e38:
        assert abs(rounded) >= 3.38e38
    else:
        assert abs(rounded - value) <= max(abs(value) * 2.0**-8, 2.0**-134)


def test_bf16_keeps_nan_and_infinity():
    special = to_reference(from_reference(np.array([np.nan, np.inf, -np.inf]), "bf16"), "bf16")

    assert np.isnan(special[0])
    assert special[1:].tolist() == [np.inf, -np.inf]
