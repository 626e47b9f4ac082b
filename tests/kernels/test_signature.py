"""The contract text that an author of a candidate reads."""

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Parameter
from cudanalyst.kernels.signature import c_parameter, c_signature, contract, skeleton

CATALOGUE = Catalogue()


def test_the_signature_has_the_parameters_in_order_and_the_stream_last():
    assert c_signature(CATALOGUE.problem("stencil2d")) == (
        'extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream)'
    )


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
def test_baselines_and_starts_export_exactly_this_signature(problem_id):
    problem = CATALOGUE.problem(problem_id)

    for source in (problem.baseline, *(start.source for start in problem.starts)):
        assert c_signature(problem) in " ".join(source.split())


@pytest.mark.parametrize(
    ("dtype", "role", "text"),
    [
        ("f16", "in", "const __half* p"),
        ("bf16", "out", "__nv_bfloat16* p"),
        ("i8", "inout", "signed char* p"),
        ("u32", "in", "const unsigned int* p"),
        ("i64", "scalar", "long p"),
        ("f64", "scalar", "double p"),
    ],
)
def test_element_types_have_their_c_names(dtype, role, text):
    assert c_parameter(Parameter(name="p", dtype=dtype, role=role)) == text


def test_the_contract_states_signature_rules_and_optional_functions():
    text = contract(CATALOGUE.problem("matmul"))

    assert c_signature(CATALOGUE.problem("matmul")) in text
    assert 'extern "C" size_t workspace_bytes(long m, long n, long k);' in text
    assert 'extern "C" int init(long m, long n, long k);' in text
    for rule in ("no host synchronisation", "Return 0", "ordered on `stream`", "not cleared"):
        assert rule in text


def test_the_skeleton_includes_the_headers_that_its_types_need():
    problem = CATALOGUE.problem("vector_add")
    half = problem.model_copy(
        update={"parameters": (Parameter(name="h", dtype="f16", role="out", shape=("n",)), *problem.parameters[3:])}
    )

    assert "#include <cuda_fp16.h>" in skeleton(half)
    assert "kernel<<<blocks, threads, 0, stream>>>(h, n);" in skeleton(half)
    assert "cuda_fp16" not in skeleton(problem)
