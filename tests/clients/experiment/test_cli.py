"""The command: examples that can be read and planned, refusals with the next step."""

import errno
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cudanalyst.cli import app
from cudanalyst.clients.agents import Cast
from cudanalyst.clients.backbones.induce import operator_of, start_of
from cudanalyst.clients.experiment.examples import NAMES, examples, text_of
from cudanalyst.clients.experiment.planning import warnings
from cudanalyst.clients.experiment.screen import Rate, RunConsole, RunScreen, clock_words
from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.costs import costs
from cudanalyst.resources.design.file import read_design
from cudanalyst.resources.design.models import Budget
from tests.clients.experiment.conftest import SMALL
from tests.clients.fakes import CATALOGUE


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "replay"])
def test_every_example_can_be_run_as_it_stands(name: str, tmp_path: Path) -> None:
    design = read_design(text_of(name))
    Cast(design, CATALOGUE.problem, tmp_path)
    for backbone in design.backbones:
        operator_of(backbone)
        start_of(CATALOGUE.problem(backbone.problem), backbone)
    assert costs(design).trials > 0


def test_the_replay_example_asks_exactly_what_quickstart_asked() -> None:
    designs = examples()
    same = {"seed", "players", "coalitions", "regimes", "repeats", "backbones", "coder_sees", "seeds", "horizons"}
    assert designs["replay"].model_dump(include=same) == designs["quickstart"].model_dump(include=same)
    assert [one.name for one in designs["replay"].planners] == [one.name for one in designs["quickstart"].planners]


def test_an_example_is_copied_once_and_then_planned(tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    assert invoke("new", "regimes", "--out", out).exit_code == 0
    again = invoke("new", "regimes", "--out", out)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    shown = invoke("plan", out)
    assert shown.exit_code == 0
    assert "2,592 trials" in shown.stdout
    assert "What can be told from nothing" in shown.stdout
    numbers = json.loads(invoke("plan", out, "--json").stdout)
    assert numbers["trials"] == 2592
    assert "no example" in invoke("new", "nothing").stderr


def test_plan_warns_of_claims_that_cannot_be_resolved(tmp_path: Path) -> None:
    claims = """
[analysis]
target = "these problems"
primary_regime = "RF"
claims = [
  { name = "nothing to see", kind = "equivalent", players = ["debugger"], margin = 0.05 },
  { name = "more", kind = "growing", players = ["analyzer", "debugger"], index = "banzhaf_interaction" },
  { name = "planned", kind = "regime_positive", against = "DP" },
]
"""
    design = read_design(SMALL.replace("generations = [0, 1]", "generations = [0]") + claims)
    said = " ".join(warnings(design, costs(design)))
    assert "equivalence within 0.05 cannot be shown" in said
    assert "growth needs several generations" in said
    assert "claims need regime RF" in said
    with pytest.raises(BadRequest, match="RF is none of `regimes`"):
        read_design(SMALL + claims.replace('against = "DP"', 'against = "RF"'))


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [
        ("run", None, "cannot be read"),
        ("plan", "name = 3", "The design cannot be used"),
        ("resume", SMALL, "Begin with"),
        ("report", SMALL, "nothing to report yet"),
        ("run", f'kind = "confirmatory"\n{SMALL}', "experiment lock"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_next_step(
    tmp_path: Path, command: str, text: str | None, words: str
) -> None:
    file = tmp_path / "one.toml"
    if text is not None:
        file.write_text(text)
    ended = invoke(command, file)
    assert ended.exit_code == 2
    assert words in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_status_before_a_run_says_how_to_begin(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(SMALL)
    shown = invoke("status", file)
    assert shown.exit_code == 0
    assert "not begun" in shown.stdout
    assert json.loads(invoke("status", file, "--json").stdout)["phase"] == "not begun"


def test_an_end_is_told_only_once_a_rate_is_known() -> None:
    now = [0.0]
    rate = Rate(lambda: now[0])
    for second in range(40):
        now[0] = float(second)
        rate.mark(second * 2)
        if second < 15:
            assert rate.remaining_s(100) is None
    assert rate.remaining_s(100) == pytest.approx(50)
    assert [clock_words(seconds) for seconds in (5, 65, 3700)] == ["5 s", "1 min 05 s", "1 h 01 min"]


class Full(io.StringIO):
    """Where nothing can be written any more."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_run_goes_on_where_its_words_can_no_longer_be_written() -> None:
    console = RunConsole(file=Full())
    screen = RunScreen(console, Budget())
    with screen.shown():
        screen.phase("server")
        screen.step("waiting")
    assert console.quiet
