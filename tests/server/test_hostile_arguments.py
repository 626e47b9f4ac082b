"""Arguments that nobody means well by: named, refused, and never given back raw or at length."""

import pytest
from mcp import Client

from cudanalyst.server.app import Application

pytestmark = pytest.mark.anyio
PROGRAM = "int main() {}"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_problem", {"problem": "\x1b[31mx\u202e\x07"}, "no problem `x`"),
        ("job_status", {"job": "x" * 100_000}, "characters left out"),
        ("restore", {"checkpoint": "../../etc/\x9b2J" + "y" * 50_000}, "characters left out"),
        ("run", {"source": PROGRAM, "arguments": ["fine", "x" * 3_000_000]}, "number 2 has 3000000 bytes"),
        ("debug", {"source": PROGRAM, "arguments": ["a\0b"]}, "number 1 holds a NUL byte"),
        ("profile", {"source": PROGRAM, "arguments": ["a"] * 1000}, "at most 64 items"),
        ("compile", {"source": PROGRAM, "flags": ["-DA=1\n-run"]}, "is not allowed"),
        ("compile", {"source": PROGRAM, "arch": "sm_90 -run"}, "unknown architecture"),
        ("analyze", {"source": PROGRAM, "\x1b[2Jevil": 1}, "evil: no such argument"),
    ],
)
async def test_a_hostile_argument_is_refused_in_few_plain_words(
    application: Application, tool: str, arguments: dict[str, object], said: str
) -> None:
    async with Client(application.server) as client:
        result = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in result.content if part.type == "text")
    assert result.is_error
    assert said in text
    assert len(text) < 5000
    assert not any((each < " " and each not in "\n\t") or each in "\x9b\u202e" for each in text)
