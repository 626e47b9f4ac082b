"""Work that takes long: jobs, progress, cancelling."""

import asyncio
import os
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client

from cudanalyst.resources.events import JobFinished
from cudanalyst.server.assembly import LOCAL_OWNER
from cudanalyst.server.call import Progress
from cudanalyst.server.jobs import Turns
from cudanalyst.tools.compile import CompileResult
from tests.server.conftest import connected
from tests.server.fakes import PROGRAM, FakeBench, sleeper

pytestmark = pytest.mark.anyio
PATIENCE_S = 60


async def written(mark: Path) -> int:
    """The process id in a file, once another process has written it."""
    with anyio.fail_after(PATIENCE_S):
        while not mark.exists():
            await anyio.sleep(0.01)
    return int(mark.read_text())


async def gone(pid: int) -> None:
    """Returns once a process is no more."""
    with anyio.fail_after(PATIENCE_S):
        while alive(pid):
            await anyio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def test_a_call_that_takes_long_is_answered_with_a_job_that_gives_the_result(make_application, era):
    bench = FakeBench(gate=asyncio.Event())
    application = make_application(bench=bench, answer_within_s=0.05)
    async with connected(application, era) as client:
        pending = CompileResult.model_validate(
            (await client.call_tool("compile", {"source": PROGRAM})).structured_content
        )
        assert pending.status == "running"
        waiting = (await client.call_tool("job_status", {"job": pending.job, "wait_s": 0})).structured_content
        assert waiting["status"] == "running"
        assert waiting["stage"] == "compiling"
        bench.gate.set()
        done = (await client.call_tool("job_status", {"job": pending.job, "wait_s": 40})).structured_content
    assert done["status"] == "finished"
    assert CompileResult.model_validate(done["result"]).status == "compiled"
    kinds = [one.event.kind for one in application.services.store.events(LOCAL_OWNER)]
    assert kinds.count("job_started") == kinds.count("job_finished") == 1


async def test_a_job_can_be_cancelled_and_its_processes_die(make_application, tmp_path, era):
    application = make_application(answer_within_s=0.05)
    async with connected(application, era) as client:
        pending = (await client.call_tool("compile", {"source": sleeper(tmp_path / "pid")})).structured_content
        pid = await written(tmp_path / "pid")
        told = (await client.call_tool("job_cancel", {"job": pending["job"]})).structured_content
        assert told["status"] == "cancelled"
        assert not alive(pid)
        again = (await client.call_tool("job_status", {"job": pending["job"]})).structured_content
        assert again["status"] == "cancelled"
    events = application.services.store.events(LOCAL_OWNER, kinds=("job_finished",))
    assert [one.event.status for one in events if isinstance(one.event, JobFinished)] == ["cancelled"]


async def test_a_job_that_fails_says_why_and_masks_bugs(make_application):
    class Late(FakeBench):
        async def compile(self, source, progress):
            await self.gate.wait()
            raise RuntimeError("the secret")

    bench = Late(gate=anyio.Event())
    application = make_application(bench=bench, answer_within_s=0.05)
    async with connected(application) as client:
        job = (await client.call_tool("compile", {"source": PROGRAM})).structured_content["job"]
        bench.gate.set()
        told = (await client.call_tool("job_status", {"job": job, "wait_s": 40})).structured_content
    assert told["status"] == "failed"
    assert told["error"] == "Error executing tool compile"


async def test_another_owners_job_is_unknown(make_application):
    bench = FakeBench(gate=asyncio.Event())
    mine = make_application(bench=bench, answer_within_s=0.05)
    async with connected(mine) as client:
        job = (await client.call_tool("compile", {"source": PROGRAM})).structured_content["job"]
        found = mine.services.jobs.find(job, LOCAL_OWNER)
        assert found.tool == "compile"
        theirs = make_application(owner="two")
        theirs.services.jobs._jobs = mine.services.jobs._jobs
        async with connected(theirs) as other:
            answer = await other.call_tool("job_status", {"job": job})
    assert answer.is_error
    assert "no job" in answer.content[0].text


