"""Frozen means frozen: an adversary on a real connection tries every road to what its trial withholds.

The planner's server is a process of its own on the experimenter's store, over standard input and output, so the two share an owner
but no session. The adversary knows every handle there is. Every byte that reaches it is kept, and none may be of withheld evidence.
"""

import json
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from cudanalyst.resources.design.file import written
from cudanalyst.resources.design.models import Design
from cudanalyst.server.assembly import LOCAL_OWNER
from tests.server.fakes import CANDIDATE

pytestmark = pytest.mark.anyio
PLAYERS = ("compiler", "debugger", "profiler")
REGIMES = ("NP+NF", "P+NF", "NP+F", "P+F", "NP+S", "P+S", "DP", "RF", "PT")
WORDS = {"vector_add": "ANIRTAK", "reduction": "OLEGNIP"}
SAID = {problem: word[::-1] for problem, word in WORDS.items()}


def source(problem: str) -> str:
    return f"// SAYS:{WORDS[problem]} \n{CANDIDATE}"


@dataclass
class Planner:
    """A client that keeps every byte it is sent."""

    client: Client
    heard: list[str] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.client.call_tool(tool, arguments)
        self.heard.append(answer.model_dump_json())
        return answer.structured_content or {}

    async def read(self, uri: str) -> None:
        try:
            self.heard.append((await self.client.read_resource(uri)).model_dump_json())
        except MCPError as error:
            self.heard.append(str(error) + json.dumps(error.error.data))

    def told(self, words: set[str]) -> set[str]:
        """Which of some words were among all that it heard, however written."""
        everything = "".join(self.heard).lower()
        return {word for word in words if word.lower() in everything}


