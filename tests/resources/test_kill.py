"""Killed with -9 in the middle of writing, or served by two processes: nothing acknowledged is lost or done twice.

A kill leaves the kernel's page cache alive, so this shows that no state lies in a process only; that the disk has it rests on
`synchronous=FULL` and the fsync calls of the blobs.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cudanalyst.resources import results
from cudanalyst.resources.store import Store

CHILDREN = Path(__file__).parent / "children"


@pytest.fixture
def child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a script of `children`; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(CHILDREN / script), *map(str, arguments)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
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
    trials = {trial.id for trial in results.trials(lab.experiments, lab.owner, experiment)}
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
    assert len(results.observations(lab.experiments, lab.owner, experiment, "passed")) == 24