async def test_progress_is_reported_while_a_call_waits(make_application, era):
    bench = FakeBench(gate=asyncio.Event())
    application = make_application(bench=bench)
    heard: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) >= 3 and message == "compiling":
            bench.gate.set()

    async with connected(application, era) as client:
        await client.call_tool("compile", {"source": PROGRAM}, progress_callback=on_progress)
    assert len(heard) >= 3
    assert "compiling" in {message for _, message in heard}


async def test_cancelling_a_request_kills_its_processes(application, tmp_path, era):
    async with connected(application, era) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "compile", {"source": sleeper(tmp_path / "pid")})
            pid = await written(tmp_path / "pid")
            group.cancel_scope.cancel()
        await gone(pid)


async def test_closing_the_connection_ends_jobs_too(make_application, tmp_path, era):
    application = make_application(answer_within_s=0.05)
    async with connected(application, era) as client:
        await client.call_tool("compile", {"source": sleeper(tmp_path / "pid")})
        pid = await written(tmp_path / "pid")
    assert not alive(pid)


async def test_turns_are_given_in_order_and_a_waiting_call_knows_its_position():
    turns = Turns(at_once=1)
    progress, order = Progress(), []

    async def take(name: str, words: Progress) -> None:
        async with turns.turn(words):
            order.append(name)

    async with anyio.create_task_group() as group:
        first = turns.turn(Progress())
        async with first:
            group.start_soon(take, "second", Progress())
            await anyio.wait_all_tasks_blocked()
            group.start_soon(take, "third", progress)
            await anyio.wait_all_tasks_blocked()
            assert progress.words == "waiting for a turn, position 2"
    assert order == ["second", "third"]


async def test_a_cancelled_waiter_gives_its_turn_on():
    turns = Turns(at_once=1)
    done = []

    async def take(name: str) -> None:
        async with turns.turn(Progress()):
            done.append(name)

    async with anyio.create_task_group() as group, turns.turn(Progress()):
        with anyio.CancelScope() as scope:
            group.start_soon(take, "kept")
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as inner:
                inner.start_soon(take, "cancelled")
                await anyio.wait_all_tasks_blocked()
                inner.cancel_scope.cancel()
        assert not scope.cancelled_caught
    assert done == ["kept"]
    async with turns.turn(Progress()):
        done.append("free again")
    assert done[-1] == "free again"


async def test_closing_standard_input_leaves_no_process(child_parameters, tmp_path):
    transport = stdio_client(child_parameters(answer_within_s=0.2))
    async with Client(transport) as client:
        answer = await client.call_tool("compile", {"source": sleeper(tmp_path / "pid")})
        assert answer.structured_content["status"] == "running"
        pid = await written(tmp_path / "pid")
        server = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert server != os.getpid()
    await gone(pid)
    await gone(server)


async def test_a_jobs_evidence_is_delivered_when_it_is_told(make_application):
    bench = FakeBench(gate=asyncio.Event())
    application = make_application(bench=bench, answer_within_s=0.05)
    store = application.services.store
    async with connected(application) as client:
        pending = (await client.call_tool("compile", {"source": PROGRAM})).structured_content
        bench.gate.set()
        await asyncio.wait([application.services.jobs.find(pending["job"], LOCAL_OWNER).task])
        assert store.events(LOCAL_OWNER, kinds=("evidence_delivered",)) == []
        done = await client.call_tool("job_status", {"job": pending["job"], "context": "reader"})
    (delivered,) = store.events(LOCAL_OWNER, kinds=("evidence_delivered",))
    assert (delivered.context, delivered.event.component, delivered.event.via) == ("reader", "compiler", "job_status")
    assert delivered.event.candidate == done.structured_content["result"]["candidate"]
    (finished,) = store.events(LOCAL_OWNER, kinds=("job_finished",))
    assert (finished.event.job, finished.event.status) == (pending["job"], "done")
