"""Whole experiments from a file, driven by agents that know nothing but the protocol."""

import json

import anyio
import pytest

from cudanalyst.resources.design.file import written
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.trial_rows import rows_of
from cudanalyst.server.assembly import LOCAL_OWNER
from tests.server.conftest import connected
from tests.server.fakes import CANDIDATE, FakeBench
from tests.server.test_trials import WRONG, call, refused

pytestmark = pytest.mark.anyio


async def start(client, source: str = WRONG, **changes) -> str:
    frozen = await call(client, "freeze", source=source, problem="vector_add", context="author")
    whole = {
        "name": "d",
        "players": ["analyzer", "debugger"],
        "checkpoints": [{"id": frozen["checkpoint"], "backbone": "run-1", "operator": "eoh"}],
        "planners": [{"name": "a", "kind": "external", "options": {"temperature": 0.5}}],
    }
    text = written(Design.model_validate({**whole, **changes}))
    return (await call(client, "experiment_start", design=text))["experiment"]


async def agent(client, experiment: str, name: str, **options) -> int:
    """Takes and answers trials until none is left; gives how many."""
    for number in range(1000):
        context, steps = f"{name} {number}", 1
        while steps:
            trial = await call(client, "trial_next", experiment=experiment, context=context, **options)
            if trial["status"] == "waiting":
                await anyio.lowlevel.checkpoint()
                await call(client, "attribution", experiment=experiment, wait_s=1, context="experimenter")
                continue
            if trial["status"] == "finished":
                return number
            plan = {"plan": f"{name}'s plan"} if trial["plan_step"] else {}
            usage = {"model": name, "fingerprint": "f1", "input_tokens": 7, "output_tokens": 3, "plan_s": 0.5}
            await call(
                client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context=context, usage=usage, **plan
            )
            steps = trial["steps"] - trial["step"]
    raise AssertionError


def rows(application, experiment: str):
    return rows_of(application.services.experiments, LOCAL_OWNER, experiment)


async def test_several_agents_work_off_an_experiment_of_several_planners_and_regimes(application, era) -> None:
    planners = [{"name": "a", "kind": "external"}, {"name": "b", "kind": "external", "plans_from": ["a"]}]
    async with connected(application, era) as client:
        experiment = await start(client, planners=planners, regimes=["NP+NF", "P+F", "P+S", "DP", "PT"])
        async with anyio.create_task_group() as group:
            for name in ("a", "b"):
                group.start_soon(lambda name=name: agent(client, experiment, name, planner=name))
        await call(client, "attribution", experiment=experiment, wait_s=40)
    found = rows(application, experiment)
    assert len(found) == 2 * (1 + 3 * 4) + 4
    assert {row.state for row in found} == {"evaluated"}
    assert not any(row.contaminated for row in found)
    assert {row.model for row in found if row.planner == "a"} == {"a@f1"}
    assert {(row.input_tokens, row.output_tokens, row.plan_s) for row in found} == {(7, 3, 0.5)}
    assert {(row.backbone, row.operator) for row in found} == {("run-1", "eoh")}
    assert {row.plan_of for row in found if row.regime == "PT"} == {"a"}
    assert all(row.evaluate_s is not None for row in found)


async def test_a_trial_of_several_steps_goes_on_in_its_context(application) -> None:
    async with connected(application) as client:
        experiment = await start(client, horizons=[2], coalitions=[["debugger"]], repeats=2)
        assert await agent(client, experiment, "a") == 2
        await call(client, "attribution", experiment=experiment, wait_s=40)
    found = rows(application, experiment)
    assert [(row.state, row.passed, row.input_tokens) for row in found] == [("evaluated", True, 14)] * 2


async def test_a_payload_says_who_may_see_what_and_never_the_regimes_name(application) -> None:
    async with connected(application) as client:
        experiment = await start(client, regimes=["P+F", "DP"], coalitions=[["debugger"]])
        given = [await call(client, "trial_next", experiment=experiment, context=f"c{number}") for number in range(2)]
    planned, dummy = sorted(given, key=lambda one: "plan" in one)
    assert (planned["plan_step"], planned["evidence_for"], planned["summary"][:4]) == (True, ["planner"], "Plan")
    assert (dummy["plan_step"], dummy["evidence_for"], dummy["summary"][:6]) == (False, ["coder"], "Follow")
    for one in given:
        assert one["decoding"] == {"planner": {"temperature": 0.5}, "coder": {"temperature": 0.5}}
        assert not {"regime", "coalition", "donor", "repeat", "block"} & set(one)
        assert "DP" not in json.dumps(one)


