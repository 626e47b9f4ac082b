"""A real server killed with -9 in the middle of its work: nothing that it started lives on."""

import os
import secrets
import signal
import sys
from pathlib import Path

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters

from cudanalyst.tools.guardian import marked
from tests.server.conftest import ROOT
from tests.server.test_jobs import PATIENCE_S, alive
from tests.server.test_stdio import HELLO, say, start

pytestmark = pytest.mark.anyio
ENDLESS = (ROOT / "tests" / "adversarial" / "infinite_kernel.cu").read_text()
BUILD_PATIENCE_S = 600.0
"""The engine may have to be built before anything can be compiled or run."""


def descendants(pid: int) -> dict[int, bytes]:
    """All processes below one, with their command lines."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, frontier = set(), {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier} - found
        found |= frontier
    return {one: command(one) for one in found}


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("tool", "arguments", "program", "fresh"),
    [
        ("device_info", {}, b"cc1plus", True),
        ("compile", {"source": f"// {secrets.token_hex(8)}\n{ENDLESS}", "problem": "vector_add"}, b"cicc", False),
        ("run", {"source": ENDLESS, "problem": "vector_add", "timeout_s": 600}, b"cudanalyst-executor", False),
    ],
    ids=["engine build", "compile", "endless kernel"],
)
async def test_a_killed_server_leaves_no_process(tmp_path, tool, arguments, program, fresh):
    cache = tmp_path / "cache" if fresh else Path(os.environ["CUDANALYST_CACHE"])
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cudanalyst", "serve", "--store", str(tmp_path / "store")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CUDANALYST_CACHE": str(cache)},
        cwd=ROOT,
    )
    server = start(parameters)
    try:
        say(server, HELLO)
        await anyio.to_thread.run_sync(server.stdout.readline)
        say(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": tool, "arguments": arguments}
        say(server, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        with anyio.fail_after(BUILD_PATIENCE_S):
            below = descendants(server.pid)
            while not any(program in line for line in below.values()):
                await anyio.sleep(0.01)
                below = descendants(server.pid)
    finally:
        server.send_signal(signal.SIGKILL)
        server.communicate()
    mark = next(line for line in below.values() if b"guardian.py" in line).split(b"\0")[4]
    with anyio.fail_after(PATIENCE_S):
        while marked(mark) or any(alive(pid) for pid in below):
            await anyio.sleep(0.01)
