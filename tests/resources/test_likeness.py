"""A program in disguise is the same program; kernels of different problems are not."""

import re
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudanalyst
from cudanalyst.resources.likeness import ALIKE, resembles, shared

PROBLEMS = Path(cudanalyst.__file__).parent / "kernels" / "problems"
BASELINES = {path.parent.name: path.read_text("utf-8") for path in sorted(PROBLEMS.glob("*/baseline.cu"))}
OWN_NAME = re.compile(r"\b(?!if|for|int|float|return|const|unsigned|void|while|else)([a-z][a-z_]{0,12})\b(?!Idx|Dim)")


def renamed(text: str) -> str:
    """Every simple name but the language's own another."""
    fixed = {"extern", "include", "static", "double", "char", "long", "short", "bool", "auto", "struct", "sizeof", "do"}
    fixed |= {"x", "y", "z", "size_t", "constexpr", "template", "typename", "half", "dim"}
    return OWN_NAME.sub(lambda found: found[0] if found[0] in fixed else f"{found[0]}_of_mine", text)


@pytest.mark.parametrize("problem", sorted(BASELINES))
def test_other_names_comments_figures_and_surroundings_hide_nothing(problem: str) -> None:
    program = BASELINES[problem]
    assert resembles(renamed(program), program)
    assert resembles(re.sub(r"\b\d+\b", "7", program), program)
    assert resembles("// quite another program\n" + re.sub(r"\s+", "  ", re.sub(r"//[^\n]*", "", program)), program)
    assert resembles(f"int before = 1;\n{program}\nint after() {{ return 2; }}", program)


def test_programs_of_different_problems_are_told_apart() -> None:
    pairs = list(permutations(sorted(BASELINES), 2))
    assert len(pairs) > 50
    assert not [pair for pair in pairs if shared(BASELINES[pair[0]], BASELINES[pair[1]]) >= ALIKE]


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_can_be_compared(one: str, other: str) -> None:
    assert 0 <= shared(one, other) <= 1
    assert resembles(one, one)
