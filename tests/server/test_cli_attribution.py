"""`cudanalyst attribution`: sessions and experiments on a terminal."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cudanalyst.cli import app
from cudanalyst.resources.answers import AttributionResult
from cudanalyst.resources.events import EvidenceDelivered, ToolFinished
from cudanalyst.resources.randomised.delivery import Deliveries
from cudanalyst.resources.randomised.draws import RandomisedDelivery
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.source import Source

runner = CliRunner()
PROFILER = RandomisedDelivery(propensities={"profiler": 0.5})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUDANALYST_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path / "store"


def lived(folder: Path, *, randomised: bool, candidates: int = 30) -> str:
    """A session in which the candidates after a profile that was shown are faster."""
    with Store.open(folder) as store:
        session = store.start_session("local", None, PROFILER if randomised else None)
        scope, deliveries, speedup, shown = Scope("local", session, session), Deliveries(store, b"s" * 32), 1.0, False
        for number in range(candidates):
            source = Source(text=f"// {number}", problem="matmul")
            store.add_candidate(scope, source)
            speedup *= 1.1 if shown else 0.99
            offer = deliveries.offer(scope, "profile", source)
            shown = offer.withheld is None if offer is not None else number % 2 == 0
            store.append_many(
                scope,
                [
                    ToolFinished(
                        call="c", tool="run", status="passed", candidate=source.id, modelled_speedup=speedup, tokens=100
                    ),
                    ToolFinished(
                        call="d", tool="profile", status="profiled" if shown else "withheld", candidate=source.id,
                        tokens=700, seconds=0.5, device_s=0.25,
                    ),
                ],
            )  # fmt: skip
            if shown:
                store.append(
                    scope,
                    EvidenceDelivered(candidate=source.id, component="profiler", evidence="0" * 64, via="profile"),
                )
    return session


@pytest.mark.parametrize("randomised", [False, True], ids=["observed", "randomised"])
def test_a_session_is_told_as_tables_and_as_json(folder, randomised):
    session = lived(folder, randomised=randomised)
    shown = runner.invoke(app, ["attribution", session, "--full"])
    assert shown.exit_code == 0, shown.output
    assert ("Effect of being offered it" in shown.output) is randomised
    assert "Observed: improved after it was seen" in shown.output
    assert "Observational: the agent chose" in shown.output
    told = AttributionResult.model_validate_json(runner.invoke(app, ["attribution", session, "--json"]).stdout)
    assert told.status == ("randomised" if randomised else "observational")
    assert told.session == session
    if randomised:
        assert told.randomised.of("improved", "profiler").clear
        assert told.costs[0].device_s_per_offer == pytest.approx(0.25)


def test_without_a_handle_all_sessions_are_taken_together(folder):
    for _ in range(3):
        lived(folder, randomised=False, candidates=4)
    told = json.loads(runner.invoke(app, ["attribution", "--json"]).stdout)
    assert told["observed"]["sessions"] == 3
    assert told["observed"]["decisions"] == 9
    assert told["session"] is None


@pytest.mark.parametrize("handle", ["ses_" + "0" * 32, "exp_" + "0" * 32])
def test_an_unknown_handle_says_what_to_do(folder, handle):
    lived(folder, randomised=False, candidates=2)
    done = runner.invoke(app, ["attribution", handle])
    assert done.exit_code == 2
    assert "Use a handle" in " ".join(done.output.split())


def test_a_folder_without_a_store_is_not_made_into_one(folder):
    done = runner.invoke(app, ["attribution"])
    assert done.exit_code == 2
    assert not folder.exists()
