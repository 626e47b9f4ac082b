"""Problem folders: what is read, and how a bad one is refused."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.catalogue import BUILT_IN
from cudanalyst.kernels.loader import load_problem


@pytest.fixture
def folder(tmp_path):
    """A sound problem folder of one's own to spoil."""
    return shutil.copytree(
        BUILT_IN / "vector_add", tmp_path / "vector_add", ignore=shutil.ignore_patterns("__pycache__")
    )


def spoil(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def refusal(folder):
    with pytest.raises(BadProblem) as caught:
        load_problem(folder)
    return str(caught.value)


def test_a_sound_folder_gives_a_problem_with_all_its_texts(folder):
    problem = load_problem(folder).problem

    assert problem.id == "vector_add"
    assert problem.size_names == ("n",)
    assert "out[i] = a[i] + b[i]" in problem.baseline
    assert [start.name for start in problem.starts] == ["broken", "faulty", "slow"]
    assert all(start.source.startswith("#include") for start in problem.starts)


def test_a_folder_without_an_edit_book_is_sound(folder):
    (folder / "edits.toml").unlink()
    shutil.rmtree(folder / "starts")

    problem = load_problem(folder).problem

    assert (problem.starts, problem.faults, problem.edits) == ((), (), ())


TOML = "problem.toml"
BOOK = "edits.toml"
N = "[sizes]\ntest = [{ n = 1000 }, { n = 1 }, { n = 997 }]"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (TOML, 'id = "vector_add"', 'id = "vector"', ["key `id`", "`vector`", "folder is called `vector_add`"]),
        (TOML, 'id = "vector_add"', 'id = "Vector"', ["key `id`", "given: 'Vector'"]),
        (TOML, 'id = "vector_add"', "", ["key `id` is missing"]),
        (TOML, "[work]", "[effort]", ["key `work` is missing"]),
        (TOML, "flops = ", "flopps = ", ["key `work.flopps` is unknown"]),
        (TOML, 'title = "', "title = ", ["not valid TOML", "line 2"]),
        (TOML, 'dtype = "f32"', 'dtype = "float"', ["key `parameters.0.dtype`", "given: 'float'"]),
        (TOML, 'role = "in"', 'role = "input"', ["key `parameters.0.role`"]),
        (TOML, 'shape = ["n"]', 'shape = ["N"]', ["key `parameters.0.shape`", "unknown name `N`", "sizes.test.0"]),
        (TOML, 'shape = ["n"]', "", ["key `parameters.0.shape` is missing"]),
        (TOML, 'shape = ["n"]', 'shape = ["n - 1"]', ["key `parameters.0.shape` gives 0 elements at sizes.test.1"]),
        (TOML, 'shape = ["n"]', 'shape = ["n * 2**30"]', ["key `parameters.0.shape` gives", "are possible"]),
        (TOML, 'name = "b"', 'name = "a"', ["key `parameters` has `a` 2 times"]),
        (TOML, 'name = "b"', 'name = "stream"', ["key `parameters.1.name`", "taken by the contract"]),
        (TOML, 'name = "b"', 'name = "b c"', ["key `parameters.1.name`", "not an identifier"]),
        (TOML, 'role = "out"', 'role = "in"', ["key `parameters` has no output"]),
        (TOML, '"normal | uniform', '"gauss | uniform', ["key `parameters.0.generator`", "unknown generator `gauss`"]),
        (TOML, '"normal | uniform', '"uniform(0, 1, 2) | uniform', ["key `parameters.0.generator`", "at sizes.test.0"]),
        (TOML, 'dtype = "f32"', 'dtype = "i32"', ["key `parameters.0.generator`", "gives fractions"]),
        (TOML, 'value = "n"', 'value = "n +"', ["key `parameters.3.value`", "not arithmetic"]),
        (TOML, 'value = "n"', 'shape = ["n"]', ["key `parameters.3.shape`", "scalar"]),
        (TOML, 'dtype = "i32"', 'dtype = "u8"', ["key `parameters.3.dtype`", "one of i32, i64, f32, f64"]),
        (TOML, "{ n = 997 }", "{ m = 997 }", ["key `sizes.test.2`", "make them equal"]),
        (TOML, "{ n = 997 }", "{ n = 0 }", ["key `sizes.test.2`", "below 1"]),
        (TOML, "{ n = 997 }", '{ n = "many" }', ["key `sizes.test.2.n`"]),
        (TOML, "held_out = ", "hidden = ", ["key `sizes.hidden"]),
        (TOML, "held_out = [{ n = 4099 }, { n = 33 }, { n = 33554467 }]", "", ["key `sizes.held_out` is missing"]),
        (TOML, N, N + "\ntests = []", ["key `sizes.tests"]),
        (TOML, 'reduction = "1"', 'reduction = "k"', ["key `tolerance.reduction`", "unknown name `k`"]),
        (TOML, 'flops = "n"', 'flops = "0 - n"', ["key `work.flops` is negative"]),
        (TOML, 'bytes_moved = "12*n"', 'bytes_moved = "n / 7"', ["key `work.bytes_moved`", "not an integer"]),
        (TOML, 'id = "vector_add"', 'id = "vector_add"\nbaseline = "x"', ["key `baseline`", "read from baseline.cu"]),
        (BOOK, "[[edits]]", "[[edit]]", ["unknown key `edit`", "starts, faults, edits"]),
        (BOOK, 'name = "broken"', 'name = "brokn"', ["key `starts.0.name`", "no starts/brokn.cu"]),
        (BOOK, 'faults = ["missing_semicolon"]', 'faults = ["typo"]', ["key `starts.0.faults` names `typo`"]),
        (BOOK, 'faults = ["missing_semicolon"]', "", ["`missing_semicolon` is in no start"]),
        (BOOK, 'visible_in = [["compiler"], ["analyzer"]]', "visible_in = []", ["key `faults.0.visible_in` is empty"]),
        (BOOK, '["compiler"]', '["linter"]', ["key `faults.0.visible_in.0.0`"]),
        (BOOK, 'fixes = ["missing_semicolon"]', 'fixes = ["typo"]', ["key `edits.0.fixes` names `typo`"]),
        (BOOK, 'fixes = ["missing_semicolon"]', "", ["key `edits.0.effect`"]),
        (BOOK, 'effect = "harm"', 'effect = "bad"', ["key `edits.", "effect`"]),
        (BOOK, 'id = "unroll"', 'id = "small_blocks"', ["key `edits` has `small_blocks` 2 times"]),
        (BOOK, '"missing_bounds_guard"]', '"(low"]', ["cues`", "`(low` is not a regular expression"]),
        (
            BOOK,
            'search = "const int threads = 256;"',
            'search = "blockIdx.y"',
            ["search`", "edit `small_blocks`", "exactly once in no start", "broken: 0"],
        ),
        (BOOK, 'search = "const int threads = 256;"', 'search = "threads"', ["search`", "slow: 4"]),
        ("reference.py", "def reference(", "def other(", ["defines no function `reference"]),
        ("reference.py", ", _sizes: dict[str, int]", "", ["must take (inputs, sizes)"]),
        ("reference.py", "return {", "return [", ["not valid Python"]),
    ],
)
def test_a_bad_key_is_named_with_its_file(folder, file, old, new, says):
    spoil(folder / file, old, new)

    text = refusal(folder)

    assert text.startswith(str(folder / file))
    for part in says:
        assert part in text


