"""Calling tools, in memory and in both protocol eras."""

import json

import pytest
from mcp_types import ResourceTemplateReference

from cudanalyst.errors import BadRequest
from cudanalyst.resources.events import ToolFinished, ToolStarted
from cudanalyst.server.assembly import LOCAL_OWNER
from cudanalyst.tools.compile import CompileResult
from tests.server.conftest import connected
from tests.server.fakes import CANDIDATE, PROGRAM

pytestmark = pytest.mark.anyio


async def test_a_result_is_the_tools_own_model_in_both_eras(application, era):
    async with connected(application, era) as client:
        answer = await client.call_tool("compile", {"source": PROGRAM})
    assert not answer.is_error
    result = CompileResult.model_validate(answer.structured_content)
    assert result.status == "compiled"
    assert result.candidate.startswith("prog_")
    assert json.loads(answer.content[0].text) == answer.structured_content


async def test_a_candidate_handle_stands_for_its_source_in_later_calls(application, era):
    async with connected(application, era) as client:
        first = await client.call_tool("compile", {"source": CANDIDATE, "problem": "vector_add"})
        handle = first.structured_content["candidate"]
        for tool in ("run", "debug", "analyze", "profile"):
            later = await client.call_tool(tool, {"candidate": handle})
            assert later.structured_content["candidate"] == handle


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("compile", {}, "source: missing"),
        ("compile", {"source": "  \n"}, "source: empty"),
        ("compile", {"source": "int a;\0"}, "source: NUL byte at character 6"),
        ("compile", {"source": "x" * 1_000_001}, "source: 1000001 bytes, over the limit of 1000000"),
        ("compile", {"source": "x", "candidate": "prog_1"}, "source and candidate: give one"),
        ("compile", {"source": "x", "arch": "sm_999"}, "sm_999"),
        ("compile", {"source": "x", "flags": ["-ccbin=/tmp/evil"]}, "'-ccbin=/tmp/evil' is not allowed"),
        ("compile", {"source": "x", "flags": ["-Xcompiler", "-fplugin=/tmp/evil.so"]}, "is not allowed"),
        ("compile", {"source": "x", "flags": ["--options-file=/etc/passwd"]}, "is not allowed"),
        ("run", {"source": "x", "flags": ["-run"]}, "is not allowed"),
        ("compile", {"sorce": "x"}, "sorce: no such argument of compile"),
        ("compile", {"source": 7}, "source:"),
        ("run", {"source": "x", "timeout_s": -1}, "timeout_s: Input should be greater than 0"),
        ("run", {"source": "x", "problem": "no_such"}, "there is no problem `no_such`"),
        ("run", {"source": CANDIDATE, "problem": "vector_add", "stdin": "x"}, "stdin: only for programs"),
        ("run", {"candidate": "cand_" + "0" * 32}, "Unknown candidate"),
        ("freeze", {"source": PROGRAM}, "problem: only candidates"),
        ("restore", {"checkpoint": "chk_" + "0" * 32}, "Unknown checkpoint"),
        ("get_problem", {"problem": "vector_ad"}, "did you mean `vector_add`"),
        ("get_evidence", {"checkpoint": "x", "component": "oracle"}, "component:"),
        ("job_status", {"job": "job_x"}, "no job 'job_x'"),
        ("trial_next", {"experiment": "exp_x"}, "exp_x"),
        ("plan", {"text": ""}, "text:"),
        ("compile", {"source": "x", "session": "ses_x"}, "Unknown session"),
    ],
)
async def test_a_bad_argument_is_named_with_what_to_do(application, tool, arguments, said):
    async with connected(application) as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    assert said in answer.content[0].text


async def test_a_million_bytes_are_taken(application):
    async with connected(application) as client:
        answer = await client.call_tool("compile", {"source": "//" + "x" * 999_998})
    assert answer.structured_content["status"] == "compiled"


async def test_a_bug_is_masked_and_recorded(application, era):
    async with connected(application, era) as client:
        answer = await client.call_tool("compile", {"source": "// BUG"})
    assert answer.is_error
    assert answer.content[0].text == "Error executing tool compile"
    events = application.services.store.events(LOCAL_OWNER, kinds=("tool_finished",))
    assert events[-1].event.status == "bug"


async def test_every_tool_records_its_start_and_its_end(application):
    calls = 0
    async with connected(application) as client:
        for tool in (await client.list_tools()).tools:
            await client.call_tool(tool.name, {})
            calls += 1
    events = [one.event for one in application.services.store.events(LOCAL_OWNER)]
    started = [one for one in events if isinstance(one, ToolStarted)]
    finished = [one for one in events if isinstance(one, ToolFinished)]
    valid = {"analyze", "compile", "run", "debug", "profile", "freeze", "trial_submit", "device_info", "list_problems"}
    assert {one.tool for one in started} >= valid - {"trial_submit"}
    assert [one.call for one in started] == [one.call for one in finished]
    assert calls == 19


