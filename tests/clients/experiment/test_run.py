"""Runs as people meet them: budgets, refusals, interrupts, standing."""

import shlex
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cudanalyst.cli import app
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Answered, Journal, Note
from cudanalyst.clients.experiment.locking import lock_file
from cudanalyst.clients.experiment.preparing import hash_of
from cudanalyst.clients.experiment.reporting import gathered, write_all
from cudanalyst.clients.experiment.standing import is_running, show_standing, standing_of
from cudanalyst.clients.experiment.watch import Quiet
from cudanalyst.clients.planner import PlanText, State
from cudanalyst.clients.scripted import ScriptedPlanner
from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.resources.design.file import read_design
from tests.clients.experiment.conftest import SMALL, TRIALS
from tests.clients.experiment.worlds import perform


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def with_budget(file: Path, words: str) -> None:
    file.write_text(f"{SMALL}\n[budget]\n{words}\n")


@pytest.mark.anyio
async def test_a_budget_of_calls_is_never_overdrawn_and_stops_the_run_cleanly(file: Path) -> None:
    with_budget(file, "calls = 30")
    ended = await perform(file, workers=3)
    assert (ended.how, ended.reason.startswith("budget of 30 calls")) == ("stopped", True)
    assert 29 <= ended.spent.calls <= 30
    assert ended.progress.open == 0
    assert ended.progress.submitted == 0
    assert ended.progress.evaluated == ended.submitted


@pytest.mark.anyio
async def test_an_interrupted_run_finishes_what_is_in_hand_and_is_resumed(file: Path) -> None:
    class Interrupting(Quiet):
        stopped = False

        def trials(self, progress, gauge, spent, allowance) -> None:
            import os
            import signal

            if not self.stopped and gauge.submitted:
                self.stopped = True
                os.kill(os.getpid(), signal.SIGINT)

    first = await perform(file, workers=1, watch=Interrupting())
    assert (first.how, first.reason) == ("stopped", "interrupted")
    assert first.progress.open == 0
    second = await perform(file, resume=True)
    assert second.how == "finished"
    assert first.submitted + second.submitted == TRIALS
    assert second.replayed == 0
    assert [one.words for one in Place(file).past() if isinstance(one, Note)] == ["stopped: interrupted", "finished"]