async def test_a_model_that_cannot_be_reached_costs_no_trial(application) -> None:
    async with connected(application) as client:
        experiment = await start(client, coalitions=[["debugger"]], attempts=2)
        first = await call(client, "trial_next", experiment=experiment, context="one")
        told = await call(client, "trial_submit", trial=first["trial"], failure="service", context="one")
        assert "waits for a fresh context" in told["summary"]
        again = await call(client, "trial_next", experiment=experiment, context="two")
        assert (again["trial"], again["evidence"]) == (first["trial"], first["evidence"])
        told = await call(client, "trial_submit", trial=again["trial"], failure="service", context="two")
        assert "counts as infrastructure" in told["summary"]
        assert (await call(client, "trial_next", experiment=experiment, context="three"))["status"] == "finished"
    assert [row.state for row in rows(application, experiment)] == ["infrastructure_failed"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"design": "name = 'x'\nrepeets = 3"}, "repeets: unknown; did you mean `repeats`?"),
        ({"design": "name = 'x'", "repeats": 3}, "leave the other arguments out"),
        ({"design": "name = 'x'", "checkpoints": ["chk_1"]}, "leave the other arguments out"),
        ({}, "checkpoints: name at least one handle"),
    ],
)
async def test_what_is_wrong_with_a_start_is_said(application, arguments, said: str) -> None:
    async with connected(application) as client:
        assert said in await refused(client, "experiment_start", **arguments)


@pytest.mark.parametrize(
    ("usage", "said"),
    [({"tokens": 3}, "usage.tokens"), ({"input_tokens": -1}, "usage.input_tokens"), ({"plan_s": "x"}, "usage.plan_s")],
)
async def test_usage_that_cannot_be_kept_is_refused_and_the_trial_stays_open(application, usage, said: str) -> None:
    async with connected(application) as client:
        experiment = await start(client)
        trial = (await call(client, "trial_next", experiment=experiment, context="c"))["trial"]
        message = await refused(client, "trial_submit", trial=trial, source=CANDIDATE, context="c", usage=usage)
        assert said in message
        assert (await call(client, "trial_next", experiment=experiment, context="c"))["trial"] == trial


async def test_a_planner_that_the_design_does_not_name_is_refused(application) -> None:
    async with connected(application) as client:
        experiment = await start(client)
        assert "no planner of this experiment (a)" in await refused(
            client, "trial_next", experiment=experiment, planner="b"
        )


async def test_a_verdict_that_another_trial_paid_for_costs_nothing(application) -> None:
    async with connected(application) as client:
        experiment = await start(client)
        await agent(client, experiment, "a")
        await call(client, "attribution", experiment=experiment, wait_s=40)
    seconds = [row.evaluate_s for row in rows(application, experiment)]
    assert seconds.count(0.0) == len(seconds) - 1
    assert {row.device_s for row in rows(application, experiment)} == {None}


async def test_attribution_of_a_design_names_each_condition_and_gives_the_whole_analysis_in_full(application) -> None:
    async with connected(application) as client:
        experiment = await start(client, regimes=["NP+NF", "P+F"], repeats=2)
        await agent(client, experiment, "a")
        short = await call(client, "attribution", experiment=experiment, wait_s=40)
        full = await call(client, "attribution", experiment=experiment, detail="full")
    assert short["status"] == "final"
    assert {(one["planner"], one["regime"]) for one in short["levels"]} == {("a", "P+F"), ("a", "NP+NF")}
    assert "analysis" not in short
    assert {one["condition"]["regime"] for one in full["analysis"]["slices"]} <= {"P+F", "NP+NF"}
    assert full["analysis"]["plan"]["primary_level"] == "passed"


async def test_a_step_that_a_killed_server_left_goes_on_at_the_next(make_application) -> None:
    class Dead(FakeBench):
        async def compile(self, source, progress):
            await anyio.sleep_forever()

    first = make_application()
    async with connected(first) as client:
        experiment = await start(client, horizons=[2], coalitions=[["debugger"]])
        first.services.evaluations.bench = Dead()
        trial = await call(client, "trial_next", experiment=experiment, context="c")
        told = await call(
            client, "trial_submit", trial=trial["trial"], source=CANDIDATE + "// one", plan="p", context="c"
        )
        assert "trial_next in this context" in told["summary"]
        session = (await call(client, "device_info"))["session"]
    second = make_application()
    common = {"session": session, "context": "c"}
    async with connected(second) as client:
        again = await call(client, "trial_next", experiment=experiment, **common)
        while again["status"] == "waiting":
            await call(client, "attribution", experiment=experiment, session=session, context="owner", wait_s=40)
            again = await call(client, "trial_next", experiment=experiment, **common)
        assert (again["trial"], again["step"], again["base_status"]) == (trial["trial"], 2, "passed")
        assert again["source"].endswith("// one")
        assert {one["component"] for one in again["evidence"]} == {"analyzer", "debugger"}
        await call(client, "trial_submit", trial=trial["trial"], failure="refusal", **common)
    assert [row.planner_failure for row in rows(second, experiment)] == ["refusal"]