async def ok(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.structured_content


async def laid_out(experimenter: Client, regime: str) -> dict[str, Any]:
    """Two frozen programs whose tools speak in words of their own, and an experiment of one regime on them."""
    frozen = {
        problem: (await ok(experimenter, "freeze", source=source(problem), problem=problem))["checkpoint"]
        for problem in WORDS
    }
    design = {
        "name": "adversarial",
        "players": PLAYERS,
        "regimes": ["P+F", "PT"] if regime == "PT" else [regime],
        "coalitions": [["debugger"]],
        "planners": [{"name": "a", "kind": "external"}, {"name": "b", "kind": "external", "plans_from": ["a"]}],
        "checkpoints": [{"id": one} for one in frozen.values()],
    }
    started = await ok(experimenter, "experiment_start", design=written(Design.model_validate(design)))
    job = {"candidate": (await ok(experimenter, "restore", checkpoint=frozen["vector_add"]))["candidate"]}
    session = (await ok(experimenter, "device_info"))["session"]
    return {"checkpoints": frozen, "experiment": started["experiment"], "session": session, **job}


async def try_every_road(planner: Planner, known: dict[str, Any], trial: dict[str, Any], name: str) -> None:
    """Every tool with every handle and every address; but for what ends or begins a trial.

    The regimes take turns in how the planner names itself: as what it is, as nobody, as somebody else.
    """
    turn = REGIMES.index(name.split(maxsplit=1)[0]) % 3
    names_itself = ({"context": name}, {}, {"context": "another"})[turn]
    handles = [
        known["experiment"],
        trial["trial"],
        known["candidate"],
        *known["checkpoints"].values(),
        known["session"],
    ]
    values: dict[str, list[Any]] = {
        "source": [trial["source"]],
        "problem": [trial["problem"]],
        "candidate": [known["candidate"]],
        "checkpoint": list(known["checkpoints"].values()),
        "checkpoints": [list(known["checkpoints"].values())],
        "experiment": [known["experiment"]],
        "component": list(PLAYERS),
        "text": ["debugger.1"],
        "job": [known["experiment"]],
        "trial": ["tri_" + "0" * 32],
        "failure": ["refusal"],
        "detail": ["full"],
        "wait_s": [0],
    }
    for tool in (await planner.client.list_tools()).tools:
        if tool.name in {"trial_next", "experiment_start"}:
            continue
        wanted = tool.input_schema["properties"]
        names = [name for name in values if name in wanted]
        if {"source", "candidate"} <= set(names):
            names.remove("candidate")
        for chosen in product(*(values[name] for name in names)):
            arguments = dict(zip(names, chosen, strict=True))
            await planner.call(tool.name, **arguments, **names_itself)
    await planner.call("trial_next", experiment=known["experiment"], context=name)
    addresses = [str(one.uri) for one in (await planner.client.list_resources()).resources]
    for template in (await planner.client.list_resource_templates()).resource_templates:
        for handle, component in product([*handles, trial["problem"], "res_" + "0" * 32], PLAYERS):
            head, _, tail = template.uri_template.partition("{")
            addresses.append(head + handle + tail.partition("}")[2].replace("{component}", component))
    for address in dict.fromkeys(addresses):
        await planner.read(address)
    for prompt in (await planner.client.list_prompts()).prompts:
        planner.heard.append(prompt.model_dump_json())


async def test_no_byte_of_withheld_evidence_reaches_a_planner_by_any_road(application, child_parameters) -> None:
    with anyio.fail_after(300):
        async with Client(application.server) as experimenter, Client(child_parameters()) as connection:
            for regime in REGIMES:
                known = await laid_out(experimenter, regime)
                if regime == "PT":
                    await answer_as(experimenter, known, "a")
                await attack(connection, known, regime)
                application.services.experiments.end(LOCAL_OWNER, known["experiment"], "tried")


async def attack(connection: Client, known: dict[str, Any], regime: str) -> None:
    """Takes a trial, tries every road before and after the answer, and says what was heard."""
    planner, name, number = Planner(connection), regime, 0
    options = {"experiment": known["experiment"], "planner": "b" if regime == "PT" else "a"}
    trial = await planner.call("trial_next", context=name, **options)
    while regime == "PT" and "plan" not in trial:
        await planner.call("trial_submit", trial=trial["trial"], failure="refusal", context=name)
        planner, number = Planner(connection), number + 1
        name = f"{regime} {number}"
        trial = await planner.call("trial_next", context=name, **options)
    assert trial["status"] == "open"
    given = json.dumps(trial)
    own, foreign = SAID[trial["problem"]], SAID[next(one for one in WORDS if one != trial["problem"])]
    everything = {f"{word}-{player}" for word, player in product((own, foreign), PLAYERS)}
    shown = {word for word in everything if word in given}
    expected = {"RF": {f"{foreign}-debugger"}, "P+NF": set(), "NP+NF": set(), "PT": set()}
    assert shown == expected.get(regime, {f"{own}-debugger"}), regime

    await try_every_road(planner, known, trial, name)
    assert len(planner.heard) > 60
    assert planner.told(everything) == shown, regime

    mine = CANDIDATE + f"// MINE {regime}"
    await planner.call("trial_submit", trial=trial["trial"], source=mine, plan="p", context=name)
    before = len(planner.heard)
    await planner.call("attribution", experiment=known["experiment"], wait_s=20)
    for context in ({}, {"context": name}, {"context": "another"}):
        for tool in ("compile", "run", "debug", "profile"):
            await planner.call(tool, source=mine, problem=trial["problem"], **context)
    assert all("is closed" in text or "has not ended" in text for text in planner.heard[before:]), regime
    assert planner.told(everything) == shown, regime


async def answer_as(client: Client, known: dict[str, Any], planner: str) -> None:
    """Gives a plan in every trial of a planner."""
    for number in range(10):
        context = f"{planner} {number}"
        trial = await ok(client, "trial_next", experiment=known["experiment"], planner=planner, context=context)
        if trial["status"] != "open":
            return
        await ok(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, plan="transferred", context=context)
