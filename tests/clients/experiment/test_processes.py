"""Real processes over stdio: an interrupt leaves none behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cudanalyst.clients.experiment.folder import Place
from tests.clients.experiment.conftest import CHILDREN, ROOT, SMALL, TRIALS, cells

ONE_PLANNER = SMALL.replace("generations = [0, 1]", "generations = [0]")


def started(file: Path, how: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDANALYST_TEST_MARK": str(file)}
    return subprocess.Popen(
        [sys.executable, str(CHILDREN / "interrupted.py"), str(file), how],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    )


def left_over(file: Path) -> list[int]:
    """Processes whose environment names the file."""
    mark = f"CUDANALYST_TEST_MARK={file}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_second_interrupt_ends_a_run_whose_answer_never_comes_and_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(ONE_PLANNER)
    process = started(file, "hang")
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    assert len(left_over(file)) == 2  # the runner and its server
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "finishing what is in hand\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "stopped interrupted\n"
    assert process.returncode == 0
    assert left_over(file) == []

    again = started(file, "answer")
    assert again.communicate(timeout=120)[0] == "finished None\n"
    assert left_over(file) == []
    assert len(cells(Place(file))) == TRIALS // 2
    assert {state for state, *_ in cells(Place(file)).values()} == {"evaluated"}