@pytest.mark.anyio
async def test_a_service_that_fails_costs_no_trial(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, failures = ScriptedPlanner.plan, iter([True, False, True])

    async def shaky(self, state):
        if next(failures, False):
            raise Unavailable("429")
        return await whole(self, state)

    file.write_text(SMALL.replace("generations = [0, 1]", "generations = [0]"))
    monkeypatch.setattr(ScriptedPlanner, "plan", shaky)
    ended = await perform(file)
    assert ended.how == "finished"
    assert ended.progress.evaluated == TRIALS // 2
    assert ended.progress.infrastructure_failed == 0


@pytest.mark.anyio
async def test_standing_counts_trials_by_planner_and_regime_and_names_no_outcome(file: Path) -> None:
    assert standing_of(Place(file)).phase == "not begun"
    ended = await perform(file)
    found = standing_of(Place(file))
    assert (found.phase, found.running, found.trials) == ("ended", False, TRIALS)
    assert found.conditions["weak-a PT"] == {"evaluated": 8}
    assert found.states["evaluated"] == TRIALS
    assert found.calls == ended.spent.calls == sum(isinstance(one, Answered) for one in Place(file).past())
    assert not {"passed", "speedup", "coalition"} & set(found.model_dump_json().replace('"', " ").split())


@pytest.mark.anyio
async def test_what_a_report_says_of_exports_can_be_typed_as_it_stands(file: Path, tmp_path: Path) -> None:
    file.write_text(SMALL.replace("generations = [0, 1]", "generations = [0]"))
    assert (await perform(file)).how == "finished"
    with (tmp_path / "said.txt").open("w") as said:
        write_all(Place(file), tmp_path / "report", Console(file=said, width=60))
    (line,) = [one for one in (tmp_path / "said.txt").read_text().splitlines() if one.startswith("More formats: ")]
    command = shlex.split(line.removeprefix("More formats: cudanalyst "))
    command[command.index("parquet")], command[command.index("DIR")] = "csv", str(tmp_path / "out")
    assert CliRunner().invoke(app, command).exit_code == 0
    assert len((tmp_path / "out/trials.csv").read_text().splitlines()) == 1 + TRIALS // 2
    with (tmp_path / "standing.txt").open("w") as said:
        show_standing(Place(file), Console(file=said, width=80), as_json=False)
    assert (tmp_path / "standing.txt").read_text().startswith("small  ended\n")


@pytest.mark.anyio
async def test_what_was_begun_is_not_begun_again_and_not_changed(file: Path) -> None:
    with pytest.raises(BadRequest, match="Nothing was begun"):
        await perform(file, resume=True)
    await perform(file)
    with pytest.raises(BadRequest, match="experiment resume"):
        await perform(file)
    file.write_text(SMALL.replace("seed = 3", "seed = 4"))
    with pytest.raises(BadRequest, match="was changed since its run began"):
        await perform(file, resume=True)


@pytest.mark.anyio
async def test_a_confirmatory_design_is_locked_first_and_not_changed_after(file: Path) -> None:
    confirmatory = f'kind = "confirmatory"\n{SMALL}'
    file.write_text(confirmatory)
    with pytest.raises(BadRequest, match="experiment lock"):
        await perform(file)
    made = lock_file(Place(file), Console(quiet=True))
    assert lock_file(Place(file), Console(quiet=True)) == made
    file.write_text(confirmatory.replace("repeats = 1", "repeats = 2"))
    with pytest.raises(BadRequest, match="changed after it was locked"):
        await perform(file)
    with pytest.raises(BadRequest, match="changed since"):
        lock_file(Place(file), Console(quiet=True))
    file.write_text(confirmatory)
    assert (await perform(file)).how == "finished"


def test_two_runs_of_one_file_do_not_meet(file: Path) -> None:
    place = Place(file)
    journal = Journal.opened(place.journal)
    assert is_running(place)
    with pytest.raises(BadRequest, match="under way"):
        Journal.opened(place.journal)
    journal.close()
    assert not is_running(place)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ('kind = "scripted"\n\n[[planners]]', 'kind = "oracle"\n\n[[planners]]'),
            "kind 'oracle' cannot be asked here",
        ),
        (('start = "racy"', 'start = "none"'), "no start 'none'"),
        (("generations = [0, 1]", 'generations = [0, 1]\noperator = "magic"'), "operator 'magic' is none of"),
        (("generations = [0, 1]", "generations = [0, 1]\noptions = { proposals = 0 }"), "proposals = 1 to 64"),
        (('name = "strong-a"', 'name = "strong-a"\noptions = { trust = 2 }'), "options.trust"),
        (('name = "weak-a"', 'name = "weak-a"\nmodel = "gone"'), "'gone' is no scripted model"),
    ],
)
@pytest.mark.anyio
async def test_a_design_that_cannot_be_run_is_refused_before_a_server_is_started(
    file: Path, change: tuple[str, str], words: str
) -> None:
    file.write_text(SMALL.replace(*change))
    with pytest.raises(BadRequest, match=words):
        await perform(file)
    assert not (Place(file).store).exists()


@pytest.mark.anyio
async def test_a_run_whose_store_or_journal_is_gone_says_so(file: Path) -> None:
    await perform(file)
    place = Place(file)
    with pytest.raises(BadRequest, match="The trials of this run are in"):
        await perform(file, resume=True, url="http://127.0.0.1:9/mcp")
    (place.store / "store.sqlite").rename(place.folder / "aside")
    with pytest.raises(BadRequest, match=r"store of this run, .* is gone"):
        await perform(file, resume=True)
    (place.folder / "aside").rename(place.store / "store.sqlite")
    place.journal.unlink()
    with pytest.raises(BadRequest, match=r"journal\.jsonl is gone"):
        await perform(file, resume=True)


def test_a_backbone_is_another_one_once_its_start_its_seed_or_its_agent_changes(file: Path) -> None:
    hashes = {
        hash_of(design, design.backbones[0])
        for text in (
            SMALL,
            SMALL.replace("repeats = 1", "repeats = 2"),
            SMALL.replace('start = "racy"', 'start = "faulty"'),
            SMALL.replace('start = "racy"', 'start = "racy"\nseed = 9'),
            SMALL.replace('name = "strong-a"', 'name = "strong-a"\noptions = { trust = 0.5 }'),
        )
        for design in [read_design(text)]
    }
    assert len(hashes) == 4  # repeats are not its business


@pytest.mark.anyio
@pytest.mark.parametrize(("answer", "failure"), [("x" * 20_001, "truncation"), ("a\udcffb", "refusal")])
async def test_a_plan_that_no_server_takes_is_its_planners_failure_and_no_end_of_the_run(
    file: Path, monkeypatch: pytest.MonkeyPatch, answer: str, failure: str
) -> None:
    async def plan(self: ScriptedPlanner, state: State) -> PlanText:
        return PlanText(text=answer)

    monkeypatch.setattr(ScriptedPlanner, "plan", plan)
    file.write_text(SMALL.replace("generations = [0, 1]", "generations = [0]"))
    assert (await perform(file)).how == "finished"
    planned = [row for row in gathered(Place(file)).rows if row.regime == "P+F"]
    assert {row.planner_failure for row in planned} == {failure}
