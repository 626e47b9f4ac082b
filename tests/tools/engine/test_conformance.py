"""The API answers the conformance program's questions as an H200's runtime and driver did.

Where the engine answers otherwise, `conformance/differences.py` says why; what is not listed there must be equal, line by line.
"""

import functools
import os
from pathlib import Path

import pytest

from tests.tools.engine.conformance import cases
from tests.tools.engine.conformance.differences import CODES, LINES, UNTIL
from tests.tools.engine.conftest import Bench

RECORDED = cases.recorded()


@functools.cache
def answers(program: Path) -> dict[str, list[str]]:
    return cases.all_answers(program, at_once=os.cpu_count() or 1)


@pytest.fixture(scope="module")
def seen(bench: Bench) -> dict[str, list[str]]:
    return answers(bench.compile(f'#include "{cases.SOURCE}"\n', *cases.FLAGS))


def expected(case: str) -> list[str]:
    """What an H200 answered, as far as the engine is to answer alike."""
    lines = RECORDED[case]
    if lines[-1] == cases.CRASHED:
        lines = lines[:-2]  # the last question ended the process, which is no answer
    if case in UNTIL:
        last = UNTIL[case][0]
        lines = lines[: lines.index(last) + 1] if last else []
    theirs, ours, _ = CODES.get(case, ("", "", ""))
    return [f"{line.removesuffix(theirs)}{ours}" if theirs and line.endswith(f": {theirs}") else line for line in lines]


@pytest.mark.parametrize("case", RECORDED)
def test_the_engine_answers_as_an_h200(seen: dict[str, list[str]], case: str) -> None:
    wanted = expected(case)
    known = LINES.get(case, {})
    wrong = [
        f"{theirs!r} on an H200, {ours!r} here"
        for ours, theirs in zip(seen[case], wanted, strict=False)
        if ours != theirs and known.get(theirs, ("", ""))[0] != ours
    ]
    assert not wrong
    assert len(seen[case]) >= len(wanted)


def test_every_difference_is_still_one(seen: dict[str, list[str]]) -> None:
    stale = [
        f"{case}: {theirs}"
        for case, known in LINES.items()
        for theirs, (ours, _) in known.items()
        if theirs not in RECORDED[case] or ours not in seen[case]
    ]
    assert not stale
