"""However inputs, references and comparisons are cut, and whatever module their arrays are of, they are the same."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadProblem, Unavailable
from cudanalyst.kernels import compare as comparing
from cudanalyst.kernels.arrays import load_arrays, module_of, to_host
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.compare import compare
from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import NUMPY, from_reference, is_float
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.generators import NAMES, Part, generate, generate_part, is_elementwise
from cudanalyst.kernels.inputs import InputStream, make_inputs
from cudanalyst.kernels.philox import words_on_device, words_on_host
from cudanalyst.kernels.problem import Tolerance
from cudanalyst.kernels.reference import expected_outputs, load_reference
from cudanalyst.kernels.slices import sliced_outputs

CATALOGUE = Catalogue()
ARGUMENTS = {"constant": "(3)", "integers": "(-5, 9)", "skewed_integers": "(0, 40)", "offsets": "(77)"}
WITH_SLICES = [name for name in CATALOGUE.ids if CATALOGUE.problem(name).independent]


@given(key=st.integers(0, 2**128 - 1), first=st.integers(0, 2**40), count=st.integers(0, 40), before=st.integers(0, 9))
def test_words_do_not_depend_on_where_drawing_starts(key, first, count, before):
    start = max(first - before, 0)

    assert (
        words_on_host(key, start, first - start + count)[first - start :].tolist()
        == words_on_host(key, first, count).tolist()
    )


@settings(max_examples=40)
@given(
    name=st.sampled_from(NAMES),
    total=st.integers(1, 200),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    backwards=st.booleans(),
)
def test_parts_of_a_buffer_are_the_whole_in_whatever_order_they_are_drawn(name, total, cuts, backwards):
    alternative = name + ARGUMENTS.get(name, "")
    whole = generate(alternative, Draws("key"), (total,), {})
    edges = sorted({0, total, *(min(cut, total) for cut in cuts)})
    parts = list(itertools.pairwise(edges))
    draws, drawn = Draws("key"), {}
    for start, stop in reversed(parts) if backwards else parts:
        drawn[start] = generate_part(alternative, draws, Part(total, start, stop), {})

    assert np.concatenate([drawn[start] for start, _ in parts]).tobytes() == whole.tobytes()


def test_only_sorting_needs_the_whole_buffer():
    assert [name for name in NAMES if not is_elementwise(name + ARGUMENTS.get(name, ""))] == ["permutation", "offsets"]


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
def test_a_stream_of_an_input_gives_the_inputs_in_parts(problem_id):
    problem = CATALOGUE.problem(problem_id)
    sizes = problem.sizes["test"][1]
    inputs = make_inputs(problem, sizes, 5, 1)
    for parameter in problem.parameters:
        if parameter.role == "in":
            stream = InputStream(problem, sizes, 5, 1, parameter)
            half = stream.elements // 2
            parts = [stream.part(half, stream.elements), stream.part(0, half)]

            assert np.concatenate(parts[::-1]).tobytes() == inputs.arrays[parameter.name].tobytes()


class FakeDevice:
    """Records the launches of a module that has kernels, and does what the kernel does."""

    uint64 = np.uint64

    def __init__(self):
        self.launches = []

    def empty(self, count, dtype):
        return np.empty(count, dtype)

    def RawKernel(self, source, name):  # noqa: N802 - CuPy's name
        assert name in source

        def launch(grid, block, arguments):
            words, low, high, first, count = arguments
            self.launches.append((grid, block))
            words[:] = words_on_host(int(low) | int(high) << 64, int(first), int(count))

        return launch


def test_the_kernel_gets_the_key_in_two_halves_and_enough_threads():
    device = FakeDevice()
    key = 2**127 + 12345

    drawn = words_on_device(device, key, 7, 5001)

    assert drawn.tolist() == words_on_host(key, 7, 5001).tolist()
    ((blocks,), (threads,)) = device.launches[0]
    assert blocks * threads >= 5001 / 4
    assert words_on_device(device, key, 7, 0).size == 0


@pytest.mark.parametrize("problem_id", WITH_SLICES)
@settings(max_examples=15)
@given(budget=st.integers(1, 200_000), index=st.integers(0, 2))
def test_a_reference_in_slices_is_the_reference(problem_id, budget, index):
    entry = CATALOGUE.entry(problem_id)
    reference = load_reference(entry)
    sizes = entry.problem.sizes["test"][1]
    inputs = make_inputs(entry.problem, sizes, 3, index)
    lengths = []

    def compute(given_inputs, own):
        lengths.append(own[entry.problem.independent])
        return expected_outputs(entry.problem, entry.reference_file, reference, given_inputs, own)

    sliced = sliced_outputs(entry.problem, compute, inputs, sizes, budget)

    for name, whole in CATALOGUE.expected(problem_id, inputs, sizes).items():
        assert sliced[name].dtype == whole.dtype
        np.testing.assert_allclose(sliced[name], whole, rtol=1e-13, atol=1e-13)
    assert sum(lengths) == sizes[entry.problem.independent]


def test_problems_that_cannot_be_cut_are_computed_whole():
    problem = CATALOGUE.problem("stencil2d")
    asked = []

    sliced_outputs(problem, lambda inputs, sizes: asked.append((inputs, sizes)) or {}, "inputs", {"rows": 9}, 1)

    assert asked == [("inputs", {"rows": 9})]


values = st.one_of(
    st.floats(-4.0, 4.0), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, 3.5e38, 1e-42, 7e4])
)


@settings(max_examples=150)
@given(
    dtype=st.sampled_from(sorted(NUMPY)),
    data=st.lists(st.tuples(values, st.sampled_from([0.0, 0.0, 1e-7, 1e-3, 1.0, math.nan])), min_size=1, max_size=40),
    chunk=st.integers(1, 50),
    rows=st.sampled_from([1, 2]),
    exact=st.booleans(),
)
def test_a_comparison_in_chunks_is_the_comparison(dtype, data, chunk, rows, exact):
    data = data * rows
    expected = np.array([value for value, _ in data]).reshape(rows, -1)
    with np.errstate(all="ignore"):
        got = expected + np.array([error for _, error in data]).reshape(rows, -1)
    if not is_float(dtype):
        sides = (np.nan_to_num(side, posinf=9, neginf=0).clip(0, 9) for side in (expected, got))
        expected, got = (side.round().astype(np.int64) for side in sides)
    got = from_reference(got, dtype)
    tolerance = Tolerance(reduction="9", exact=exact)

    whole = compare(got, expected, dtype, tolerance, {})
    cut = compare(got, expected, dtype, tolerance, {}, chunk_elements=chunk)

    assert repr(cut) == repr(whole)  # a NaN equals itself only as text


@given(data=st.lists(st.floats(-10, 10), min_size=1, max_size=60), block=st.integers(1, 70))
def test_the_rms_does_not_depend_on_its_blocks_beyond_the_last_digits(data, block):
    expected = np.array(data)
    with pytest.MonkeyPatch.context() as patch:
        whole = comparing.scale_of(expected, "f32", Tolerance(), {})
        patch.setattr(comparing, "BLOCK_ELEMENTS", block)
        cut = comparing.scale_of(expected, "f32", Tolerance(), {})

    assert cut.rms == pytest.approx(whole.rms, rel=1e-13)


def test_a_reference_that_is_no_contiguous_array_is_compared_in_its_own_order():
    expected = np.arange(12.0).reshape(3, 4).T
    got = expected.astype(np.float32)
    got[2, 1] += 1

    assert compare(got, expected, "f32", Tolerance(), {}, chunk_elements=5).index == (2, 1)


def test_arrays_tell_their_module():
    assert module_of(np.zeros(2)) is np
    assert module_of(np.float64(2)) is np
    assert to_host(np.arange(3)).tolist() == [0, 1, 2]
    assert load_arrays("numpy") is np


def test_a_module_that_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)

    with pytest.raises(Unavailable, match=r"pip install 'cudanalyst\[gpu\]'"):
        load_arrays("cupy")


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
def test_every_problem_has_three_eval_sizes_of_which_one_is_large_and_odd(problem_id):
    problem = CATALOGUE.problem(problem_id)
    large = [sizes for sizes in problem.sizes["eval"] if is_large(problem, sizes)]

    assert len(problem.sizes["eval"]) >= 3
    assert large
    assert all(extent % 2 for sizes in large for extent in sizes.values())
    assert any(is_large(problem, sizes) for sizes in problem.sizes["held_out"])
    assert not any(is_large(problem, sizes) for sizes in problem.sizes["test"])


@pytest.mark.parametrize(("name", "says"), [("q", "is no size"), ("cols", "exactly one extent of output `out`")])
def test_a_size_that_outputs_are_not_cut_along_is_refused(tmp_path, name, says):
    from cudanalyst.kernels.loader import load_problem

    folder = tmp_path / "softmax"
    folder.mkdir()
    for file in ("problem.toml", "baseline.cu", "reference.py"):
        text = (CATALOGUE.entry("softmax").folder / file).read_text()
        text = text.replace('independent = "rows"', f'independent = "{name}"')
        (folder / file).write_text(text.replace('shape = ["rows", "cols"]', 'shape = ["rows", "cols * 1"]'))

    with pytest.raises(BadProblem, match=says):
        load_problem(folder)
