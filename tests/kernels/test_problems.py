"""What is asked of every built-in problem."""

import math

import numpy as np
import pytest

from cudanalyst.kernels.catalogue import BUILT_IN, Catalogue
from cudanalyst.kernels.expressions import evaluate, evaluate_integer
from cudanalyst.kernels.extent import LARGE_BYTES, buffer_bytes, is_large
from cudanalyst.kernels.inputs import distribution_count, make_inputs, nbytes_of

CATALOGUE = Catalogue()
every_problem = pytest.mark.parametrize("problem_id", CATALOGUE.ids)


@every_problem
def test_held_out_sizes_are_neither_tested_nor_timed(problem_id):
    sizes = CATALOGUE.problem(problem_id).sizes
    shown = [*sizes["test"], *sizes["eval"]]

    assert all(hidden not in shown for hidden in sizes["held_out"])


@every_problem
@pytest.mark.parametrize("group", ["test", "eval", "held_out"])
def test_every_group_has_a_size_that_is_no_multiple_of_a_warp(problem_id, group):
    sets = CATALOGUE.problem(problem_id).sizes[group]

    assert any(all(value % 32 for value in sizes.values()) or sizes.get("n", 0) % 2 for sizes in sets)


@every_problem
def test_buffers_stay_small_enough_for_the_interpreter_or_are_for_a_gpu_of_24_gb(problem_id):
    problem = CATALOGUE.problem(problem_id)
    limits = {"test": 2**18, "held_out": 2**18, "eval": LARGE_BYTES}

    for group, sets in problem.sizes.items():
        for sizes in sets:
            limit = 5 * 2**30 if is_large(problem, sizes) else limits[group]
            assert buffer_bytes(problem, sizes) <= limit


@every_problem
def test_the_least_work_covers_the_dense_buffers_at_most_once(problem_id):
    problem = CATALOGUE.problem(problem_id)
    for sizes in problem.sizes["eval"]:
        bound = evaluate_integer(problem.work.bytes_moved, sizes)
        buffers = [parameter for parameter in problem.parameters if parameter.role != "scalar"]

        assert 0 < bound <= sum(nbytes_of(buffer, sizes) for buffer in buffers)
        assert evaluate(problem.work.flops, sizes) >= 0


@every_problem
def test_inputs_come_from_several_distributions_and_references_are_finite(problem_id):
    problem = CATALOGUE.problem(problem_id)

    assert distribution_count(problem) >= 2
    for index in range(distribution_count(problem)):
        sizes = problem.sizes["test"][1]
        inputs = make_inputs(problem, sizes, 3, index)
        for expected in CATALOGUE.expected(problem_id, inputs, sizes).values():
            assert np.isfinite(expected).all()


@every_problem
def test_a_description_tells_an_agent_what_to_compute(problem_id):
    problem = CATALOGUE.problem(problem_id)
    outputs = [parameter.name for parameter in problem.parameters if parameter.role in {"out", "inout"}]

    assert len(problem.description) > 100
    assert all(f"{name}[" in problem.description for name in outputs)


def test_reading_references_leaves_nothing_in_the_data_folders():
    for problem_id in CATALOGUE.ids:
        problem = CATALOGUE.problem(problem_id)
        sizes = problem.sizes["test"][1]
        outputs = CATALOGUE.expected(problem_id, make_inputs(problem, sizes, 0), sizes)
        assert math.prod(next(iter(outputs.values())).shape) > 0

    assert not list(BUILT_IN.glob("*/__pycache__"))
