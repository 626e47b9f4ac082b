"""The suite of programs (`suite/README.md`): correct but tricky ones raise no alarm and print what a GPU printed; of faulty ones each is found at its line."""

import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from cudanalyst.tools.process import run_process, scrubbed_environment
from tests.tools.engine.conftest import Bench
from tests.tools.engine.suite import table
from tests.tools.engine.suite.record import cases_of

SUITE: Final = Path(__file__).parent / "suite"
DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "engine.md"
CORRECT: Final = {case: path for path in sorted((SUITE / "correct").glob("*.cu")) for case in cases_of(path)}
FAULTS: Final = {case: path for path in sorted((SUITE / "faults").glob("*.cu")) for case in cases_of(path)}
MARKER: Final = re.compile(r"// (FAULT|FAULT-OR) (\w+) (\w+) (\w+)")
SEEDS: Final = (0, 3)
"""Orders of the warps."""
STOPS: Final = {"cudaErrorAssert": "assertion_failed"}
"""Errors that have a kind of their own."""
LIMIT: Final = "300000"
"""Warp instructions after which a launch is taken to be endless."""


@dataclass(frozen=True)
class Found:
    """A finding at the place in the suite's own source, or without one."""

    check: str
    kind: str
    line: int | None


@dataclass(frozen=True)
class Outcome:
    """What a case printed, and all that its report says beyond launches."""

    status: int | None
    output: str
    findings: frozenset[Found]
    said: tuple[str, ...]


@dataclass
class Programs:
    """Compiles families together, since most of the time goes into headers, and runs their cases."""

    bench: Bench
    built: dict[str, Path] = field(default_factory=dict)
    clean: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    def binary(self, source: Path) -> Path:
        """The program that holds the cases of a source."""
        group = group_of(source)
        if group not in self.built:
            sources = [path for path in sorted(source.parent.glob("*.cu")) if group_of(path) == group]
            self.built[group] = self.bench.compile(together(sources), "--extended-lambda", f"-I{SUITE}")
        return self.built[group]

    def checked(self, case: str, source: Path, others: Iterable[str], seed: int) -> Outcome:
        """Runs a case under all checks; where nothing is found in it and others, all in one process, they need none of their own."""
        key = (group_of(source), str(seed))
        variables = {"CUDANALYST_MODE": "check", "CUDANALYST_SEED": str(seed)}
        if key not in self.clean:
            run = self.run(source, *others, **variables)
            nothing = run.status == 0 and not run.findings and not run.said
            self.clean[key] = sections(run.output) if nothing else {}
        if (output := self.clean[key].get(case)) is not None:
            return Outcome(0, output, frozenset(), ())
        return self.run(source, case, **variables)

    def run(self, source: Path, *cases: str, **variables: str) -> Outcome:
        """Runs cases under the engine."""
        report = self.bench.folder / "suite.jsonl"
        report.unlink(missing_ok=True)
        environment = scrubbed_environment(
            {
                "CUDANALYST_REPORT": str(report),
                "CUDANALYST_MAX_WARP_INSTRUCTIONS": LIMIT,
                **({"CUDANALYST_LEAK_CHECK": "1"} if cases[0].startswith("leak") else {}),
                **variables,
            }
        )
        process = asyncio.run(run_process([self.binary(source), *cases], env=environment, timeout_s=60))
        records = [json.loads(line) for line in report.read_text().splitlines()]
        said = tuple(
            f"{record['type']}: {record.get('name')} {record.get('message')} at line {record.get('line')}"
            for record in records
            if record["type"] in {"error", "unsupported", "watchdog"}
        )
        found = frozenset(
            Found(record["check"], record["kind"], line_in(record, source))
            for record in records
            if record["type"] == "finding"
        )
        if not found:  # what stops a kernel without a check's help
            found = frozenset(
                Found("memcheck", STOPS.get(record["name"], "device_fault"), line_in(record, source))
                for record in records
                if record["type"] == "error" and record["name"] != "cudaErrorLaunchTimeout"
            )
        return Outcome(process.exit_status, process.stdout.text, found, said)


def group_of(source: Path) -> str:
    """Which sources are compiled together: those with heavy headers, those without, the faults."""
    if source.parent.name == "faults":
        return "faults"
    return "heavy" if "<cuda/" in source.read_text() else "light"


