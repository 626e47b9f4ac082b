"""Programs: run as they are, shown as untrusted text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.programs import same_output
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.text import clean, one_line
from cudanalyst.tools.toolchain.protocol import ProgramRequest
from tests.tools.fakes import PROGRAM, FakeToolchain, ended


async def ran(request: RunRequest | None = None, how: Any = "returned", **fields: Any) -> RunResult:
    return await run(PROGRAM, None, FakeToolchain(script=lambda _: ended(how, **fields)), request)


@pytest.mark.anyio
async def test_a_program_gets_its_arguments_and_standard_input() -> None:
    toolchain = FakeToolchain()
    await run(PROGRAM, None, toolchain, RunRequest(arguments=("a", "-b"), stdin="words", timeout_s=3))
    request = toolchain.requests[0]
    assert isinstance(request, ProgramRequest)
    assert (request.arguments, request.stdin, request.timeout_s) == (("a", "-b"), b"words", 3)


@pytest.mark.anyio
async def test_a_program_that_ends_is_exited_without_a_verdict() -> None:
    result = await ran(stdout="hello\n", stdout_bytes=6)
    assert result.status == "exited"
    assert result.ok is True
    assert result.program is not None
    assert result.program.stdout == "hello\n"
    assert result.program.matches_expected is None


@pytest.mark.anyio
async def test_an_exit_status_other_than_0_is_not_ok() -> None:
    result = await ran(exit_status=3)
    assert result.status == "exited"
    assert result.ok is False


@pytest.mark.anyio
async def test_output_that_is_not_expected_is_not_ok() -> None:
    result = await ran(RunRequest(expected_stdout="hello"), stdout="goodbye")
    assert result.status == "exited"
    assert result.ok is False
    assert "not what was expected" in result.summary


@pytest.mark.anyio
async def test_a_signal_is_a_crash_and_a_device_fault_is_named() -> None:
    fault = {"type": "error", "name": "cudaErrorIllegalAddress", "file": "program.cu", "line": 5}
    result = await ran(how="signalled", signal="SIGABRT", report=(fault,))
    assert result.status == "crashed"
    assert result.cuda_error == "cudaErrorIllegalAddress"
    assert "program.cu:5" in result.summary


@pytest.mark.anyio
async def test_a_program_that_does_not_end_is_timed_out() -> None:
    assert (await ran(how="timed_out")).status == "timed_out"


@pytest.mark.anyio
async def test_escape_sequences_and_control_characters_do_not_come_through() -> None:
    result = await ran(stdout="a\x1b[31mred\x1b[0m\x07\x00b\u202e", stdout_bytes=20)
    assert result.program is not None
    assert result.program.stdout == "aredb"


@pytest.mark.anyio
async def test_long_output_keeps_head_and_tail() -> None:
    result = await ran(stdout="first" + "x" * 100_000 + "last", stdout_bytes=100_009)
    assert result.program is not None
    assert result.program.stdout.startswith("first")
    assert result.program.stdout.endswith("last")
    assert len(result.program.stdout) < 4_100
    assert result.program.stdout_bytes == 100_009


def test_equal_text_may_differ_in_trailing_blanks_only() -> None:
    assert same_output("a b \nc\n\n", "a b\nc", None)
    assert not same_output("a  b", "a b", None)


def test_numbers_may_differ_within_the_tolerance_and_words_may_not() -> None:
    assert same_output("sum = 1.0001,", "sum = 1.0,", 1e-3)
    assert not same_output("sum = 1.01", "sum = 1.0", 1e-3)
    assert not same_output("max = 1.0", "sum = 1.0", 1e-3)
    assert not same_output("1 2 3", "1 2", 1e-3)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5), st.floats(0, 1))
def test_output_is_always_as_expected_of_itself(numbers: list[float], tolerance: float) -> None:
    text = " ".join(map(repr, numbers))
    assert same_output(text, text, tolerance)


@given(st.text(), st.integers(10, 200))
def test_shown_text_is_bounded_and_holds_no_controls(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert len(shown) <= limit + 60
    assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    assert "\n" not in one_line(text)
