"""Killed with -9 in the middle of writing, or served by two processes: nothing acknowledged is lost or done twice.

A kill leaves the kernel's page cache alive, so this shows that no state lies in a process only; that the disk has it rests on
the flush of the log (syncing.py) and the fsync calls of the blobs.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cudanalyst.resources.store import Store
from cudanalyst.resources.trial_rows import rows_of
from tests.resources.test_regimes import begin, run, trials_of

CHILDREN = Path(__file__).parent / "children"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a script of `children`; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(CHILDREN / script), *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


def acknowledged_before_kill(process: subprocess.Popen[str], lines: int) -> list[str]:
    """Reads so many lines, kills, and returns all that was acknowledged, complete lines only."""
    assert process.stdout is not None
    with process:
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        said += process.stdout.readlines()
    return [line.rstrip("\n") for line in said if line.endswith("\n")]


@pytest.mark.parametrize("lines", [1, 7, 40])
def test_a_writer_killed_at_any_moment_loses_nothing_that_it_acknowledged(child, tmp_path: Path, lines: int) -> None:
    said = acknowledged_before_kill(child("append_for_ever.py", tmp_path / "store", "w", -1), lines)
    assert len(said) >= lines
    with Store.open(tmp_path / "store") as store:
        events = [recorded.event for recorded in store.events("ada")]
        plans = {event.plan for event in events}
        for line in said:
            index, blob = line.split()
            assert store.blob(blob) == f"w {index}".encode() * 300
            assert {f"w {index} {part}" for part in range(3)} <= plans
        # At most the batch in flight is there without having been acknowledged, and then whole.
        assert len(events) % 3 == 0
        assert len(events) // 3 - len(said) in {0, 1}
        for event in events:
            store.blob(event.blob)


def test_two_processes_on_one_store_both_get_all_their_writes(child, tmp_path: Path) -> None:
    processes = [child("append_for_ever.py", tmp_path / "store", name, 40) for name in ("a", "b")]
    for process in processes:
        out, _ = process.communicate()
        assert process.returncode == 0
        assert len(out.splitlines()) == 40
    with Store.open(tmp_path / "store") as store:
        for name in ("a", "b"):
            plans = [recorded.event.plan for recorded in store.events("ada", session=name)]
            assert plans == [f"{name} {index} {part}" for index in range(40) for part in range(3)]


def test_an_experiment_survives_kills_without_losing_or_repeating_a_trial(child, lab) -> None:
    experiment = lab.start(lab.freeze(), repeats=2, time_limit_s=1e9)
    said: list[str] = []
    for life, lines in enumerate((4, 9)):
        process = child("run_experiment.py", lab.store.folder, lab.scope.session, experiment, f"life {life}")
        said += acknowledged_before_kill(process, lines)
    # What a dead client had open runs out of time: it is seen by the next who looks, here this process.
    lab.clock.now += 2e9
    assert lab.experiments.progress(lab.owner, experiment).open == 0
    process = child("run_experiment.py", lab.store.folder, lab.scope.session, experiment, "last life")
    out, _ = process.communicate()
    assert process.returncode == 0
    said += out.splitlines()
    assert lab.experiments.progress(lab.owner, experiment).ended
    events = Counter(
        (recorded.event.kind, recorded.event.trial)
        for recorded in lab.store.events(lab.owner, experiment=experiment)
        if recorded.event.kind in {"trial_opened", "trial_submitted", "trial_evaluated"}
    )
    trials = {row.trial for row in rows_of(lab.experiments, lab.owner, experiment)}
    assert events == {
        (kind, trial): 1 for kind in ("trial_opened", "trial_submitted", "trial_evaluated") for trial in trials
    }
    assert Counter(said).most_common(1)[0][1] == 1


def test_two_processes_share_an_experiment_and_no_trial_is_given_twice(child, lab) -> None:
    experiment = lab.start(lab.freeze(), repeats=3)
    processes = [
        child("run_experiment.py", lab.store.folder, lab.scope.session, experiment, name) for name in ("a", "b")
    ]
    said = []
    for process in processes:
        out, _ = process.communicate()
        assert process.returncode == 0
        said += [line for line in out.splitlines() if line != "ended"]
    # Both may judge one answer, for the same outcome again is harmless; the store holds it once.
    handed = Counter(line for line in said if not line.startswith("evaluated"))
    assert set(handed.values()) == {1}
    assert len([line for line in handed if line.startswith("opened")]) == 24
    assert len(lab.store.events(lab.owner, kinds=("trial_evaluated",))) == 24
    rows = rows_of(lab.experiments, lab.owner, experiment)
    assert sum(row.passed is not None and not row.contaminated for row in rows) == 24


@pytest.mark.parametrize(
    "changes",
    [
        {"regimes": ["P+F", "PT"], "coalitions": [[], ["profiler"]]},
        {"regimes": ["P+S"], "coalitions": [["debugger"]], "horizons": [3], "repeats": 2},
        {"regimes": ["P+NF"], "reuse": True, "repeats": 6},
    ],
    ids=["transferred plans", "several steps", "reused trials"],
)
def test_designs_survive_kills_at_any_point_without_losing_or_repeating_a_trial(child, lab, changes) -> None:
    own = lab.freeze()
    if "reuse" in changes:
        run(lab, begin(lab, own, **{**changes, "repeats": 3, "time_limit_s": 80_000}))
    experiment = begin(lab, own, **changes, time_limit_s=80_000)
    said: list[str] = []
    for life, lines in enumerate((2, 5)):
        process = child("run_design.py", lab.store.folder, lab.scope.session, experiment, f"life {life}")
        said += acknowledged_before_kill(process, lines)
        # What a dead client had open runs out of time, and is seen by the next who looks.
        lab.clock.now += 2e9
        assert lab.experiments.progress(lab.owner, experiment).open in {0, stepping(lab, experiment)}
        lab.clock.now -= 2e9
    process = child("run_design.py", lab.store.folder, lab.scope.session, experiment, "last life")
    out, _ = process.communicate()
    assert process.returncode == 0
    said += [line for line in out.splitlines() if line != "ended"]
    rows = rows_of(lab.experiments, lab.owner, experiment)
    assert {row.state for row in rows} <= {"evaluated", "infrastructure_failed"}
    assert all(row.passed or row.planner_failure == "abandoned" for row in rows if row.state == "evaluated")
    assert sum(row.planner_failure == "abandoned" for row in rows) <= 2
    assert sum(row.reused_from is not None for row in rows) == (6 if "reuse" in changes else 0)
    assert Counter(said).most_common(1)[0][1] == 1
    ends = Counter(
        recorded.event.trial
        for recorded in lab.store.events(lab.owner, experiment=experiment)
        if recorded.event.kind in {"trial_evaluated", "trial_reused"}
        or (recorded.event.kind == "trial_infrastructure_failed" and recorded.event.final)
    )
    assert ends == dict.fromkeys((row.trial for row in rows), 1)


def stepping(lab, experiment: str) -> int:
    """Trials between two steps: their next evaluator goes on, so they do not run out of time."""
    return sum(one.stepping for one in trials_of(lab, experiment).values())