def sections(output: str) -> dict[str, str]:
    """What each case printed, by its name."""
    parts = re.split(r"^(?=case \w+$)", output, flags=re.MULTILINE)
    return {part.split(maxsplit=2)[1]: part for part in parts if part}


def together(sources: Iterable[Path]) -> str:
    """One source that holds several, each in a namespace of its own."""
    sources = list(sources)
    headers = sorted(
        {line for path in sources for line in re.findall(r"^#include <.*>", path.read_text(), re.MULTILINE)}
    )
    own = sorted(
        {
            f'#include "{(path.parent / name).resolve().relative_to(SUITE)}"'
            for path in sources
            for name in re.findall(r'^#include "(.*)"', path.read_text(), re.MULTILINE)
        }
    )
    parts = [f'namespace suite_{path.stem} {{\n#include "{path.parent.name}/{path.name}"\n}}' for path in sources]
    return "\n".join([*headers, *own, *parts, ""])


def line_in(record: dict[str, Any], source: Path) -> int | None:
    """The innermost line in the source itself, of a place and those it was inlined at."""
    places = [record, *(record.get("inlined_at") or [])]
    lines: list[int] = [place["line"] for place in places if Path(place.get("file") or "").name == source.name]
    innermost: int | None = record["line"]
    return lines[0] if lines else innermost


REPORTED: Final = {"structures_with_padding": frozenset({Found("initcheck", "uninitialized_global_read", 175)})}
"""What the engine reports though it does no harm, as compute-sanitizer does: padding that is copied with its structure."""


def markers(case: str, source: Path) -> list[tuple[bool, Found]]:
    """What may be found in a case: whether it must be, and what it is."""
    return [
        (how == "FAULT", Found(check, kind, number))
        for number, line in enumerate(source.read_text().splitlines(), start=1)
        for how, name, check, kind in MARKER.findall(line)
        if name == case
    ]


def answers(found: Found, marked: Found) -> bool:
    """Whether a finding is the one that a marker names. Misuse of the host's API has no line."""
    return (found.check, found.kind) == (marked.check, marked.kind) and found.line in {marked.line, None}


@pytest.fixture(scope="module")
def programs(bench: Bench) -> Programs:
    """The suite, compiled when first asked for."""
    return Programs(bench)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """What an H200 printed."""
    return table.read(table.CORRECT)


@pytest.mark.parametrize("case", CORRECT)
def test_a_correct_program_prints_what_a_gpu_prints_and_raises_no_alarm(
    programs: Programs, recorded: dict[str, Any], case: str
) -> None:
    source = CORRECT[case]
    run = programs.run(source, case)
    assert (run.status, run.said) == (0, ()), run.output
    assert "WRONG" not in run.output
    if case in recorded:
        assert run.output == recorded[case]["printed"]
    others = [other for other, path in CORRECT.items() if group_of(path) == group_of(source) and other not in REPORTED]
    for seed in SEEDS:
        checked = programs.checked(case, source, others, seed)
        assert checked.findings <= REPORTED.get(case, frozenset()), f"with seed {seed}"
        assert (checked.status, checked.output, checked.said) == (run.status, run.output, run.said), f"with seed {seed}"


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_found_at_its_line_and_nothing_else_is(programs: Programs, case: str) -> None:
    source = FAULTS[case]
    marked = markers(case, source)
    if not marked:
        others = [other for other, path in FAULTS.items() if not markers(other, path)]
        run = programs.checked(case, source, others, seed=0)
        assert (run.findings, run.said) == (frozenset(), ())
        return
    run = programs.run(source, case, CUDANALYST_MODE="check")
    assert any(answers(found, mark) for found in run.findings for _, mark in marked), run
    for found in run.findings:
        assert any(answers(found, mark) for _, mark in marked), found
    for required, mark in marked:
        assert not required or any(answers(found, mark) for found in run.findings), f"not found: {mark}"


def test_alarms_of_compute_sanitizer_about_correct_programs_are_explained(recorded: dict[str, Any]) -> None:
    assert {case for case, said in recorded.items() if table.alarms(said)} == set(table.FALSE_ALARMS)
    assert set(recorded) <= set(CORRECT)


def test_the_document_says_where_the_engine_and_compute_sanitizer_differ() -> None:
    assert table.section() in DOCUMENT.read_text(), "`python3 -m tests.tools.engine.suite.table` prints it"
