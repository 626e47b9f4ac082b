"""Sessions with randomised delivery, through the protocol: what is withheld, what is not, and what attribution tells."""

import json

import anyio
import pytest

from cudanalyst.resources.events import (
    CandidateJudged,
    DeliveryRandomised,
    EvidenceDelivered,
    EvidenceRequested,
    EvidenceWithheld,
)
from cudanalyst.resources.randomised.draws import RandomisedDelivery, draw
from cudanalyst.tools.source import Source
from tests.server.conftest import connected
from tests.server.fakes import CANDIDATE

pytestmark = pytest.mark.anyio
TOOLS = {"analyzer": "analyze", "compiler": "compile", "debugger": "debug", "profiler": "profile"}
HALF = dict.fromkeys(TOOLS, 0.5)


async def asked(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def started(client, **propensities):
    return (await asked(client, "session_start", randomise=propensities or HALF))["session"]


def source_that(application, session, *, withholds=(), offers=(), words=""):
    """A candidate whose draw is known, since the test knows the secret."""
    design = RandomisedDelivery(propensities=HALF)
    for number in range(10_000):
        text = f"// {number} {words}\n{CANDIDATE}"
        identity = Source(text=text, problem="vector_add").id
        offered = draw(application.services.bench.secret, session, identity, design)
        if not set(withholds) & set(offered) and set(offers) <= set(offered):
            return text, identity
    pytest.fail("no such draw in 10,000 candidates")


def logged(application, kind):
    events = application.services.store.events("local")
    return [one.event for one in events if isinstance(one.event, kind)]


async def test_withheld_evidence_is_answered_with_the_base_status_alone(application):
    async with connected(application) as client:
        session = await started(client)
        text, identity = source_that(application, session, withholds=("profiler",), words="WRONG")
        told = await asked(client, "profile", source=text, problem="vector_add", session=session)
    assert told["status"] == "unavailable"
    assert told["summary"].startswith("Base status: wrong (it gives wrong results).")
    assert told["candidate"] == identity
    assert "kernels" not in told
    assert logged(application, EvidenceDelivered) == []
    assert [one.component for one in logged(application, EvidenceWithheld)] == ["profiler"]


@pytest.mark.parametrize("component", sorted(TOOLS))
async def test_what_is_offered_is_answered_as_anywhere(application, component):
    async with connected(application) as client:
        session = await started(client)
        text, _ = source_that(application, session, offers=(component,))
        told = await asked(client, TOOLS[component], source=text, problem="vector_add", session=session)
        plain = await asked(client, TOOLS[component], source=text, problem="vector_add")
    assert {**told, "duration_s": None} == {**plain, "duration_s": None}


async def test_asking_again_is_allowed_recorded_and_served(application):
    async with connected(application) as client:
        session = await started(client)
        text, identity = source_that(application, session, withholds=("analyzer",))
        await asked(client, "analyze", source=text, problem="vector_add", session=session)
        again = await asked(client, "analyze", candidate=identity, session=session)
    assert again["status"] in {"clean", "findings"}
    assert [one.component for one in logged(application, EvidenceRequested)] == ["analyzer"]
    assert [one.component for one in logged(application, EvidenceDelivered)] == ["analyzer"]


async def test_a_run_is_never_withheld_but_says_nothing_of_the_compilers_messages(application):
    async with connected(application) as client:
        session = await started(client)
        text, identity = source_that(application, session, withholds=("compiler",), words="BROKEN")
        compiled = await asked(client, "compile", source=text, problem="vector_add", session=session)
        ran = await asked(client, "run", candidate=identity, session=session)
    assert "expected a ';'" not in json.dumps([compiled, ran])
    assert ran["status"] in {"passed", "compile_failed"}


async def test_one_draw_holds_for_a_candidate_whatever_is_called_and_from_where(application):
    async with connected(application) as client:
        session = await started(client)
        text, identity = source_that(application, session, offers=("profiler",))
        await asked(client, "run", source=text, problem="vector_add", session=session)
        await asked(client, "profile", candidate=identity, session=session, context="another")
        await asked(client, "profile", candidate=identity, session=session)
    (drawn,) = logged(application, DeliveryRandomised)
    assert drawn.number == 1
    assert drawn.joint == pytest.approx(0.5**4)
    assert len(logged(application, CandidateJudged)) == 1


async def test_draws_survive_a_restart_and_agree_between_servers(make_application):
    first, second = make_application(), make_application()
    async with connected(first) as client:
        session = await started(client)
        text, identity = source_that(first, session, withholds=("debugger",))
        told = await asked(client, "debug", source=text, problem="vector_add", session=session)
    async with connected(second) as client:
        again = await asked(client, "debug", candidate=identity, session=session)
    assert told["status"] == "unavailable"
    assert again["status"] == "clean"  # the second call in earnest, though another server answered the first
    assert len(logged(second, DeliveryRandomised)) == 1


async def test_programs_and_plain_sessions_are_left_alone(application):
    async with connected(application) as client:
        session = await started(client)
        await asked(client, "analyze", source="int main() { return 0; }", session=session)
        await asked(client, "analyze", source=CANDIDATE, problem="vector_add")
    assert logged(application, DeliveryRandomised) == []


@pytest.mark.parametrize("chance", [0.19, 0.81, 0.0, 1.0])
async def test_propensities_outside_the_bounds_are_refused_in_words(application, chance):
    async with connected(application) as client:
        answer = await client.call_tool("session_start", {"randomise": {"profiler": chance}})
    assert answer.is_error
    assert "give 0.2 to 0.8" in answer.content[0].text


async def test_frozen_evidence_that_was_withheld_may_be_fetched_and_that_is_recorded(application):
    async with connected(application) as client:
        session = await started(client)
        text, identity = source_that(application, session, withholds=("profiler",))
        await asked(client, "run", source=text, problem="vector_add", session=session)
        frozen = await asked(client, "freeze", candidate=identity, session=session)
        await asked(client, "get_evidence", checkpoint=frozen["checkpoint"], component="profiler", session=session)
    assert [one.via for one in logged(application, EvidenceRequested)] == ["get_evidence"]


async def test_attribution_of_a_randomised_session_tells_both_kinds_apart(application):
    async with connected(application) as client:
        session = await started(client)
        for number in range(4):
            text = f"// {number} {'FAST' if number == 3 else 'WRONG' if number < 2 else ''}\n{CANDIDATE}"
            await asked(client, "run", source=text, problem="vector_add", session=session)
            await asked(client, "profile", source=text, problem="vector_add", session=session)
        told = await asked(client, "attribution", session=session)
        full = await asked(client, "attribution", session=session, detail="full")
        everything = await asked(client, "attribution", of="all", session=session)
    assert told["status"] == "randomised"
    assert (told["randomised"]["decisions"], told["randomised"]["pending"]) == (3, 1)
    assert told["observed"]["decisions"] == 3
    assert any("Observational" in note for note in told["observed"]["notes"])
    assert "moments" not in told["observed"]
    assert len(full["observed"]["moments"]) == 3
    assert everything["observed"]["sessions"] == 2  # the connection's own, and the one that was started


async def test_the_attribution_resource_is_announced_when_outcomes_arrive(application):
    async with connected(application) as client:
        session = await started(client)
        address = f"cudanalyst://sessions/{session}/attribution"
        async with client.listen(resource_subscriptions=[address]) as updates:
            await asked(client, "run", source=CANDIDATE, problem="vector_add", session=session)
            with anyio.fail_after(20):
                heard = await anext(aiter(updates))
        read = await client.read_resource(address)
    assert str(heard.uri) == address
    (content,) = read.contents
    told = json.loads(content.text)
    assert (told["status"], told["randomised"]["pending"]) == ("randomised", 1)


async def test_attribution_of_sessions_is_closed_while_a_trial_is_open_in_the_session_under_any_name(application):
    async with connected(application) as client:
        frozen = await asked(client, "freeze", source=CANDIDATE + "// WRONG", problem="vector_add", context="author")
        begun = await asked(client, "experiment_start", checkpoints=[frozen["checkpoint"]], players=["analyzer"])
        trial = await asked(client, "trial_next", experiment=begun["experiment"], context="planner")
        for more in ({}, {"of": "all"}, {"context": "planner"}, {"context": "another", "of": "all"}):
            answer = await client.call_tool("attribution", more)
            assert answer.is_error, more
            assert "closed" in answer.content[0].text
        await asked(client, "trial_submit", trial=trial["trial"], source=CANDIDATE, context="planner")
        after = await client.call_tool("attribution", {"context": "planner"})
        assert after.is_error
        assert "has not ended" in after.content[0].text


async def test_an_experiment_and_all_sessions_cannot_be_asked_for_at_once(application):
    async with connected(application) as client:
        answer = await client.call_tool("attribution", {"experiment": "exp_" + "0" * 32, "of": "all"})
    assert answer.is_error
    assert "leave it out" in answer.content[0].text
