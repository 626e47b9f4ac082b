"""The main job, for real: the server as a child process over stdio, the engine, trials, the truth and the report."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from cudanalyst.clients.demo import run_demo
from cudanalyst.clients.options import DemoOptions
from cudanalyst.resources.report.data import ReportData


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportData, Path, str]:
    import anyio

    folder = tmp_path_factory.mktemp("demo")
    screen = io.StringIO()
    options = DemoOptions(problems=("transpose",), repeats=1, seed=7, folder=folder)
    data = anyio.run(run_demo, options, Console(file=screen, width=120))
    return data, folder, screen.getvalue()


def test_every_trial_is_evaluated_at_three_nested_levels(finished: tuple[ReportData, Path, str]) -> None:
    found = finished[0].analysis
    levels = [one for level in ("compiled", "passed", "fast_modelled") if (one := found.slice_of(level)) is not None]
    assert (found.trials, found.exclusions.contaminated, found.exclusions.infrastructure_failed) == (4 * 8, 0, 0)
    assert len(levels) == 3
    assert all(value.trials == 4 for level in levels for value in level.values)


def test_the_tools_lead_the_planner_exactly_where_the_planted_faults_say(
    finished: tuple[ReportData, Path, str],
) -> None:
    truth = finished[0].ground_truth
    assert truth is not None
    assert truth.equal == truth.equal_of > 60


def test_the_agent_froze_checkpoints_on_its_way(finished: tuple[ReportData, Path, str]) -> None:
    rows = finished[0].checkpoints
    assert {row.base_status for row in rows} >= {"compile_failed", "wrong", "passed"}
    assert any(row.generation > 0 for row in rows)
    assert len({row.id for row in rows}) == len(rows)


def test_the_report_and_its_numbers_are_written(finished: tuple[ReportData, Path, str]) -> None:
    data, folder, screen = finished
    told = ReportData.model_validate(json.loads((folder / "report.json").read_text()))
    assert told == data.model_copy(update={"rows": ()})
    assert len((folder / "trials.csv").read_text().splitlines()) == 1 + 4 * 8  # checkpoints and coalitions, once each
    assert "Against the truth" in (folder / "report.html").read_text()
    page = (folder / "report.html").read_text()
    assert page.count("<svg") >= 3
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "Banzhaf values" in screen
