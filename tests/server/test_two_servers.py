"""Two real servers on one store: as when two editors are open on one machine."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cudanalyst.resources.store import Store
from cudanalyst.server.assembly import LOCAL_OWNER
from tests.server.conftest import ROOT

pytestmark = pytest.mark.anyio
CALLS = 12


def server(tmp_path: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "cudanalyst", "serve", "--store", str(tmp_path / "store")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        cwd=ROOT,
    )


async def test_both_get_all_their_answers_and_nothing_of_either_is_lost(tmp_path: Path) -> None:
    sessions: list[str] = []
    candidates: list[str] = []

    async def work(name: str) -> None:
        async with Client(stdio_client(server(tmp_path))) as client:
            for number in range(CALLS):
                source = f"__global__ void {name}_{number}(float* p) {{ p[threadIdx.x] = {number}; }}"
                result = await client.call_tool("analyze", {"source": source})
                assert result.structured_content["kernels"][0]["name"] == f"{name}_{number}"
                candidates.append(result.structured_content["candidate"])
            plan = await client.call_tool("plan", {"text": f"what {name} means to do"})
            sessions.append(plan.structured_content["plan"])

    async with anyio.create_task_group() as group:
        group.start_soon(work, "left")
        group.start_soon(work, "right")
    assert len(set(candidates)) == 2 * CALLS
    with Store.open(tmp_path / "store") as store:
        kept = [event.event for event in store.events(LOCAL_OWNER)]
    finished = [event for event in kept if event.kind == "tool_finished" and event.tool == "analyze"]
    assert len(finished) == 2 * CALLS
    assert len([event for event in kept if event.kind == "plan_recorded"]) == len(set(sessions)) == 2
