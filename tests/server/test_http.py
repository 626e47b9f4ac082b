"""Streamable HTTP: who may reach it, and that it serves both eras."""

import os
import signal
import socket
import subprocess
import sys

import anyio
import httpx
import pytest
from mcp import Client

from cudanalyst.errors import BadRequest
from cudanalyst.server.address import Address, check_exposure, owner_of, parse_address
from cudanalyst.server.http import http_app
from tests.server.conftest import ROOT
from tests.server.fakes import PROGRAM

TOKEN = "a token of more than sixteen characters"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        ("[::1]:8765", Address("::1", 8765)),
        (":8000", Address("127.0.0.1", 8000)),
        ("0.0.0.0:1", Address("0.0.0.0", 1)),
    ],
)
def test_addresses_are_read(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8000", "host:", "host:x", "host:70000"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(BadRequest, match="write HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])
def test_an_address_that_others_can_reach_needs_a_token(host):
    with pytest.raises(BadRequest, match="CUDANALYST_TOKEN"):
        check_exposure(Address(host, 80), None)
    check_exposure(Address(host, 80), TOKEN)


def test_a_short_token_is_no_secret():
    with pytest.raises(BadRequest, match="at least 16"):
        check_exposure(Address("127.0.0.1", 80), "short")


def test_an_owner_is_not_the_token():
    assert TOKEN not in owner_of(TOKEN)
    assert owner_of(TOKEN) != owner_of(TOKEN + "x")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example:80"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"host": "localhost:81"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": ""}, 401),
        ({"authorization": TOKEN}, 401),
    ],
)
async def test_a_request_in_anothers_name_is_refused(application, headers, status):
    app = http_app(application.server, Address("127.0.0.1", 80), TOKEN)
    transport = httpx.ASGITransport(app=app)
    base = {"host": "127.0.0.1:80", "authorization": f"Bearer {TOKEN}", **HEADERS}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as client:
        answer = await client.post("/mcp", json=PING, headers={**base, **headers})
    assert answer.status_code == status
    assert TOKEN not in answer.text


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.anyio
async def test_the_real_command_serves_both_eras_and_ends_on_a_signal(tmp_path):
    port = _free_port()
    server = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-m", "cudanalyst", "serve", "--http", f"127.0.0.1:{port}", "--store", str(tmp_path / "store")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        with anyio.fail_after(60):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", port):
                        break
                except OSError:
                    await anyio.sleep(0.05)
        for era in ("auto", "legacy"):
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
                first = await client.call_tool("analyze", {"source": PROGRAM})
                again = await client.call_tool("analyze", {"candidate": first.structured_content["candidate"]})
            assert again.structured_content["kernels"][0]["name"] == "k"
    finally:
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    assert out == b""
    assert b"Traceback" not in err


def test_the_command_refuses_to_open_up_without_a_token(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "cudanalyst", "serve", "--http", "0.0.0.0:0", "--store", str(tmp_path / "store")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, cwd=ROOT, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "CUDANALYST_TOKEN" in done.stderr
