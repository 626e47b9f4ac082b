"""Experiments over MCP: blind, guarded, resumable."""

import json

import anyio
import pytest
from mcp import MCPError

from cudanalyst.server.assembly import LOCAL_OWNER
from tests.server.conftest import connected
from tests.server.fakes import CANDIDATE, FakeBench

pytestmark = pytest.mark.anyio
WRONG = CANDIDATE.replace("return 0", "/* WRONG */ return 0")


OTHER = """
#include <cuda_runtime.h>
__global__ void sum(const float *x, float *total, int n) {
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
    if (threadIdx.x % 32 == 0) atomicAdd(total, mine);
}
"""


async def call(client, tool: str, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.structured_content


async def refused(client, tool: str, **arguments) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text


async def begin(client, source: str = WRONG, **options) -> tuple[str, str]:
    """Freezes a candidate and starts an experiment on it; gives both handles."""
    frozen = await call(client, "freeze", source=source, problem="vector_add", context="author")
    started = await call(
        client, "experiment_start", checkpoints=[frozen["checkpoint"]], players=["analyzer", "debugger"], **options
    )
    return frozen["checkpoint"], started["experiment"]


async def test_an_experiment_runs_from_freeze_to_attribution(application, era):
    async with connected(application, era) as client:
        checkpoint, experiment = await begin(client, repeats=2)
        seen = []
        for number in range(8):
            context = f"planner-{number}"
            trial = await call(client, "trial_next", experiment=experiment, context=context)
            assert (trial["status"], trial["base_status"]) == ("open", "wrong")
            shown = tuple(one["component"] for one in trial.get("evidence", ()))
            seen.append(shown)
            source = CANDIDATE + f"// FAST {number}" if "debugger" in shown else WRONG
            receipt = await call(
                client, "trial_submit", trial=trial["trial"], source=source, plan="mend it", context=context
            )
            assert set(receipt) == {"status", "summary", "trial"}
        ended = await call(client, "attribution", experiment=experiment, wait_s=40)
        whole = await call(client, "attribution", experiment=experiment, detail="full")
        finished = await call(client, "trial_next", experiment=experiment, context="late")
        page = await client.read_resource(f"cudanalyst://experiments/{experiment}/attribution")
        report = await client.read_resource(f"cudanalyst://experiments/{experiment}/report")
    assert sorted(seen) == sorted([(), ("analyzer",), ("debugger",), ("analyzer", "debugger")] * 2)
    assert ended["status"] == "final"
    passed = next(one for one in ended["levels"] if one["level"] == "passed")
    assert {player: numbers[0] for player, numbers in passed["banzhaf"].items()} == {"analyzer": 0.0, "debugger": 1.0}
    assert passed["values"]["none"] == "0.000 (0/2)"
    assert len(json.dumps(ended)) < 6000
    assert "attribution" not in ended
    assert len(whole["attribution"]["levels"]) == 3
    assert finished["status"] == "finished"
    assert json.loads(page.contents[0].text)["status"] == "final"
    assert report.contents[0].text.lower().startswith("<!doctype html>")
    assert checkpoint.startswith("chk_")


async def test_while_a_trial_is_open_every_other_road_is_closed_to_its_context(application, era):
    async with connected(application, era) as client:
        checkpoint, experiment = await begin(client)
        await call(client, "trial_next", experiment=experiment, context="planner")
        for tool, arguments in (
            ("compile", {"source": WRONG, "problem": "vector_add"}),
            ("debug", {"source": WRONG, "problem": "vector_add"}),
            ("profile", {"source": "int main() {}"}),
            ("get_evidence", {"checkpoint": checkpoint, "component": "debugger"}),
            ("restore", {"checkpoint": checkpoint}),
            ("freeze", {"source": WRONG, "problem": "vector_add"}),
            ("attribution", {"experiment": experiment}),
            ("job_status", {"job": "job_x"}),
        ):
            assert "closed in this context" in await refused(client, tool, context="planner", **arguments)
            # A call that names no context may come from the planner just as well.
            assert "closed in this context" in await refused(client, tool, **arguments)
        for address in (
            f"cudanalyst://checkpoints/{checkpoint}/evidence/debugger",
            f"cudanalyst://checkpoints/{checkpoint}",
        ):
            with pytest.raises(MCPError, match="closed in this context"):
                await client.read_resource(address)
        allowed = await call(client, "get_problem", problem="vector_add", context="planner")
    assert allowed["problem"] == "vector_add"


async def test_a_context_that_froze_a_program_gets_no_valid_trial_of_it(application):
    async with connected(application) as client:
        _, experiment = await begin(client)
        stale = await call(client, "trial_next", experiment=experiment, context="author")
    assert stale["status"] == "not_fresh"


async def test_attribution_answers_in_the_middle_to_the_experimenter_only(application, era):
    async with connected(application, era) as client:
        _, experiment = await begin(client)
        empty = await call(client, "attribution", experiment=experiment)
        assert empty["status"] == "empty"
        trial = await call(client, "trial_next", experiment=experiment, context="planner")
        await call(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context="planner")
        interim = await call(client, "attribution", experiment=experiment, wait_s=40)
        assert (interim["status"], interim["evaluated"], interim["trials"]) == ("interim", 1, 4)
        assert "has not ended" in await refused(client, "attribution", experiment=experiment, context="planner")
        other = application.services.store.start_session(LOCAL_OWNER)
        assert "has not ended" in await refused(client, "attribution", experiment=experiment, session=other)
        with pytest.raises(MCPError, match="until the experiment ends"):
            await client.read_resource(f"cudanalyst://experiments/{experiment}/attribution")


async def test_a_planners_failure_is_an_outcome(application):
    async with connected(application) as client:
        _, experiment = await begin(client)
        for number in range(4):
            trial = await call(client, "trial_next", experiment=experiment, context=f"p{number}")
            await call(client, "trial_submit", trial=trial["trial"], failure="refusal", context=f"p{number}")
        ended = await call(client, "attribution", experiment=experiment)
    assert ended["status"] == "final"
    assert set(ended["levels"][0]["values"].values()) == {"0.000 (0/1)"}


async def test_both_or_neither_of_source_and_failure_is_refused(application):
    async with connected(application) as client:
        assert "source and failure" in await refused(client, "trial_submit", trial="tri_x")


async def test_submissions_that_a_killed_server_left_are_evaluated_by_the_next(make_application):
    class Dead(FakeBench):
        async def compile(self, source, progress):
            await anyio.sleep_forever()

    first = make_application()
    async with connected(first) as client:
        _, experiment = await begin(client)
        first.services.evaluations.bench = Dead()
        for number in range(4):
            trial = await call(client, "trial_next", experiment=experiment, context=f"p{number}")
            await call(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context=f"p{number}")
        session = (await call(client, "device_info"))["session"]
    second = make_application()
    async with connected(second) as client:
        ended = await call(client, "attribution", experiment=experiment, session=session, wait_s=40)
    assert (ended["status"], ended["evaluated"]) == ("final", 4)


async def test_an_evaluator_that_fails_is_tried_again_and_then_counted_as_infrastructure(make_application):
    class Flaky(FakeBench):
        async def compile(self, source, progress):
            self.compiles += 1
            return await super().compile(source.model_copy(update={"text": "// MISSING"}), progress)

    application = make_application()
    async with connected(application) as client:
        _, experiment = await begin(client)
        application.services.evaluations.bench = Flaky()
        for number in range(4):
            trial = await call(client, "trial_next", experiment=experiment, context=f"p{number}")
            source = CANDIDATE + f"// {number}"
            await call(client, "trial_submit", trial=trial["trial"], source=source, context=f"p{number}")
        ended = await call(client, "attribution", experiment=experiment, wait_s=40)
    assert sum(one["infrastructure_failed"] for one in ended["missing"]) == 4


async def test_the_same_source_is_evaluated_once_however_many_trials_came_to_it(application):
    async with connected(application) as client:
        _, experiment = await begin(client, repeats=3)
        before = application.services.bench.compiles
        for number in range(12):
            trial = await call(client, "trial_next", experiment=experiment, context=f"p{number}")
            await call(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context=f"p{number}")
        ended = await call(client, "attribution", experiment=experiment, wait_s=40)
    assert ended["evaluated"] == 12
    assert application.services.bench.compiles == before + 1


async def test_restoring_gives_the_source_without_its_evidence(application):
    async with connected(application) as client:
        checkpoint, _ = await begin(client)
        restored = await call(client, "restore", checkpoint=checkpoint)
        evidence = await call(client, "get_evidence", checkpoint=checkpoint, component="debugger")
    assert restored["source"] == WRONG
    assert restored["base_status"] == "wrong"
    assert evidence["text"] not in json.dumps(restored)
    assert evidence["items"]


async def test_freezing_the_same_moment_twice_gives_the_same_checkpoint(application):
    async with connected(application) as client:
        first = await call(client, "freeze", source=WRONG, problem="vector_add")
        compiled = application.services.bench.compiles
        second = await call(client, "freeze", source=WRONG, problem="vector_add")
    assert first["checkpoint"] == second["checkpoint"]
    assert application.services.bench.compiles == compiled


async def test_who_listens_to_an_experiment_is_told_when_a_trial_has_been_evaluated(application):
    async with connected(application) as client:
        _, experiment = await begin(client)
        uri = f"cudanalyst://experiments/{experiment}/attribution"
        async with client.listen(resource_subscriptions=[uri]) as updates:
            trial = await call(client, "trial_next", experiment=experiment, context="planner")
            await call(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context="planner")
            with anyio.fail_after(60):
                told = await anext(aiter(updates))
    assert told.uri == uri


async def test_a_session_that_a_planner_starts_is_no_way_round_its_trial(application):
    async with connected(application) as client:
        frozen, experiment = await begin(client)
        started = await call(client, "session_start", context="planner's other name")
        trial = await call(client, "trial_next", experiment=experiment, context="planner")
        late = await call(client, "session_start", context="a third name")
        for session in (started["session"], late["session"]):
            said = await refused(client, "debug", source=trial["source"], problem=trial["problem"], session=session)
            assert "belongs to it" in said
            assert "belongs to it" in await refused(
                client, "get_evidence", checkpoint=frozen, component="debugger", session=session
            )
            # Passed off as a program of another problem it is still the same program.
            assert "belongs to it" in await refused(
                client, "analyze", source=trial["source"], problem="reduction", session=session
            )
            other = await call(client, "analyze", source=OTHER, problem="reduction", session=session)
            assert other["status"] in {"clean", "findings"}
        await call(client, "trial_submit", trial=trial["trial"], source=trial["source"], context="planner")
