"""Small experiments over the planted bench."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Began
from cudanalyst.clients.experiment.watching import watching

ROOT = Path(__file__).parents[3]
CHILDREN = Path(__file__).parents[1] / "children"
SMALL = """
name = "small"
seed = 3
players = ["analyzer", "debugger"]
regimes = ["P+F", "NP+F", "DP", "PT"]
repeats = 1

[[planners]]
name = "strong-a"
kind = "scripted"

[[planners]]
name = "weak-a"
kind = "scripted"
plans_from = ["strong-a"]

[[backbones]]
id = "t"
problem = "transpose"
start = "racy"
agent = "strong-a"
generations = [0, 1]
"""
"""Trials: 2 checkpoints x (2 planners x 3 regimes + 1) x 4 coalitions."""
TRIALS = 56


class Runner:
    """Processes that run experiments, one after the other."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(CHILDREN / "runner.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            bufsize=1,
        )

    def run(self, file: Path, moment: str = "none", workers: int = 2) -> tuple[int, list[str]]:
        """The exit status (-9: killed) and the words printed by a run or a resumption."""
        print(file, workers, moment, file=self._process.stdin, flush=True)
        words: list[str] = []
        while True:
            line = self._process.stdout.readline().split()
            if not line:
                raise AssertionError("the runner has ended")
            if len(line) == 1:
                return int(line[0]), words
            words = line

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.close()


def cells(place: Place) -> dict[tuple[object, ...], tuple[object, ...]]:
    """What became of every cell, whatever the handles."""
    began = next(one for one in place.past() if isinstance(one, Began))
    with watching(place.store) as watcher:
        rows = watcher.rows(began.experiment)
    return {
        (row.checkpoint, row.planner, row.plan_of, row.regime, row.coalition, row.repeat, row.sentinel): (
            row.state,
            row.candidate,
            row.passed,
            row.fast_modelled,
            row.planner_failure,
        )
        for row in rows
    }
