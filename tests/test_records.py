"""Records of tests on a GPU, several workers at a time."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.gpu.records import keep


def _one(folder: Path, number: int) -> None:
    keep(folder, "exploits", {f"candidate {number}": {"status": "passed"}}, run="a")


def test_every_worker_of_a_run_adds_its_entries(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(_one, tmp_path, number) for number in range(24)]:
            done.result()
    found = json.loads((tmp_path / "exploits.json").read_text())
    assert set(found) == {f"candidate {number}" for number in range(24)}


def test_a_worker_may_write_again_and_replaces_its_own(tmp_path):
    keep(tmp_path, "x", {"a": 1, "b": 1}, run="a")
    path = keep(tmp_path, "x", {"b": 2}, run="a")
    assert json.loads(path.read_text()) == {"a": 1, "b": 2}


def test_an_earlier_runs_entries_do_not_stay(tmp_path):
    keep(tmp_path, "x", {"old": 1}, run="a")
    assert json.loads(keep(tmp_path, "x", {"new": 1}, run="b").read_text()) == {"new": 1}
    assert json.loads(keep(tmp_path, "x", {"alone": 1}, run=None).read_text()) == {"alone": 1}


def test_text_and_lists_are_written_as_they_are(tmp_path):
    assert keep(tmp_path, "tool/said.txt", "two\nlines", run="a").read_text() == "two\nlines"
    assert json.loads(keep(tmp_path, "tool/list", [1, 2], run="a").read_text()) == [1, 2]
