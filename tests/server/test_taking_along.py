"""`cudanalyst import` and `cudanalyst export` on the command line."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cudanalyst.cli import app
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import TrialPayload
from cudanalyst.resources.design.lock import lock
from cudanalyst.resources.design.models import CheckpointEntry, Design, PlannerEntry
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.imports.freezing import ImportResult
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.store import Store
from cudanalyst.server.assembly import LOCAL_OWNER
from cudanalyst.server.commands import session
from tests.resources.imports.test_reading_runs import LINE, llm4ad, openevolve, sample
from tests.server.fakes import FakeBench

runner = CliRunner()


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the test's own, and a bench that needs no compiler."""
    monkeypatch.setenv("CUDANALYST_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("CUDANALYST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "250")
    real = session.settings
    monkeypatch.setattr(
        session,
        "settings",
        lambda *given, **named: real(*given, **named).__class__(
            **{**real(*given, **named).__dict__, "bench": FakeBench()}
        ),
    )
    return tmp_path / "store"


def call(*arguments: str):
    return runner.invoke(app, list(arguments))


def imported(tmp_path: Path) -> ImportResult:
    folder = openevolve(tmp_path / "checkpoint_5", LINE, best_program_id="c")
    done = call("import", "openevolve", str(folder), "--problem", "transpose", "--json")
    assert done.exit_code == 0, done.output
    return ImportResult.model_validate_json(done.stdout)


def test_an_openevolve_checkpoint_is_imported_into_the_store_of_the_local_server(tmp_path, store):
    result = imported(tmp_path)
    assert [one.program for one in result.states] == ["a", "b", "c"]
    with closing(Store.open(store)) as opened:
        last = opened.checkpoint(LOCAL_OWNER, result.states[-1].checkpoint)
    assert last.generation == 2
    assert len(last.lineage) == 2


def test_an_llm4ad_log_is_imported_and_printed_for_an_experiment_file(tmp_path):
    log = llm4ad(tmp_path / "run", [sample(1, 0.5), sample(2, 0.7)])
    done = call("import", "llm4ad", str(log), "--problem", "transpose", "--select", "best")
    assert done.exit_code == 0, done.output
    assert "sample 2" in done.output
    assert "[[checkpoints]]" in done.output
    assert 'operator = "imported"' in done.output
    assert "LLM4AD logs no parents" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "alphaevolve", ".", "--problem", "transpose"), "'alphaevolve' is none of openevolve, llm4ad"),
        (("import", "openevolve", "FOLDER", "--problem", "transpose", "--select", "worst"), "'worst' is none of best"),
        (("import", "openevolve", "FOLDER", "--problem", "no_such_problem"), "no_such_problem"),
        (("import", "openevolve", "EMPTY", "--problem", "transpose"), "holds neither metadata.json nor checkpoints"),
        (("export", "exp_0", "--format", "xlsx", "--out", "OUT"), "'xlsx' is none of parquet, csv"),
        (("export", "exp_0", "--format", "report", "--out", "OUT", "--plots", "gif"), "'gif' is none of svg, png"),
        (("export", "exp_0", "--format", "csv", "--out", "OUT"), "There is no store at"),
        (("export", "exp_0", "--format", "ro-crate", "--out", "OUT", "--author", "<x>"), "neither 'NAME' nor"),
        (
            ("export", "exp_0", "--format", "report", "--out", "OUT", "--lock", "FOLDER"),
            "no lock that this version wrote",
        ),
    ],
)
def test_what_cannot_be_done_is_said_with_status_2(tmp_path, arguments, message):
    openevolve(tmp_path / "folder", LINE)
    (tmp_path / "empty").mkdir()
    places = {"FOLDER": str(tmp_path / "folder"), "EMPTY": str(tmp_path / "empty"), "OUT": str(tmp_path / "out")}
    done = call(*(places.get(one, one) for one in arguments))
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()


@pytest.fixture
def ended(tmp_path, store) -> str:
    """An experiment on imported states, answered and judged."""
    checkpoints = [one.checkpoint for one in imported(tmp_path).states]
    with closing(Store.open(store)) as opened:
        experiments = Experiments(opened)
        scope = opened.scope(LOCAL_OWNER, opened.start_session(LOCAL_OWNER))
        players = ("analyzer", "debugger")
        started = experiments.start(
            scope, players=players, checkpoints=checkpoints, statements={"transpose": "Transpose."}, repeats=1, seed=1
        )
        for k in range(len(checkpoints) * 4):
            fresh = opened.scope(LOCAL_OWNER, scope.session, f"fresh {k}")
            payload = trial_flow.next_trial(experiments, fresh, started.id)
            assert isinstance(payload, TrialPayload)
            trial_flow.submit_trial(experiments, fresh, payload.trial, source=f"// {payload.trial}")
            for one in judging.pending(experiments, LOCAL_OWNER, started.id):
                outcome = outcome_of(one.checkpoint.base_status, "compiled", "passed", 1.0 + k)
                judging.record_outcome(experiments, LOCAL_OWNER, one.trial, outcome)
    return started.id


def test_an_experiment_is_exported_and_never_over_what_is_there(tmp_path, ended):
    out = tmp_path / "out"
    done = call("export", ended, "--format", "csv", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert {path.name for path in out.iterdir()} == {"trials.csv", "numbers.csv", "datapackage.json"}
    again = call("export", ended, "--format", "csv", "--out", str(out))
    assert again.exit_code == 2
    assert "is there already" in " ".join(again.output.split())
    assert call("export", ended, "--format", "csv", "--out", str(out), "--force").exit_code == 0


def test_a_crate_says_its_licence_its_authors_and_what_an_imported_run_claims(tmp_path, ended):
    out = tmp_path / "out"
    arguments = ("--licence", "CC-BY-4.0", "--author", "Ada <https://orcid.org/0000-0000-0000-0000>")
    done = call("export", ended, "--format", "ro-crate", "--out", str(out), *arguments)
    assert done.exit_code == 0, done.output
    entities = {one["@id"]: one for one in json.loads((out / "ro-crate-metadata.json").read_text())["@graph"]}
    assert entities["./"]["license"]["@id"].endswith("CC-BY-4.0")
    assert entities["https://orcid.org/0000-0000-0000-0000"]["name"] == "Ada"
    assert "combined_score 0.9" in (out / "report.html").read_text()


def test_a_lock_goes_along_and_the_report_is_held_to_it(tmp_path, ended):
    planner = PlannerEntry(name="p", kind="scripted")
    design = Design(name="d", checkpoints=(CheckpointEntry(id="chk_" + "0" * 32),), planners=(planner,))
    file = tmp_path / "d.lock.json"
    file.write_text(lock(design, 5.0).model_dump_json())
    done = call("export", ended, "--format", "ro-crate", "--out", str(tmp_path / "out"), "--lock", str(file))
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "out" / "lock.json").read_text())["name"] == "d"
    assert "not laid down from the locked design" in (tmp_path / "out" / "report.html").read_text()


def test_another_owner_has_no_such_experiment(tmp_path, ended):
    done = call("export", ended, "--format", "csv", "--out", str(tmp_path / "out"), "--owner", "ada")
    assert done.exit_code == 2
    assert "Unknown experiment" in " ".join(done.output.split())
