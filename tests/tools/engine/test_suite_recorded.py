"""The suite's faults against what compute-sanitizer said of them on an H200: what it found stands among the markers, and what it found otherwise is explained."""

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.tools.engine.suite.record import cases_of

SUITE: Final = Path(__file__).parent / "suite"
RECORD: Final = SUITE / "recorded" / "faults-h200-cuda13.0-sanitizer2025.3.json.gz"
CASES: Final = {case: path for path in sorted((SUITE / "faults").glob("*.cu")) for case in cases_of(path)}
SEEN: Final[dict[str, dict[str, Any]]] = json.loads(gzip.decompress(RECORD.read_bytes()))["cases"]

EXPLAINED: Final = {
    "crossed_barriers_right": "synccheck takes warps that wait at one barrier in different places for divergent",
    "barrier_against_flag_right": "synccheck takes warps that wait at one barrier in different places for divergent",
    "pipeline_not_waited_for_right": "synccheck takes a pipeline's own barriers for misused, in the correct twin too",
    "pipeline_not_waited_for": "synccheck takes a pipeline's own barriers for misused, in the correct twin too",
    "waits_for_too_few": "racecheck names the line of the toolkit's header",
    "freed_in_another_stream": "memcheck tells of a stream-ordered race (asked for by the recorder alone) without a line",
    "trap": "memcheck names the line after the trap",
    "stack_overflow": "memcheck names the first line of the function that is too deep",
    "count_of_48": "the hardware stops at the barrier, and memcheck says so, at the same line",
    "two_counts": "the hardware stops at the barrier, and memcheck says so, at the same line; synccheck calls it divergent",
    "grid_sync_in_plain_launch": "the hardware stops there, and memcheck says so, at the same line",
    "mbarrier_not_initialised": "the hardware stops there, and memcheck says so, at the same line",
    "copied_on_the_device": "initcheck reports the copy itself; the engine lets it hand on what is unwritten and reports the read",
}
"""Where the two differ, and why."""
SAME_DEFECT: Final = {
    "use_after_free": "invalid_global",
    "use_before_allocation": "invalid_global",
    "double_free": "invalid_free",
}
"""The engine's kind, and what compute-sanitizer calls it: it knows no difference."""


def family(kind: str) -> str:
    """What both sides may call one defect."""
    for engine, sanitizer in SAME_DEFECT.items():
        if kind.startswith(engine):
            return sanitizer
    return re.sub(r"_(raw|war|waw|read|write|atomic)$", "", kind)


@pytest.mark.parametrize("case", [case for case in SEEN if case in CASES and case not in EXPLAINED])
def test_what_compute_sanitizer_found_is_marked_in_the_source(case: str) -> None:
    marked = [
        (family(kind), number)
        for number, line in enumerate(CASES[case].read_text().splitlines(), start=1)
        for name, kind in re.findall(r"// FAULT(?:-OR)? (\w+) \w+ (\w+)", line)
        if name == case
    ]
    found = {(family(kind), line) for said in SEEN[case].values() if said != "no result" for kind, line, _ in said}
    unknown = {
        (kind, line) for kind, line in found if not any(kind == mark[0] and line in {mark[1], None} for mark in marked)
    }
    assert unknown == set()


def test_most_faults_that_only_the_engine_finds_are_of_kinds_that_the_tool_has_no_check_for() -> None:
    faulty = [case for case in SEEN if case in CASES and f" {case} " in CASES[case].read_text()]
    missed = {case for case in faulty if not any(said and said != "no result" for said in SEEN[case].values())}
    families = {CASES[case].stem for case in missed}
    assert len(faulty) > 100
    assert {"race_global", "hangs"} <= families
