import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.tools.capture import Capture
from cudanalyst.tools.process import COOKIE, run_process, scrubbed_environment

pytestmark = pytest.mark.anyio


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def pid_written_to(path: Path) -> int:
    """Waits for a child's sign of life; bounded by the test's timeout."""
    while not (path.exists() and path.read_text().endswith("\n")):
        await asyncio.sleep(0.01)
    return int(path.read_text())


async def test_a_non_zero_exit_is_data():
    result = await run_process(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"), timeout_s=20
    )
    assert (result.exit_status, result.signal, result.timed_out) == (7, None, False)
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")


async def test_a_signal_is_named():
    result = await run_process(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), timeout_s=20)
    assert (result.exit_status, result.signal) == (None, "SIGSEGV")


async def test_standard_input_is_empty_unless_given():
    read = python("import sys; data = sys.stdin.buffer.read(); print(len(data), sum(data))")
    assert (await run_process(read, timeout_s=20)).stdout.text == "0 0\n"
    assert (await run_process(read, stdin=b"\x01" * 3_000_000, timeout_s=20)).stdout.text == "3000000 3000000\n"


async def test_a_child_that_closes_its_input_is_left_in_peace():
    result = await run_process(python("import os; os.close(0); print('fine')"), stdin=b"x" * 5_000_000, timeout_s=20)
    assert (result.exit_status, result.stdout.text) == (0, "fine\n")


