"""One experiment driven three ways (the bundled runner, an agent of its own, recorded answers): one attribution."""

from pathlib import Path

import pytest
from mcp import Client

from cudanalyst.clients.characters import STRONG_A
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.watching import watching
from cudanalyst.clients.planner import State
from cudanalyst.clients.replay import MissingAnswer
from cudanalyst.clients.scripted import ScriptedCoder, ScriptedPlanner
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.result import Analysis
from tests.clients.experiment.conftest import cells
from tests.clients.experiment.worlds import perform, server
from tests.clients.fakes import CATALOGUE

DESIGN = """
name = "roads"
seed = 4
players = ["analyzer", "debugger", "profiler"]
regimes = ["P+F", "NP+F", "DP"]
repeats = 1
{planners}
[[backbones]]
id = "t"
problem = "transpose"
start = "racy"
agent = "{agent}"
generations = [0]

[[backbones]]
id = "r"
problem = "reduction"
start = "racy"
agent = "{agent}"
generations = [0]

[analysis]
target = "these problems"
"""
BUNDLED = '[[planners]]\nname = "strong-a"\nkind = "scripted"\n'
HELPER = '[[planners]]\nname = "helper"\nkind = "scripted"\nmodel = "strong-a"\n'


async def agent_of_its_own(client: Client, experiment: str, planner: str) -> None:
    """Knows nothing but the two tools of the protocol, and how its model answers."""
    plans, codes = ScriptedPlanner(CATALOGUE.problem, character=STRONG_A), ScriptedCoder(CATALOGUE.problem, STRONG_A)
    number = 0
    while True:
        context = f"mine-{number}"
        arguments = {"experiment": experiment, "context": context, "planner": planner}
        given = (await client.call_tool("trial_next", arguments)).structured_content
        if given["status"] != "open":
            return
        number += 1
        evidence = {one["component"]: one["text"] for one in given.get("evidence", ())}
        state = State(
            problem=given["problem"],
            source=given["source"],
            base_status=given["base_status"],
            evidence=evidence,
            seed=given["seed"],
            task=given["task"],
            references=tuple(given.get("references", ())),
        )
        plan = given.get("plan")
        if given["plan_step"]:
            plan = (await plans.plan(state)).text
        seen = state if "coder" in given["evidence_for"] else state.without_evidence()
        source = (await codes.write(seen, plan)).source
        answer = {"trial": given["trial"], "context": context, "source": source}
        if given["plan_step"]:
            answer["plan"] = plan
        await client.call_tool("trial_submit", answer)


def analysis_of(place: Place, planner: str) -> Analysis:
    with watching(place.store) as watcher:
        rows = [row for row in watcher.rows(place.began().experiment) if row.planner == planner]
    anonymous = [row.model_copy(update={"experiment": "one", "planner": "one", "coder": "one"}) for row in rows]
    return analyse(anonymous, place.design().analysis)


@pytest.mark.anyio
async def test_runner_external_agent_and_replay_give_the_same_attribution(tmp_path: Path) -> None:
    store = tmp_path / "store"
    bundled, external, replayed = (tmp_path / f"{name}.toml" for name in ("bundled", "external", "replayed"))
    bundled.write_text(DESIGN.format(planners=BUNDLED, agent="strong-a"))
    external.write_text(
        DESIGN.format(planners='[[planners]]\nname = "mine"\nkind = "external"\n' + HELPER, agent="helper")
    )
    replayed.write_text(
        DESIGN.format(
            planners='[[planners]]\nname = "strong-a"\nkind = "replay"\noptions = { journal = "bundled.run/journal.jsonl" }\n',
            agent="strong-a",
        )
    )

    first = await perform(bundled, store=store)
    second = await perform(external, store=store)
    assert (first.how, second.how, second.external) == ("finished", "external", ("mine",))
    async with server(store) as client:
        await agent_of_its_own(client, second.experiment, "mine")
        await client.call_tool("attribution", {"experiment": second.experiment, "wait_s": 30})
    third = await perform(replayed, store=store)
    assert third.how == "finished"

    roads = [
        analysis_of(Place(bundled, store), "strong-a"),
        analysis_of(Place(external, store), "mine"),
        analysis_of(Place(replayed, store), "strong-a"),
    ]
    assert roads[0].slices
    assert roads[0] == roads[1]
    assert roads[0] == roads[2]
    assert cells(Place(bundled, store)) == cells(Place(replayed, store))


@pytest.mark.anyio
async def test_a_replay_that_is_asked_something_else_says_what_is_missing(tmp_path: Path) -> None:
    bundled, replayed = tmp_path / "bundled.toml", tmp_path / "replayed.toml"
    bundled.write_text(DESIGN.format(planners=BUNDLED, agent="strong-a"))
    await perform(bundled, store=tmp_path / "store")
    planner = '[[planners]]\nname = "strong-a"\nkind = "replay"\noptions = { journal = "bundled.run/journal.jsonl" }\n'
    replayed.write_text(DESIGN.format(planners=planner, agent="strong-a").replace("seed = 4", "seed = 5"))
    with pytest.raises(BaseExceptionGroup) as caught:
        await perform(replayed, store=tmp_path / "store")
    error = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MissingAnswer)
    assert "has no" in str(error)
    assert "another checkpoint, seed" in str(error)