@pytest.mark.parametrize("file", ["problem.toml", "baseline.cu", "reference.py", "edits.toml", "starts/slow.cu"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()

    assert file in refusal(folder)


def test_a_start_without_an_entry_is_named(folder):
    (folder / "starts" / "spare.cu").write_text("// nothing")

    assert "starts/spare.cu has no entry" in refusal(folder)


def test_a_file_that_is_not_text_is_refused(folder):
    (folder / "baseline.cu").write_bytes(b"ok \xff")

    assert "baseline.cu: byte 3 is not UTF-8" in refusal(folder)


def test_a_file_that_is_too_long_is_refused(folder):
    (folder / "baseline.cu").write_text("/" * 1_000_001)

    assert "baseline.cu: 1000001 bytes" in refusal(folder)


def test_an_edit_book_that_is_not_a_list_of_tables_is_refused(folder):
    (folder / "edits.toml").write_text('starts = "slow"\n')

    assert "write [[starts]]" in refusal(folder)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    assert "no such folder" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("generator", "dtype", "says"),
    [
        ("integers(5, 4)", "i32", "the range 5..4 is empty"),
        ("integers(0, 300)", "u8", "300, beyond what u8 holds"),
        ("constant(0 - 1)", "u32", "-1, beyond what u32 holds"),
        ("permutation", "i8", "999, beyond what i8 holds"),
    ],
)
def test_a_generator_that_does_not_fit_its_buffer_is_refused(folder, generator, dtype, says):
    spoil(folder / TOML, 'dtype = "f32"', f'dtype = "{dtype}"')
    spoil(folder / TOML, "normal | uniform(-1, 1) | skewed_signed", generator)

    assert "key `parameters.0.generator`" in refusal(folder)
    assert says in refusal(folder)


SOUND = {file: (BUILT_IN / "vector_add" / file).read_text() for file in (TOML, BOOK)}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_is_refused_as_a_bad_problem_or_harmless(data):
    file = data.draw(st.sampled_from([TOML, BOOK]))
    text = SOUND[file]
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 40))
    damaged = text[:start] + data.draw(st.text("[]{}=\"'\n 0n-|()abc", max_size=8)) + text[start + length :]
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(BUILT_IN / "vector_add", Path(parent) / "vector_add")
        (folder / file).write_text(damaged)
        try:
            outcome = load_problem(folder).problem.id
        except BadProblem as error:
            outcome = str(error)

    assert outcome == "vector_add" or outcome.startswith(str(folder))
