"""Experiment files: what is read is what was written, and what is wrong is named with its place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.file import MAX_TEXT, read_design, written
from cudanalyst.resources.design.models import CheckpointEntry, Design

HANDLE = "chk_" + "a" * 32
WHOLE = """
name = "three-models"
kind = "exploratory"
seed = 7
players = ["analyzer", "debugger", "profiler"]
coalitions = "all"
regimes = ["P+NF", "NP+F", "P+F", "P+S", "DP", "RF", "PT"]
repeats = 10
horizons = [1]

[[backbones]]
id = "reduce-eoh-1"
problem = "reduce_sum"
agent = "strong-a"
operator = "eoh"
generations = [1, 5, 10]

[[planners]]
name = "strong-a"
kind = "scripted"
options = { tremble = 0.05 }

[[planners]]
name = "weak-a"
kind = "scripted"
plans_from = ["strong-a"]

[sentinels]
coalition = ["analyzer", "debugger"]
regime = "P+F"

[budget]
calls = 20000

[thresholds]
fast = 1.2

[analysis]
primary_level = "fast_modelled"
"""


def test_a_file_is_read_and_written_back_to_an_equal_design() -> None:
    design = read_design(WHOLE)
    assert read_design(written(design)) == design
    assert design.planner("weak-a").plans_from == ("strong-a",)
    assert design.thresholds.fast == 1.2
    assert design.analysis.primary_level == "fast_modelled"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("repeats", "repeets", "repeets: unknown; did you mean `repeats`?"),
        (
            "{ tremble",
            "{ temperature = 1 }\noption = { tremble",
            "planners[0].option: unknown; did you mean `options`?",
        ),
        ('"P+NF"', '"P+N"', "regimes[0]: input should be 'NP+NF'"),
        ('"weak-a"', '"strong-a"', "planners.name: 'strong-a' is named twice"),
        ('["strong-a"]', '["strong-b"]', "planners[1].plans_from: 'strong-b' is no other planner (strong-a, weak-a)"),
        ("fast = 1.2", "fast = 0.5", "thresholds.fast: input should be greater than 1"),
        ("[1]\n", "[99]\n", "horizons[0]: input should be less than or equal to 20"),
        ("[1]\n", "[1, 3]\n", "horizons: regime PT"),
        ('"all"', "{ sample = 1 }", "coalitions.sample: input should be greater than or equal to 2"),
        ('"all"', '"al"', "coalitions: input should be 'all', { sample = N, seed = S }, or a list of lists of players"),
        ('"all"', '[["gcc"]]', "coalitions[0][0]: input should be 'compiler', 'analyzer', 'debugger' or 'profiler'"),
        ('"all"', '[["compiler"]]', "coalitions[0]: compiler is no player"),
        ('agent = "strong-a"', 'agent = "x"', "backbones[0].agent: 'x' is none of `planners`"),
        ("[1, 5, 10]", "[5, 1]", "backbones[0].generations: name each once, in rising order"),
        ('"P+F", "P+S"', '"P+S"', "sentinels.regime: P+F is none of `regimes`"),
        ('coalition = ["analyzer"', 'coalition = ["compiler"', "sentinels.coalition: compiler is no player"),
        ("calls = 20000", "calls = 0", "budget.calls: input should be greater than or equal to 1"),
        ('kind = "exploratory"', 'kind = "confirmatory"\nreuse = true', "reuse: a confirmatory design"),
        ('kind = "exploratory"', 'kind = "maybe"', "kind: input should be 'exploratory' or 'confirmatory'"),
        ('name = "three-models"', "", "name: field required"),
        ("seed = 7", "seed = 7 7", "not valid TOML"),
        ('primary_level = "', 'primary_levl = "', "analysis.primary_levl: unknown; did you mean `primary_level`?"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_what_is_allowed(old: str, new: str, said: str) -> None:
    assert old in WHOLE
    with pytest.raises(BadRequest) as refused:
        read_design(WHOLE.replace(old, new, 1))
    assert said in str(refused.value)


def test_a_design_needs_something_to_try_coalitions_on() -> None:
    with pytest.raises(BadRequest, match="checkpoints: an experiment needs checkpoints"):
        read_design('name = "x"\n[[planners]]\nname = "p"\nkind = "external"')


def test_a_design_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(BadRequest, match="at most"):
        read_design("#" * (MAX_TEXT + 1))


def test_handles_that_backbones_induced_do_not_change_what_was_declared() -> None:
    design = read_design(WHOLE)
    filled = design.with_checkpoints((CheckpointEntry(id=HANDLE, backbone="reduce-eoh-1", operator="eoh"),))
    assert filled != design
    assert filled.id == design.id
    assert filled.declared() == design
    other = design.with_checkpoints((CheckpointEntry(id=HANDLE),))
    assert other.id != design.id


@given(
    st.dictionaries(
        st.text(max_size=6),
        st.recursive(
            st.booleans()
            | st.integers(-(2**53), 2**53)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=6,
        ),
        max_size=4,
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=30),
)
def test_any_options_and_any_words_are_written_and_read_back(options: dict[str, object], words: str) -> None:
    planner = {"name": "p", "kind": "external", "options": options}
    checkpoints = [{"id": HANDLE, "backbone": "b"}]
    design = Design.model_validate(
        {"name": "x", "description": words, "planners": [planner], "checkpoints": checkpoints}
    )
    assert read_design(written(design)) == design


@settings(max_examples=200)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "planners", "regimes", "budget", "kind", "é", "0"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_file_holds_it_is_read_or_refused_in_words(value: object) -> None:
    data = {"name": "x", "checkpoints": [{"id": HANDLE}], "planners": [{"name": "p", "kind": "external"}]}
    if isinstance(value, dict):
        data |= value
    else:
        data["budget"] = value
    try:
        design = read_design(json.dumps(data))
    except BadRequest as error:
        assert "- " in str(error)  # noqa: PT017 - either of two ends is right
    else:
        assert read_design(written(design)) == design
