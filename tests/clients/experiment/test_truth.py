"""The published findings in small: three models, nine regimes, and the truth of every cell."""

import io
import math
from collections import defaultdict

import anyio
import pytest
from rich.console import Console

from cudanalyst.clients.characters import WEAK_A
from cudanalyst.clients.experiment.examples import text_of
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.locking import lock_file
from cudanalyst.clients.experiment.replication import show_claims, show_replication, true_effects
from cudanalyst.clients.experiment.reporting import gathered
from cudanalyst.clients.experiment.truth import LEVELS, Condition, Judged, Truth, given_in
from cudanalyst.resources.attribution import game
from cudanalyst.resources.report.data import ReportData
from cudanalyst.tools.source import BuildOptions, Source
from tests.clients.experiment.worlds import perform
from tests.clients.fakes import CATALOGUE, PlantedBench

BACKBONES = """
[[backbones]]
id = "{0}"
problem = "{0}"
start = "{1}"
agent = "strong-a"
generations = [0]
"""


def small() -> str:
    """The shipped file with three problems, two players and one block."""
    text = text_of("paper-findings")
    head, _, rest = text.partition("[[backbones]]")
    analysis = "[budget]" + rest.partition("[budget]")[2]
    induced = "".join(
        BACKBONES.format(*one) for one in (("transpose", "racy"), ("reduction", "faulty"), ("matmul", "faulty"))
    )
    head = head.replace('"analyzer", "debugger", "profiler"', '"analyzer", "debugger"')
    analysis = "\n".join(line for line in analysis.splitlines() if "profiler" not in line)
    return f"{head.replace('repeats = 4', 'repeats = 1')}\n{induced}\n{analysis}"


class Known(Judged):
    """Judges as the bench of the test does."""

    bench = PlantedBench()

    def __call__(self, problem: str, source: str):
        rung = self.bench.rung(Source(text=source, problem=problem))
        return {"compiled": rung >= 1, "passed": rung >= 2, "fast_modelled": rung >= 3}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, ReportData, Truth]:
    file = tmp_path_factory.mktemp("paper") / "paper.toml"
    file.write_text(small())
    place = Place(file)
    lock_file(place, Console(quiet=True))

    async def run() -> str:
        return (await perform(file, workers=8)).how

    assert anyio.run(run) == "finished"
    truth = Truth(place.design(), CATALOGUE.problem, given_in(place.past()), Known((), BuildOptions()))
    return place, gathered(place), truth


def test_every_regimes_outcomes_are_as_likely_as_its_policy_says(
    finished: tuple[Place, ReportData, Truth],
) -> None:
    _, data, truth = finished
    rows = [row for row in data.rows if row.state == "evaluated" and not row.sentinel]
    given = {(row.planner, row.checkpoint, row.coalition): row for row in rows if row.regime == "P+F"}
    all_given = given_in(finished[0].past())
    excess: dict[tuple[str, str], float] = defaultdict(float)
    variance: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        source = given.get((str(row.plan_of), row.checkpoint, row.coalition))
        true = truth.value(row, None if source is None else all_given[source.trial])
        for level in LEVELS:
            excess[row.regime, level] += bool(getattr(row, level)) - true[level]
            variance[row.regime, level] += true[level] * (1 - true[level])
    assert len(excess) == 9 * len(LEVELS)
    for cell, difference in excess.items():
        assert abs(difference) <= 4 * math.sqrt(variance[cell]) + 1e-9, cell


def test_the_true_game_shows_what_the_models_were_made_for(finished: tuple[Place, ReportData, Truth]) -> None:
    tables = finished[2].tables(finished[1].rows)

    def lift(planner: str, regime: str, against: str, plan_of: str | None = None) -> float:
        mine, other = (
            [table.mean() for table in tables[one]["passed"].values()]
            for one in (Condition(planner, regime, plan_of), Condition(planner, against, None))
        )
        return sum(mine) / len(mine) - sum(other) / len(other)

    def empty(planner: str, regime: str) -> float:
        values = [
            table[game.mask_of((), ("analyzer", "debugger"))]
            for table in tables[Condition(planner, regime, None)]["passed"].values()
        ]
        return sum(values) / len(values)

    assert lift("strong-a", "P+F", "NP+F") > 0.05
    assert lift("strong-a", "P+F", "RF") > 0.02
    assert lift("weak-a", "P+S", "P+F") >= 0
    assert lift("weak-a", "PT", "P+F", "strong-a") > lift("weak-a", "PT", "P+F", "strong-b")
    assert empty("strong-a", "P+NF") == pytest.approx(empty("strong-a", "NP+NF"))
    assert empty("weak-a", "P+NF") == pytest.approx((1 - WEAK_A.truncates) * empty("weak-a", "NP+NF"))


def test_the_report_keeps_to_the_lock_and_prints_claims_and_the_replication_table(
    finished: tuple[Place, ReportData, Truth],
) -> None:
    place, data, truth = finished
    assert data.lock is not None
    assert data.lock.deviations == ()
    assert data.lock.digest == place.locked().digest
    assert {row.planner for row in data.replication} == {"strong-a", "weak-a", "strong-b"}
    tables = truth.tables(data.rows)
    effects = true_effects(tables, Condition("strong-a", "P+F", None), "passed", data.analysis.players)
    assert effects["banzhaf", ("analyzer",)] > 0.05
    console = Console(width=200, file=io.StringIO())
    show_claims(console, data)
    show_replication(console, data, tables)
    said = console.file.getvalue()
    assert "planning helps with feedback of the program" in said
    assert "The truth lies inside the corrected interval" in said
    assert f"{effects['banzhaf', ('analyzer',)]:+.3f}" in said
