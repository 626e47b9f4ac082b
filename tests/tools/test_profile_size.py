"""At which size a candidate is profiled."""

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.extent import buffer_bytes
from cudanalyst.tools.profile_size import MOST_BYTES, profile_size, why_this_size
from tests.tools.fakes import DOUBLE

CATALOGUE = Catalogue()
BUDGET = 20e6


@pytest.mark.parametrize("name", CATALOGUE.ids)
def test_on_a_gpu_the_largest_eval_size_that_the_host_prepares_soon_is_taken(name):
    problem = CATALOGUE.problem(name)
    group, sizes = profile_size(problem, None, BUDGET, on_gpu=True)
    assert group == "eval"
    larger = [one for one in problem.sizes["eval"] if buffer_bytes(problem, one) > buffer_bytes(problem, sizes)]
    assert all(buffer_bytes(problem, one) > MOST_BYTES for one in larger)
    assert (why_this_size(problem, sizes) is None) == (not larger)


def test_the_product_of_matrices_is_large_enough_to_fill_a_gpu():
    assert profile_size(CATALOGUE.problem("matmul"), None, BUDGET, on_gpu=True)[1]["m"] > 1000


def test_the_cpu_engine_keeps_to_its_budget():
    assert profile_size(DOUBLE, None, 1e9, on_gpu=False) == ("eval", {"n": 16384})
    assert profile_size(DOUBLE, None, 1.0, on_gpu=False)[0] == "test"


def test_a_size_that_is_named_is_taken_where_it_can_be_run():
    problem = CATALOGUE.problem("vector_add")
    largest = problem.sizes["eval"][-1]
    assert profile_size(problem, largest, BUDGET, on_gpu=True) == ("eval", largest)
    assert why_this_size(problem, largest) is None
    with pytest.raises(BadRequest, match="only a GPU runs"):
        profile_size(problem, largest, BUDGET, on_gpu=False)
    with pytest.raises(BadRequest, match="has no sizes"):
        profile_size(problem, {"n": 5}, BUDGET, on_gpu=True)


def test_without_a_quick_eval_size_a_test_size_is_taken():
    problem = DOUBLE.model_copy(update={"sizes": {**DOUBLE.sizes, "eval": ({"n": MOST_BYTES},)}})
    assert profile_size(problem, None, BUDGET, on_gpu=True) == ("test", {"n": 128})
    assert "prepare" in why_this_size(problem, {"n": 128})


def test_a_large_size_whose_data_are_soon_prepared_is_left_to_a_sample_of_its_blocks():
    problem = CATALOGUE.problem("matmul")
    largest = problem.sizes["eval"][-1]
    assert profile_size(problem, largest, BUDGET, on_gpu=False) == ("eval", largest)