async def test_another_owners_handles_are_unknown(make_application, era):
    mine, theirs = make_application(owner="one"), make_application(owner="two")
    async with connected(mine, era) as client:
        handle = (await client.call_tool("compile", {"source": PROGRAM})).structured_content["candidate"]
        session = (await client.call_tool("device_info", {})).structured_content["session"]
    async with connected(theirs, era) as client:
        answer = await client.call_tool("compile", {"candidate": handle})
        assert answer.is_error
        assert "Unknown candidate" in answer.content[0].text
        answer = await client.call_tool("device_info", {"session": session})
        assert answer.is_error
        assert "Unknown session" in answer.content[0].text


async def test_what_a_call_needs_and_is_missing_is_said(application):
    async with connected(application) as client:
        answer = await client.call_tool("compile", {"source": "// MISSING"})
    assert answer.is_error
    assert answer.content[0].text == "nvcc was not found; install it"


async def test_a_problem_never_shows_held_out_sizes(application):
    async with connected(application) as client:
        answer = await client.call_tool("get_problem", {"problem": "vector_add"})
        assert set(answer.structured_content["sizes"]) == {"test", "eval"}
        read = await client.read_resource("cudanalyst://problems/vector_add")
    assert "held_out" not in json.dumps(answer.structured_content)
    assert "held_out" not in read.contents[0].text
    assert answer.structured_content["signature"].startswith('extern "C" int solve(')


async def test_a_plan_is_recorded_with_its_citations(application):
    async with connected(application) as client:
        answer = await client.call_tool("plan", {"text": "unroll the loop", "cites": ["profiler.1"], "author": "me"})
    event = application.services.store.events(LOCAL_OWNER, kinds=("plan_recorded",))[0].event
    assert event.plan == answer.structured_content["plan"]
    assert event.cites == ("profiler.1",)


def test_reading_a_source_for_a_call_refuses_half_characters():
    from cudanalyst.server.arguments import checked_text

    with pytest.raises(BadRequest, match="surrogate"):
        checked_text("a\ud800")


async def test_each_feedback_result_that_is_sent_is_evidence_delivered(application):
    async with connected(application) as client:
        told = await client.call_tool("compile", {"source": PROGRAM})
        candidate = told.structured_content["candidate"]
        for tool in ("analyze", "debug", "profile", "run"):
            await client.call_tool(tool, {"candidate": candidate})
        await client.call_tool("debug", {"source": f"// BROKEN\n{PROGRAM}"})
        await client.call_tool("compile", {"source": f"// BUG\n{PROGRAM}"})
    store = application.services.store
    delivered = [one.event for one in store.events(LOCAL_OWNER, kinds=("evidence_delivered",))]
    assert [(one.component, one.via) for one in delivered] == [
        ("compiler", "compile"),
        ("analyzer", "analyze"),
        ("debugger", "debug"),
        ("profiler", "profile"),
    ]
    assert {one.candidate for one in delivered} == {candidate}
    finished = {one.event.tool: one.event for one in store.events(LOCAL_OWNER, kinds=("tool_finished",))[:4]}
    assert [one.evidence for one in delivered] == [finished[one.via].result_blob for one in delivered]


async def test_the_evidence_before_each_decision_is_what_a_sessions_attribution_tells(application):
    async with connected(application) as client:
        first = await client.call_tool("analyze", {"source": PROGRAM})
        await client.call_tool("compile", {"source": PROGRAM})
        before = first.structured_content["candidate"]
        await client.call_tool("plan", {"text": "unroll", "candidate": before, "cites": ["compiler.1"]})
        await client.call_tool("compile", {"source": PROGRAM + "// unrolled"})
        session = (await client.call_tool("device_info", {})).structured_content["session"]
        read = await client.read_resource(f"cudanalyst://sessions/{session}/attribution")
    told = json.loads(read.contents[0].text)
    (decision,) = told["observed"]["moments"]
    assert told["status"] == "observational"
    assert decision["moment"]["before"] == before
    assert decision["moment"]["seen"] == ["analyzer", "compiler"]
    assert decision["cited"] == ["compiler"]


async def test_problems_and_components_are_completed_and_handles_are_not(application, era):
    async with connected(application, era) as client:

        async def completed(uri: str, name: str, begun: str) -> list[str]:
            reference = ResourceTemplateReference(type="ref/resource", uri=uri)
            return (await client.complete(reference, {"name": name, "value": begun})).completion.values

        problems = await completed("cudanalyst://problems/{problem}", "problem", "Vec")
        evidence = "cudanalyst://checkpoints/{checkpoint}/evidence/{component}"
        components = await completed(evidence, "component", "")
        checkpoints = await completed(evidence, "checkpoint", "")
    assert "vector_add" in problems
    assert {"analyzer", "compiler", "debugger", "profiler"} <= set(components)
    assert checkpoints == []
