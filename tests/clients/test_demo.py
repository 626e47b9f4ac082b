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
    options = DemoOptions(problems=("transpose",), repeats=3, seed=7, folder=folder)
    data = anyio.run(run_demo, options, Console(file=screen, width=120))
    return data, folder, screen.getvalue()


def test_every_trial_is_evaluated_at_three_nested_levels(finished: tuple[ReportData, Path, str]) -> None:
    attribution = finished[0].attribution
    assert (attribution.trials, attribution.contaminated, attribution.infrastructure_failed) == (4 * 3 * 8, 0, 0)
    assert [level.level for level in attribution.levels] == ["compiled", "passed", "fast_modelled"]
    assert all(value.trials == 12 for level in attribution.levels for value in level.values)


def test_the_tools_lead_the_planner_exactly_where_the_planted_faults_say(
    finished: tuple[ReportData, Path, str],
) -> None:
    truth = finished[0].ground_truth
    assert truth is not None
    assert (truth.equal, truth.equal_of) == (69, 69)


def test_the_agent_froze_checkpoints_on_its_way(finished: tuple[ReportData, Path, str]) -> None:
    rows = finished[0].checkpoints
    assert {row.base_status for row in rows} >= {"compile_failed", "wrong", "passed"}
    assert any(row.generation > 0 for row in rows)
    assert len({row.id for row in rows}) == len(rows)


def test_the_report_and_its_numbers_are_written(finished: tuple[ReportData, Path, str]) -> None:
    data, folder, screen = finished
    assert ReportData.model_validate(json.loads((folder / "report.json").read_text())) == data
    page = (folder / "report.html").read_text()
    assert page.count("<svg") >= 3
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "Banzhaf values" in screen