async def test_the_environment_holds_only_what_is_allowed(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    monkeypatch.setenv("LD_PRELOAD", "")
    result = await run_process(python("import os; print(sorted(os.environ))"), timeout_s=20)
    names = set(eval(result.stdout.text)) - {"LC_CTYPE"}  # Python sets LC_CTYPE itself
    assert names <= {"PATH", "LANG", "LC_ALL", "TMPDIR", COOKIE}
    assert scrubbed_environment({"A": "1"})["A"] == "1"


async def test_a_given_environment_is_the_whole_environment():
    result = await run_process(["/usr/bin/env"], env={"ONLY": "this"}, timeout_s=20)
    assert {line.split("=")[0] for line in result.stdout.text.splitlines()} == {"ONLY", COOKIE}


async def test_a_flood_of_output_is_drained_and_bounded():
    code = "import os\nblock = b'a' * 1000000\nfor _ in range(100):\n  n = 0\n  while n < len(block): n += os.write(1, block[n:])\nos.write(1, b'end')"
    result = await run_process(python(code), timeout_s=120, capture_bytes=1000)
    assert (result.exit_status, result.stdout.total) == (0, 100_000_003)
    assert len(result.stdout.head) == len(result.stdout.tail) == 500
    assert result.stdout.text.endswith("aend")
    assert "99999003 bytes left out" in result.stdout.text


async def test_too_much_output_ends_it():
    result = await run_process(python("while True: print('y' * 100000)"), timeout_s=60, output_limit=1_000_000)
    assert result.output_limited
    assert not result.timed_out
    assert result.signal == "SIGKILL"


async def test_both_streams_at_once_do_not_block():
    code = "import os\nfor _ in range(300):\n  os.write(1, b'o' * 4096); os.write(2, b'e' * 4096)"
    result = await run_process(python(code), timeout_s=60)
    assert result.stdout.total == result.stderr.total == 300 * 4096


async def test_output_that_is_not_utf_8_is_replaced():
    result = await run_process(python(r"import os; os.write(1, b'a\xff\x00\x1b[31mred\x1b[0m\xe2\x82')"), timeout_s=20)
    assert result.stdout.text == "a\ufffdred\ufffd"


async def test_whoever_talks_to_a_process_ends_it_and_still_hears_what_it_said():
    stop = asyncio.Event()
    code = "import sys, time\nprint('said', flush=True)\nprint('x', file=sys.stderr, flush=True)\ntime.sleep(1000)"
    task = asyncio.create_task(run_process(python(code), timeout_s=60, grace_s=0.2, stop=stop))
    await asyncio.sleep(0)
    stop.set()
    result = await task
    assert not result.timed_out
    assert result.signal in {"SIGTERM", "SIGKILL"}
    unstopped = await run_process(python("print('said')"), timeout_s=60, stop=asyncio.Event())
    assert (unstopped.exit_status, unstopped.stdout.text) == (0, "said\n")


async def test_the_largest_size_of_a_process_is_known():
    result = await run_process(python("x = bytearray(300 << 20)"), timeout_s=60)
    assert (result.peak_bytes or 0) > 300 << 20


async def test_time_out_kills_grandchildren(tmp_path):
    mark = tmp_path / "pid"
    code = f"import subprocess; subprocess.call(['/bin/sh', '-c', 'echo $$ > {mark}; sleep 1000 & wait'])"
    result = await run_process(python(code), timeout_s=1.5, grace_s=0.2)
    assert result.timed_out
    assert result.duration_s < 60
    assert not alive(int(mark.read_text()))


async def test_a_child_that_ignores_term_is_killed():
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\nwhile True: time.sleep(1)"
    result = await run_process(python(code), timeout_s=1.0, grace_s=0.1)
    assert result.timed_out
    assert result.signal == "SIGKILL"


async def test_term_lets_a_child_say_goodbye():
    code = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\nprint('ready', flush=True)\nwhile True: time.sleep(1)"
    result = await run_process(python(code), timeout_s=1.0, grace_s=20)
    assert result.timed_out
    assert result.exit_status == 3


async def test_a_background_child_does_not_outlive_an_orderly_end(tmp_path):
    result = await run_process(["/bin/sh", "-c", "sleep 1000 & echo $!"], timeout_s=20)
    assert result.exit_status == 0
    assert not alive(int(result.stdout.text))


async def test_a_daemon_in_its_own_session_does_not_outlive_the_call():
    code = (
        "import os, time\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "  os.setsid()\n"
        "  if os.fork() == 0:\n"
        "    os.write(w, str(os.getpid()).encode()); time.sleep(1000)\n"
        "  os._exit(0)\n"
        "print(int(os.read(r, 20)))\n"
    )
    result = await run_process(python(code), timeout_s=20)
    assert result.exit_status == 0
    assert not alive(int(result.stdout.text))


async def test_cancellation_kills_everything(tmp_path):
    mark = tmp_path / "pid"
    command = ["/bin/sh", "-c", f"trap '' TERM; sleep 1000 & echo $! > {mark}; wait; sleep 1000"]
    task = asyncio.create_task(run_process(command, timeout_s=1000))
    pid = await pid_written_to(mark)
    assert alive(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


async def test_cancellation_during_the_grace_period_kills_too(tmp_path):
    mark = tmp_path / "pid"
    code = f"import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: open('{mark}', 'w').write(f'{{os.getpid()}}\\n'))\nwhile True: time.sleep(1)"
    task = asyncio.create_task(run_process(python(code), timeout_s=0.5, grace_s=1000))
    pid = await pid_written_to(mark)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


async def test_no_descriptor_is_left_open():
    await run_process(["/bin/true"], timeout_s=20)  # the first starts the guardian, which has a pipe
    before = sorted(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        await run_process(["/bin/true"], stdin=b"x", timeout_s=20)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


async def test_only_passed_descriptors_are_inherited():
    read_end, write_end = os.pipe()
    try:
        result = await run_process(
            python(f"import os; os.write({write_end}, b'seen')"), timeout_s=20, pass_fds=(write_end,)
        )
        assert (result.exit_status, os.read(read_end, 10)) == (0, b"seen")
        assert (await run_process(python(f"import os; os.write({write_end}, b'x')"), timeout_s=20)).exit_status == 1
    finally:
        os.close(read_end)
        os.close(write_end)


async def test_memory_is_limited():
    code = "import sys\nsys.stdin.read()\nb = bytearray(2 << 30)"
    result = await run_process(python(code), timeout_s=60, memory_bytes=512 << 20)
    assert "MemoryError" in result.stderr.text


async def test_a_missing_program_says_so():
    with pytest.raises(Unavailable, match="no-such-program was not found; install it"):
        await run_process(["no-such-program"], timeout_s=1)


async def test_a_missing_directory_says_so(tmp_path):
    with pytest.raises(Unavailable, match="working directory"):
        await run_process(["/bin/true"], cwd=tmp_path / "gone", timeout_s=1)


async def test_a_file_that_cannot_be_executed_says_so(tmp_path):
    (tmp_path / "data").write_text("x")
    with pytest.raises(Unavailable, match="Permission denied"):
        await run_process([tmp_path / "data"], timeout_s=1)


async def test_a_nul_byte_in_an_argument_is_a_bad_request():
    with pytest.raises(BadRequest, match="NUL"):
        await run_process(["/bin/true", "a\0b"], timeout_s=1)


async def test_runs_side_by_side_do_not_kill_each_other():
    results = await asyncio.gather(
        *(run_process(["/bin/sh", "-c", f"sleep 0.{i}; echo {i}"], timeout_s=30) for i in range(1, 6))
    )
    assert [r.stdout.text for r in results] == [f"{i}\n" for i in range(1, 6)]


@given(st.lists(st.binary(max_size=300)), st.integers(0, 200))
def test_head_and_tail_are_those_of_the_stream(chunks: list[bytes], keep: int):
    capture, whole = Capture(keep), b"".join(chunks)
    for chunk in chunks:
        capture.add(chunk)
    captured = capture.captured()
    assert captured.total == len(whole)
    assert whole.startswith(captured.head)
    assert whole.endswith(captured.tail)
    assert len(captured.head) + len(captured.tail) == min(keep, len(whole))
