"""Running the tool around a process: command lines, files, failures, hangs; the tool itself is a script here."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.checks import report_of
from cudanalyst.tools.findings import Finding
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.argv import Options, arguments
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer, find_sanitizer, parse_version
from cudanalyst.tools.toolchain.sanitizer.places import Allocation
from cudanalyst.tools.toolchain.sanitizer.running import (
    Driven,
    Target,
    sanitize_together,
)
from tests.tools.fakes import ended

pytestmark = pytest.mark.anyio
TARGET = Target(PathNames("k.cu", {}))
SCRIPT = """#!{python}
import pathlib, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 1)")
    raise SystemExit
value = lambda option: words[words.index(option) + 1]
folder = pathlib.Path("{folder}")
target = words[words.index("END") + 1:]
tool = value("--tool")
name = dict(part.split("=") for part in target).get(tool, "alone." + tool)
for kind, option in (("xml", "--save"), ("txt", "--log-file")):
    source = folder / (name + "." + kind)
    if source.exists():
        pathlib.Path(value(option)).write_bytes(source.read_bytes())
"""


@pytest.fixture
def sanitizer(recordings, tmp_path) -> Sanitizer:
    """A stand-in that writes recorded files, chosen by the words after its options."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    for name, data in recordings.files.items():
        if name.startswith(("alone", "talk", "raw", "uninit_many")):
            (folder / name).write_bytes(data)
    path = tmp_path / "bin" / "compute-sanitizer"
    path.parent.mkdir()
    path.write_text(SCRIPT.format(python=sys.executable, folder=folder))
    path.chmod(0o755)
    return Sanitizer(path, "2025.3.1.0")


def driving(*target: str, allocations: tuple[Allocation, ...] = (), hung: str | None = None, **execution):
    started: list[Sequence[str | Path]] = []

    async def drive(prefix: Sequence[str | Path]) -> Driven:
        started.append(prefix)
        await run_process([*prefix, "END", *target], timeout_s=20)
        return Driven(ended(execution.pop("how", "returned"), **execution), allocations, hung)

    drive.started = started
    return drive


async def memchecked(sanitizer: Sanitizer, drive, work: Path):
    (result,) = await sanitize_together(sanitizer, ("memcheck",), drive, TARGET, work=work, replayed=True)
    return result


async def test_a_clean_replay_is_clean_and_its_time_is_told(sanitizer, tmp_path) -> None:
    result = await memchecked(sanitizer, driving(), tmp_path)
    assert (result.findings, result.failed, result.broken, result.note) == ((), None, None, None)
    assert result.coverage.endswith("(compute-sanitizer 2025.3.1.0)")
    assert result.wall_s is not None
    assert report_of("memcheck", [result]).report.verdict == "clean"


async def test_findings_of_a_replay_name_the_executors_buffers(sanitizer, tmp_path) -> None:
    drive = driving("memcheck=talk.k_oob.memcheck", allocations=(Allocation("x", 0x7F6864800000, 4000),))
    result = await memchecked(sanitizer, drive, tmp_path)
    assert [(finding.kind, finding.address) for finding in result.findings] == [
        ("invalid_global_read", "x[4000 B] + 4000")
    ]


async def test_the_tools_are_run_side_by_side_and_answer_in_order(sanitizer, tmp_path) -> None:
    drive = driving("racecheck=raw.racecheck")
    checks = ("synccheck", "racecheck", "memcheck", "initcheck")
    results = await sanitize_together(sanitizer, checks, drive, TARGET, work=tmp_path, replayed=True)
    assert [result.check for result in results] == list(checks)
    assert [len(result.findings) for result in results] == [0, 1, 0, 0]
    ports = [prefix[prefix.index("--port") + 1] for prefix in drive.started]
    assert len(set(ports)) == len(checks)


async def test_a_tool_that_leaves_nothing_has_failed(sanitizer, tmp_path) -> None:
    result = await memchecked(sanitizer, driving("memcheck=none"), tmp_path)
    report = report_of("memcheck", [result]).report
    assert report.verdict == "tool_failed"
    assert "did not start" in (report.reason or "")


async def test_a_kernel_that_hangs_is_a_finding_and_not_the_tools_failure(sanitizer, tmp_path) -> None:
    drive = driving("memcheck=none", how="timed_out", hung="spin(int*)")
    result = await memchecked(sanitizer, drive, tmp_path)
    outcome = report_of("memcheck", [result])
    assert [finding.kind for finding in outcome.findings] == ["endless_loop"]
    assert "spin(int*) did not end within the time limit under memcheck" in outcome.findings[0].message
    assert outcome.hung_on_host is False


