"""Backbones: seeded searches that freeze every generation with its references."""

from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client

from cudanalyst.clients.backbones.induce import induce, operator_of
from cudanalyst.clients.backbones.lab import Bred, Lab
from cudanalyst.clients.characters import STRONG_A
from cudanalyst.clients.connection import Connection
from cudanalyst.clients.scripted import ScriptedCoder, ScriptedPlanner
from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.models import Backbone
from cudanalyst.resources.outcomes import standing
from cudanalyst.server.app import create_application
from cudanalyst.server.assembly import Settings
from tests.clients.fakes import CATALOGUE, PlantedBench

OPERATORS = ["hill_climbing", "eoh", "mcts"]


async def bred(folder: Path, operator: str, seed: int = 1, generations: tuple[int, ...] = (0, 1, 2)) -> list[Bred]:
    application = create_application(Settings(store=folder, bench=PlantedBench()))
    backbone = Backbone(
        id="b", problem="reduction", agent="a", operator=operator, seed=seed, generations=generations, start="racy"
    )
    planner, coder = ScriptedPlanner(CATALOGUE.problem, character=STRONG_A), ScriptedCoder(CATALOGUE.problem, STRONG_A)
    with closing(application.services):
        async with Client(application.server) as client:
            lab = Lab(Connection(client), planner, coder, operator, lambda _words: None)
            return await induce(lab, CATALOGUE.problem("reduction"), backbone)


@pytest.mark.anyio
@pytest.mark.parametrize("operator", OPERATORS)
async def test_every_generation_is_frozen_and_the_same_seed_gives_the_same_run_and_another_one_another(
    tmp_path: Path, operator: str
) -> None:
    first, second = await bred(tmp_path / "a", operator), await bred(tmp_path / "b", operator)
    assert [one.generation for one in first] == [0, 1, 2]
    assert len({one.checkpoint for one in first}) == 3
    assert [one.source for one in first] == [one.source for one in second]
    assert [one.checkpoint for one in first] == [one.checkpoint for one in second]
    assert first[0].references == ()
    assert any(one.references for one in first)
    assert all(one.candidate not in one.references for one in first)
    assert {one.operator for one in first} == {operator}
    if operator != "hill_climbing":  # which climbs the same way from whatever it finds
        other = await bred(tmp_path / "c", operator, seed=0)
        assert [one.source for one in other] != [one.source for one in first]


@pytest.mark.anyio
async def test_hill_climbing_never_goes_down_and_stays_where_nothing_is_better(tmp_path: Path) -> None:
    climbed = await bred(tmp_path, "hill_climbing", generations=(0, 1, 2, 3, 4, 5))
    ranks = [standing(one.base_status, None)[0] for one in climbed]
    assert ranks == sorted(ranks)
    assert climbed[-1].source == climbed[-2].source
    assert climbed[-1].checkpoint != climbed[-2].checkpoint


@pytest.mark.anyio
async def test_only_the_generations_asked_for_are_handed_over(tmp_path: Path) -> None:
    assert [one.generation for one in await bred(tmp_path, "eoh", generations=(0, 2))] == [0, 2]


def test_an_unknown_operator_is_refused_with_those_there_are() -> None:
    backbone = Backbone(id="b", problem="reduction", agent="a", operator="annealing", generations=(0,))
    with pytest.raises(BadRequest, match="none of hill_climbing, eoh, mcts"):
        operator_of(backbone)
