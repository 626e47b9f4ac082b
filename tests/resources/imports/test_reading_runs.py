"""Checkpoints of OpenEvolve and LLM4AD, written here in their layout: what is read, and what is refused."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources.imports.freezing import chosen
from cudanalyst.resources.imports.llm4ad import read_llm4ad
from cudanalyst.resources.imports.openevolve import read_openevolve
from cudanalyst.resources.imports.reading import MAX_DEPTH, Reader

CODE = 'extern "C" void solve(const float* x, float* y, int n) {{ /* {} */ }}\n'


def program(key, parent=None, generation=0, *, score=0.1, **more):
    return {
        "id": key,
        "code": CODE.format(key),
        "changes_description": "",
        "language": "cpp",
        "parent_id": parent,
        "generation": generation,
        "timestamp": 1.0,
        "iteration_found": generation,
        "metrics": {"combined_score": score, "runs": True},
        "complexity": 1.0,
        "diversity": 0.0,
        "metadata": {"changes": "Full rewrite", "island": 0, "llm": {"model": "served-model"}},
        "prompts": None,
        "artifacts_json": None,
        "artifact_dir": None,
        "embedding": None,
        **more,
    }


def openevolve(folder, programs, **metadata):
    (folder / "programs").mkdir(parents=True)
    for one in programs:
        (folder / "programs" / f"{one['id']}.json").write_text(json.dumps(one))
    whole = {
        "island_feature_maps": [{}],
        "islands": [[one["id"] for one in programs]],
        "archive": [],
        "best_program_id": programs[-1]["id"] if programs else None,
        "island_best_programs": [None],
        "last_iteration": 5,
        "current_island": 0,
        "island_generations": [1],
        "last_migration_generation": 0,
        "feature_stats": {},
        **metadata,
    }
    (folder / "metadata.json").write_text(json.dumps(whole))
    return folder


def llm4ad(folder, samples, populations=(), log=None):
    (folder / "samples").mkdir(parents=True)
    (folder / "population").mkdir()
    for first in range(0, len(samples), 200):
        rows = json.dumps(samples[first : first + 200], indent=4)
        (folder / "samples" / f"samples_{first + 1}~{first + 200}.json").write_text(rows)
    (folder / "samples" / "samples_best.json").write_text(json.dumps(samples[-1:]))
    for generation, rows in enumerate(populations, start=1):
        (folder / "population" / f"pop_{generation}.json").write_text(json.dumps(rows, indent=4))
    (folder / "population" / "end.json").write_text("[]")
    if log is not None:
        (folder / "run_log.txt").write_text(log)
    return folder


def sample(order, score=None, **more):
    return {
        "sample_order": order,
        "algorithm": f"{{idea {order}}}",
        "function": CODE.format(order),
        "score": score,
        **more,
    }


LINE = [program("a"), program("b", "a", 1, score=0.4), program("c", "b", 2, score=0.9), program("d", "a", 1, score=0.2)]


def test_an_openevolve_checkpoint_gives_programs_with_lineage_models_and_claims(tmp_path):
    run = read_openevolve(openevolve(tmp_path / "checkpoint_5", LINE, best_program_id="c"))
    assert [one.key for one in run.programs] == ["a", "b", "d", "c"]
    assert run.ancestors("c") == ("a", "b")
    best = run.program("c")
    assert (best.generation, best.model, best.claims) == (2, "served-model", {"combined_score": 0.9, "runs": True})
    assert best.found_in == "programs/c.json"
    assert run.backbone.startswith("openevolve-")


def test_of_an_output_folder_the_newest_checkpoint_is_read(tmp_path):
    openevolve(tmp_path / "checkpoints" / "checkpoint_9", [program("old")])
    openevolve(tmp_path / "checkpoints" / "checkpoint_10", [program("new")])
    assert [one.key for one in read_openevolve(tmp_path).programs] == ["new"]


def test_a_parent_that_was_dropped_begins_the_lineage_and_is_told(tmp_path):
    run = read_openevolve(openevolve(tmp_path / "checkpoint_1", [program("b", "gone", 3)]))
    assert run.ancestors("b") == ()
    assert any("1 programs name a parent" in note for note in run.notes)


def test_the_same_run_has_the_same_backbone_wherever_it_lies(tmp_path):
    one = read_openevolve(openevolve(tmp_path / "one", LINE))
    other = read_openevolve(openevolve(tmp_path / "other", list(reversed(LINE)), best_program_id="c"))
    different = read_openevolve(openevolve(tmp_path / "third", LINE[:2]))
    assert one.backbone == other.backbone != different.backbone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": 7}, "programs/x.json: code: must be a text that is not empty, is a number"),
        ({"code": "  "}, "programs/x.json: code: must be a text that is not empty"),
        ({"code": "x" * 1_000_001}, "programs/x.json: code: has 1000001 bytes"),
        ({"id": None}, "programs/x.json: id: must be a text"),
        ({"id": "y" * 301}, "programs/x.json: id: has 301 characters"),
        ({"generation": "two"}, "programs/x.json: generation: must be a whole number"),
        ({"generation": True}, "programs/x.json: generation: must be a whole number"),
        ({"generation": -1}, "programs/x.json: generation: must be a whole number"),
        ({"parent_id": ["a"]}, "programs/x.json: parent_id: must be a text or null, is a list"),
        ({"metrics": [1]}, "programs/x.json: metrics: must be an object of metrics, is a list"),
        ({"metadata": "none"}, "programs/x.json: metadata: must be an object, is a text"),
        ({"language": "python"}, "programs/x.json: language: is 'python'; only CUDA"),
    ],
)
def test_a_malformed_program_is_refused_with_file_and_field(tmp_path, change, message):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    (folder / "programs" / "x.json").write_text(json.dumps({**program("x"), **change}))
    with pytest.raises(BadRequest) as caught:
        read_openevolve(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "metadata.json: line 1, column 2: no JSON"),
        ("[]", "metadata.json: must be an object, is a list"),
        ("[" * 100_000, "metadata.json: nested too deeply"),
        ('{"a":' * 80 + "1" + "}" * 80, f"metadata.json: nested more than {MAX_DEPTH} levels"),
        ("9" * 5000, "metadata.json: a number has too many digits"),
        ('"\udcff"', "metadata.json: byte 1 is no text in UTF-8"),
    ],
)
def test_metadata_that_is_no_json_object_is_refused(tmp_path, text, message):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    (folder / "metadata.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadRequest) as caught:
        read_openevolve(folder)
    assert message in str(caught.value)


def test_parents_in_a_circle_are_refused(tmp_path):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a", "b"), program("b", "a")])
    with pytest.raises(BadRequest, match=r"programs/[ab]\.json: parent_id: .* must not be a circle"):
        read_openevolve(folder)


def test_a_program_that_stands_in_two_files_is_refused(tmp_path):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    (folder / "programs" / "b.json").write_text(json.dumps(program("a")))
    with pytest.raises(BadRequest, match=r"programs/b.json: id: 'a' is also in programs/a.json"):
        read_openevolve(folder)


def test_nothing_is_read_through_a_link_out_of_the_checkpoint(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(program("secret")))
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    (folder / "programs" / "b.json").symlink_to(secret)
    with pytest.raises(BadRequest, match=r"programs/b.json: is a link out of"):
        read_openevolve(folder)


def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(tmp_path):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    os.mkfifo(folder / "programs" / "b.json")
    with pytest.raises(BadRequest, match=r"programs/b.json: no plain file"):
        read_openevolve(folder)


def test_files_are_bounded_alone_and_together(tmp_path):
    (tmp_path / "big.json").write_text(json.dumps("x" * 200))
    with pytest.raises(BadRequest, match=r"big.json: more than 100 bytes"):
        Reader(tmp_path, max_file=100).json(tmp_path / "big.json")
    reader = Reader(tmp_path, max_total=300)
    reader.json(tmp_path / "big.json")
    with pytest.raises(BadRequest, match="too much with the files before it"):
        reader.json(tmp_path / "big.json")


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.mkdir()])
def test_what_is_no_checkpoint_is_refused_with_what_to_give(tmp_path, make):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(BadRequest, match="Give a"):
        read_openevolve(path)
    with pytest.raises(BadRequest, match="Give the log folder"):
        read_llm4ad(path)


def test_claims_that_json_cannot_hold_become_none(tmp_path):
    folder = openevolve(tmp_path / "checkpoint_1", [program("a")])
    text = json.dumps({**program("a"), "metrics": {"x": float("nan"), "y": float("-inf"), "z": 2, "deep": {"a": 1}}})
    (folder / "programs" / "a.json").write_text(text.replace('"z": 2', '"z": 1e999'))
    assert read_openevolve(folder).program("a").claims == {"x": None, "y": None, "z": None}


def test_an_llm4ad_log_gives_programs_with_generations_scores_and_the_method(tmp_path):
    samples = [sample(1, -3.0), sample(2, -1.0), sample(3), sample(4, -2.0)]
    strip = ("algorithm", "function", "score")
    populations = [
        [{name: one[name] for name in strip} for one in samples[:2]],
        [{name: one[name] for name in strip} for one in (samples[1], samples[3])],
    ]
    log = "[2025-01-01 00:00:00] profile.py(1) :   - _key: sk-very-secret\n[x] p(1) :   - _model: some-model\n[x] p(1) :   - Method: EoH\n"
    run = read_llm4ad(llm4ad(tmp_path / "run", samples, populations, log))
    assert {one.key: one.generation for one in run.programs} == {
        "sample 1": 1,
        "sample 2": 1,
        "sample 3": 0,
        "sample 4": 2,
    }
    assert (run.best, run.method, run.program("sample 2").model) == ("sample 2", "EoH", "some-model")
    assert run.program("sample 3").claims["score"] is None
    assert run.ancestors("sample 4") == ()
    assert "secret" not in run.model_dump_json()


def test_a_sample_with_its_whole_program_gives_that_program(tmp_path):
    run = read_llm4ad(
        llm4ad(tmp_path / "run", [sample(1, 1.0, program=CODE.format("whole")), sample(2, 2.0, program="")])
    )
    assert "whole" in run.program("sample 1").code
    assert "/* 2 */" in run.program("sample 2").code


def test_members_of_a_population_that_no_sample_file_holds_are_kept(tmp_path):
    seed = {"algorithm": "seed", "function": CODE.format("seed"), "score": 0.5}
    run = read_llm4ad(llm4ad(tmp_path / "run", [sample(1, 0.1)], [[seed]]))
    assert {one.key for one in run.programs} == {"sample 1", "population 1: 0"}


def test_several_scores_are_claims_of_their_own(tmp_path):
    run = read_llm4ad(llm4ad(tmp_path / "run", [sample(1, [1.0, -2.0])]))
    assert run.program("sample 1").claims == {"score_0": 1.0, "score_1": -2.0, "algorithm": "{idea 1}"}


def test_more_than_one_file_of_samples_is_read(tmp_path):
    run = read_llm4ad(llm4ad(tmp_path / "run", [sample(k, float(k)) for k in range(1, 251)]))
    assert len(run.programs) == 250
    assert run.best == "sample 250"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"sample_order": 1}, "must be a list of programs"),
        ([1], "[0]: must be an object, is a number"),
        ([{"sample_order": 1, "score": 1.0}], "[0]: function: must be a text that is not empty, is missing"),
        ([sample("first")], "[0]: sample_order: must be a whole number"),
        ([sample(1), {**sample(1), "function": "other"}], "[1]: sample_order: is also that of"),
    ],
)
def test_a_malformed_sample_is_refused_with_file_and_place(tmp_path, rows, message):
    folder = llm4ad(tmp_path / "run", [sample(1)])
    (folder / "samples" / "samples_1~200.json").write_text(json.dumps(rows))
    with pytest.raises(BadRequest) as caught:
        read_llm4ad(folder)
    assert message in str(caught.value)
    assert "samples/samples_1~200.json" in str(caught.value)


def test_programs_to_freeze_follow_the_choice(tmp_path):
    run = read_openevolve(openevolve(tmp_path / "checkpoint_1", LINE, best_program_id="c"))
    keys = {
        choice: [one.key for one in chosen(run, choice, 10)] for choice in ("best", "lineage", "generations", "all")
    }
    assert keys == {
        "best": ["c"],
        "lineage": ["a", "b", "c"],
        "generations": ["a", "b", "c"],
        "all": ["a", "b", "d", "c"],
    }
    assert [one.key for one in chosen(run, "lineage", 2)] == ["b", "c"]
    assert [one.key for one in chosen(run, "generations", 2)] == ["a", "c"]
    with pytest.raises(BadRequest, match=r"4 programs, more than 3: raise --limit"):
        chosen(run, "all", 3)
    with pytest.raises(BadRequest, match="does not say which program is its best"):
        chosen(run.model_copy(update={"best": None}), "best", 3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "id",
    "code",
    "language",
    "parent_id",
    "generation",
    "metrics",
    "metadata",
    "sample_order",
    "function",
    "score",
    "program",
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6), JSON, st.data())
def test_any_json_is_read_or_refused_and_never_crashes(tmp_path_factory, changed, metadata, data):
    folder = openevolve(tmp_path_factory.mktemp("any") / "checkpoint_1", [program("a")])
    (folder / "programs" / "b.json").write_text(json.dumps({**program("b", "a", 1), **changed}))
    if data.draw(st.booleans()):
        (folder / "metadata.json").write_text(json.dumps(metadata))
    log = llm4ad(folder.parent / "run", [sample(1)])
    (log / "population" / "pop_1.json").write_text(json.dumps([{**sample(2), **changed}]))
    (log / "samples" / "samples_1~200.json").write_text(json.dumps([sample(1), {**sample(2), **changed}]))
    refused = []
    for read, path in ((read_openevolve, folder), (read_llm4ad, log)):
        try:
            run = read(path)
        except BadRequest as error:
            refused.append(str(error))
        else:
            assert run.programs
            assert all(one.code.strip() for one in run.programs)
    assert all(".json" in text for text in refused)