async def test_errors_that_take_longer_to_write_down_than_there_is_time_are_no_hang(sanitizer, tmp_path) -> None:
    drive = driving("initcheck=uninit_many.initcheck", how="timed_out", hung="uninit_many")
    (result,) = await sanitize_together(sanitizer, ("initcheck",), drive, TARGET, work=tmp_path, replayed=True)
    outcome = report_of("initcheck", [result])
    assert [(finding.kind, finding.count) for finding in outcome.findings] == [("uninitialized_global_read", 100)]
    assert "stopped while it wrote many errors down" in (outcome.report.note or "")
    assert (outcome.report.reason, outcome.hung_on_host) == (None, False)


async def test_a_call_that_was_refused_before_the_tool_is_a_finding_of_memcheck_alone(sanitizer, tmp_path) -> None:
    refused = Finding(check="memcheck", kind="invalid_launch", message="too much shared memory")

    async def drive(prefix):
        await run_process([*prefix, "END"], timeout_s=20)
        return Driven(ended("returned"), refused=(refused,))

    results = await sanitize_together(sanitizer, ("memcheck", "racecheck"), drive, TARGET, work=tmp_path, replayed=True)
    assert [result.findings for result in results] == [(refused,), ()]


@pytest.mark.parametrize(
    ("check", "host", "stacks"),
    [("memcheck", True, "yes"), ("memcheck", False, "device"), ("initcheck", True, "no"), ("initcheck", False, "no")],
)
def test_initcheck_never_writes_stacks_which_would_take_it_too_long(check, host, stacks, tmp_path) -> None:
    options = Options(check, tmp_path / "a", tmp_path / "b", host_stack=host)
    line = arguments(Path("/x/compute-sanitizer"), options, ["run"])
    assert line[line.index("--show-backtrace") + 1] == stacks


async def test_a_process_that_cannot_be_started_is_no_clean_result(sanitizer, tmp_path) -> None:
    async def drive(prefix):
        raise Unavailable("the executor is not there; build it")

    result = await memchecked(sanitizer, drive, tmp_path)
    report = report_of("memcheck", [result]).report
    assert (report.verdict, report.reason) == ("tool_failed", "the executor is not there; build it")


async def test_nothing_is_left_in_the_work_folder(sanitizer, tmp_path) -> None:
    before = set(tmp_path.iterdir())
    await memchecked(sanitizer, driving(), tmp_path)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("check", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_child_processes_are_never_tracked(check, tmp_path) -> None:
    line = arguments(Path("/x/compute-sanitizer"), Options(check, tmp_path / "a", tmp_path / "b"), ["run"])
    assert line[line.index("--target-processes") + 1] == "application-only"
    assert (line[0], line[-1]) == (Path("/x/compute-sanitizer"), "run")
    assert line[line.index("--tool") + 1] == check


async def test_the_tool_is_found_on_path_with_its_version(sanitizer) -> None:
    found = await find_sanitizer({"PATH": str(sanitizer.path.parent)}, ())
    assert (found.path, found.version) == (sanitizer.path, "2025.3.1.0")


async def test_a_missing_tool_says_how_to_get_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("cudanalyst.tools.toolchain.sanitizer.find._LOCAL_TOOLKITS", str(tmp_path))
    with pytest.raises(Unavailable, match="install the CUDA toolkit's compute-sanitizer"):
        await find_sanitizer({"PATH": str(tmp_path)}, ())


async def test_a_tool_that_does_not_answer_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("cudanalyst.tools.toolchain.sanitizer.find._LOCAL_TOOLKITS", str(tmp_path / "none"))
    broken = tmp_path / "compute-sanitizer"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(Unavailable, match="does not tell its version"):
        await find_sanitizer({"PATH": f"{tmp_path}{os.pathsep}/nowhere"}, ())


@pytest.mark.parametrize(("text", "version"), [("Version 2025.3.1.0 (build 1)", "2025.3.1.0"), ("Version 12", None)])
def test_the_version_is_read_from_the_tools_answer(text, version) -> None:
    assert parse_version(f"NVIDIA (R) Compute Sanitizer\n{text}") == version
