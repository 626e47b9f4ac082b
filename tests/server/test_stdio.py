"""The stdio wire: a real child process, its standard output, and what is left when its client goes."""

import json
import os
import signal
import subprocess
import sys

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cudanalyst.server.stdio import LineReader, LineWriter
from tests.server.conftest import ROOT
from tests.server.fakes import PROGRAM, sleeper
from tests.server.test_jobs import gone, written

pytestmark = pytest.mark.anyio
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def start(parameters: StdioServerParameters, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [parameters.command, *parameters.args], env=parameters.env, cwd=parameters.cwd,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def say(server: subprocess.Popen[str], message: dict) -> None:
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


async def test_the_real_command_serves_both_eras(tmp_path, era):
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cudanalyst", "serve", "--store", str(tmp_path / "store")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        cwd=ROOT,
    )
    async with Client(stdio_client(parameters), mode=era) as client:
        assert client.server_info.name == "cudanalyst"
        assert len(client.instructions) < 2048
        listed = await client.call_tool("list_problems", {})
        analyzed = await client.call_tool("analyze", {"source": PROGRAM})
    assert listed.structured_content["status"] == "listed"
    assert analyzed.structured_content["kernels"][0]["name"] == "k"


async def test_a_tool_that_prints_does_not_reach_the_wire(child_parameters, tmp_path):
    with (tmp_path / "log").open("w") as log:
        async with Client(stdio_client(child_parameters(), errlog=log)) as client:
            for number in range(3):
                answer = await client.call_tool("compile", {"source": f"// PRINTS {number}\n{PROGRAM}"})
                assert answer.structured_content["status"] == "compiled"
    assert (tmp_path / "log").read_text().count("this must not reach the wire") == 3


async def test_a_signal_ends_the_server_and_what_it_started(child_parameters, tmp_path):
    server = start(child_parameters(answer_within_s=0.1))
    say(server, HELLO)
    assert json.loads(server.stdout.readline())["id"] == 1
    say(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    arguments = {"name": "compile", "arguments": {"source": sleeper(tmp_path / "pid")}}
    say(server, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments})
    pid = await written(tmp_path / "pid")
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)
    await gone(pid)
    assert server.returncode == 0


async def test_when_the_client_is_killed_nothing_is_left(child_parameters, tmp_path):
    parameters = child_parameters()
    client = """
import json, subprocess, sys
server = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in json.loads(sys.argv[2]):
    server.stdin.write((json.dumps(line) + "\\n").encode()); server.stdin.flush()
open(sys.argv[3], "w").write(str(server.pid))
server.wait()
"""
    call = {"name": "compile", "arguments": {"source": sleeper(tmp_path / "pid")}}
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    command = json.dumps([parameters.command, *parameters.args])
    started = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", client, command, json.dumps(lines), str(tmp_path / "server")],
        env=parameters.env, cwd=parameters.cwd,
    )  # fmt: skip
    pid = await written(tmp_path / "pid")
    server = await written(tmp_path / "server")
    started.kill()
    started.wait()
    await gone(server)
    await gone(pid)


async def test_a_client_that_closes_both_streams_before_its_answer_ends_the_server_in_order(child_parameters):
    server = start(child_parameters())
    say(server, HELLO)
    assert json.loads(server.stdout.readline())["id"] == 1
    server.stdout.close()
    for number in range(2, 6):
        say(server, {"jsonrpc": "2.0", "id": number, "method": "ping"})
    server.stdin.close()
    errors = await anyio.to_thread.run_sync(server.stderr.read)
    server.stderr.close()
    assert server.wait(timeout=60) == 0
    assert "Traceback" not in errors


async def test_the_parents_death_ends_the_server_though_its_standard_input_stays_open(child_parameters, tmp_path):
    parameters = child_parameters()
    read, write = os.pipe()
    client = (
        "import json,subprocess,sys; p = subprocess.Popen(json.loads(sys.argv[1])); print(p.pid, flush=True); p.wait()"
    )
    started = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", client, json.dumps([parameters.command, *parameters.args])],
        env=parameters.env, cwd=parameters.cwd, stdin=read, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        server = int(started.stdout.readline())
        os.write(write, (json.dumps(HELLO) + "\n").encode())
        assert json.loads(started.stdout.readline())["id"] == 1
        started.kill()
        started.wait()
        await gone(server)
    finally:
        os.close(read)
        os.close(write)
        started.stdout.close()


async def test_rubbish_on_the_wire_is_answered_and_the_server_goes_on(child_parameters):
    server = start(child_parameters())
    server.stdin.write("no json\n\n{}\n")
    say(server, HELLO)
    answers = []
    while not answers or answers[-1].get("id") != 1:
        answers.append(json.loads(server.stdout.readline()))
    server.communicate(timeout=60)
    assert answers[-1]["result"]["serverInfo"]["name"] == "cudanalyst"
    assert server.returncode == 0


async def test_lines_arrive_whole_however_they_are_cut():
    read, write = os.pipe()
    text = [f"line {number} " + "x" * (number * 7000) + "é" for number in range(12)]

    async def send() -> None:
        data = ("\n".join(text) + "\n").encode()
        writer = LineWriter(write)
        for begin in range(0, len(data), 40_961):
            await anyio.to_thread.run_sync(os.write, write, data[begin : begin + 40_961])
        await writer.flush()
        os.close(write)

    async with anyio.create_task_group() as group:
        group.start_soon(send)
        got = [line async for line in LineReader(read)]
    os.close(read)
    assert got == text


async def test_a_line_over_the_limit_is_dropped_and_the_next_is_read():
    read, write = os.pipe()
    os.write(write, b"y" * 5000 + b"\nnext\n")
    os.close(write)
    got = [line async for line in LineReader(read, limit=100)]
    os.close(read)
    assert got[-1] == "next"
    assert len(got) == 2


async def test_a_reader_that_stops_holds_up_only_the_writer():
    read, write = os.pipe()
    writer, ticks = LineWriter(write), []

    async def tick() -> None:
        ticks.append(1)
        os.set_blocking(read, False)
        total = 0
        while total < 1_000_000:
            try:
                total += len(os.read(read, 65_536))
            except BlockingIOError:
                await anyio.wait_all_tasks_blocked()

    async with anyio.create_task_group() as group:
        group.start_soon(writer.write, "x" * 1_000_000)
        group.start_soon(tick)
    os.close(read)
    os.close(write)
    assert ticks == [1]
