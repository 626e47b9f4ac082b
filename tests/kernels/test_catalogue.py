"""Which problems there are, and what their references give."""

import os
import shutil

import numpy as np
import pytest

from cudanalyst.errors import BadProblem, NotFound
from cudanalyst.kernels.catalogue import BUILT_IN, VARIABLE, Catalogue
from cudanalyst.kernels.inputs import make_inputs


def own_problem(parent, name="my_add"):
    folder = shutil.copytree(BUILT_IN / "vector_add", parent / name, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "problem.toml").read_text()
    (folder / "problem.toml").write_text(text.replace('id = "vector_add"', f'id = "{name}"'))
    return folder


def test_the_built_in_problems_are_there():
    expected = {
        "layernorm",
        "spmv",
        "vector_add",
        "matmul",
        "softmax",
        "reduction",
        "transpose",
        "stencil2d",
        "histogram",
        "byte_sums",
    }

    assert expected <= set(Catalogue().ids)


def test_a_folder_of_problems_and_a_single_problem_can_be_added(tmp_path):
    (tmp_path / "many").mkdir()
    own_problem(tmp_path / "many", "first_add")
    own_problem(tmp_path / "many", "second_add")
    single = own_problem(tmp_path, "third_add")

    catalogue = Catalogue.from_environment({VARIABLE: f"{tmp_path / 'many'}{os.pathsep}{single}"})

    assert {"first_add", "second_add", "third_add", "matmul"} <= set(catalogue.ids)
    assert catalogue.problem("second_add").id == "second_add"


def test_an_unknown_problem_is_answered_with_what_there_is():
    with pytest.raises(NotFound, match=r"no problem `matmull`; did you mean `matmul`\? known are: byte_sums, "):
        Catalogue().problem("matmull")


def test_two_problems_of_one_name_are_refused(tmp_path):
    own_problem(tmp_path, "matmul")

    with pytest.raises(BadProblem, match="there is a problem `matmul` already"):
        Catalogue([tmp_path])


@pytest.mark.parametrize("make", [False, True])
def test_a_folder_without_problems_is_refused(tmp_path, make):
    folder = tmp_path / "empty"
    if make:
        folder.mkdir()

    with pytest.raises(BadProblem, match=r"no such folder|holds no problem\.toml"):
        Catalogue([folder])


def test_a_bad_problem_leaves_the_others_usable(tmp_path):
    (own_problem(tmp_path) / "baseline.cu").unlink()
    catalogue = Catalogue([tmp_path])

    with pytest.raises(BadProblem, match=r"baseline\.cu"):
        catalogue.problem("my_add")
    assert catalogue.problem("matmul").id == "matmul"


def reference_of(tmp_path, body):
    folder = own_problem(tmp_path)
    (folder / "reference.py").write_text(f"import numpy as np\n\n\ndef reference(inputs, sizes):\n    {body}\n")
    catalogue = Catalogue([folder])
    inputs = make_inputs(catalogue.problem("my_add"), {"n": 4}, 0)
    return catalogue, inputs


def test_a_reference_gets_float64_copies(tmp_path):
    catalogue, inputs = reference_of(
        tmp_path, "inputs['a'] += 1.0; return {'out': inputs['a'] * (inputs['a'].dtype == np.float64)}"
    )
    before = inputs.arrays["a"].copy()

    given = catalogue.expected("my_add", inputs, {"n": 4})["out"]

    assert np.array_equal(inputs.arrays["a"], before)
    assert np.array_equal(given, before.astype(np.float64) + 1.0)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return inputs['c']", "fails at {'n': 4}: KeyError"),
        ("return None", "must return a dict with exactly the outputs: out"),
        ("return {'a': inputs['a']}", "must return a dict with exactly the outputs: out"),
        ("return {'out': inputs['a'][1:]}", "has shape (3,)"),
        ("return {'out': inputs['a'].astype(np.float32)}", "is float32; it must be float64"),
        ("return {'out': np.ones(4, np.int64)}", "is int64; it must be float64"),
        ("pass\n\n1 / 0", "fails as it is imported: ZeroDivisionError"),
    ],
)
def test_a_bad_reference_is_refused_with_its_file(tmp_path, body, says):
    catalogue, inputs = reference_of(tmp_path, body)

    with pytest.raises(BadProblem) as caught:
        catalogue.expected("my_add", inputs, {"n": 4})

    assert "reference.py: " in str(caught.value)
    assert says in str(caught.value)
