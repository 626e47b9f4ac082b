"""A run that does nothing but write errors down is stopped; any other is left alone."""

import asyncio

import pytest

from cudanalyst.tools.checks import hangs, report_of
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer import running
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer
from cudanalyst.tools.toolchain.sanitizer.patience import Patience, with_patience
from cudanalyst.tools.toolchain.sanitizer.running import Target, sanitize_together

pytestmark = pytest.mark.anyio
AT_ONCE = Patience(seconds=0.0, look_s=0.001, many_bytes=100)


async def endless(ended: list[str]) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("cancelled")
    return "never"


async def test_a_run_with_many_errors_that_does_not_end_is_stopped(tmp_path) -> None:
    ended: list[str] = []
    (tmp_path / "log").write_bytes(b"x" * 100)
    assert await with_patience(endless(ended), tmp_path / "log", lambda _: True, AT_ONCE) is None
    assert ended == ["cancelled"]


@pytest.mark.parametrize(("text", "tells"), [(b"x" * 99, True), (b"x" * 100, False), (None, True)])
async def test_a_run_with_few_or_none_is_waited_for(tmp_path, text, tells) -> None:
    if text is not None:
        (tmp_path / "log").write_bytes(text)
    go, looked = asyncio.Event(), 0

    async def run() -> str:
        nonlocal looked
        while not go.is_set():
            looked += 1
            await asyncio.sleep(0)
            if looked > 20:
                go.set()
        return "its own end"

    assert await with_patience(run(), tmp_path / "log", lambda _: tells, AT_ONCE) == "its own end"


async def test_whoever_cancels_the_check_cancels_the_run(tmp_path) -> None:
    ended: list[str] = []
    waiting = asyncio.create_task(with_patience(endless(ended), tmp_path / "log", lambda _: True, AT_ONCE))
    for _ in range(20):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert (waiting.cancelled(), ended) == (True, ["cancelled"])


async def test_what_a_run_raises_is_raised(tmp_path) -> None:
    async def run() -> str:
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await with_patience(run(), tmp_path / "log", lambda _: True, AT_ONCE)


async def test_a_check_that_was_stopped_for_its_errors_has_findings_and_is_not_repeated(
    recordings, tmp_path, monkeypatch
) -> None:
    ended: list[str] = []

    async def at_once(run, log, tells):
        return await with_patience(run, log, tells, AT_ONCE)

    async def drive(prefix):
        (tmp_path / prefix[prefix.index("--log-file") + 1]).write_bytes(recordings.files["uninit_many.initcheck.txt"])
        await endless(ended)

    monkeypatch.setattr(running, "with_patience", at_once)
    target = Target(PathNames("p.cu", {}), sandbox="full")
    (result,) = await sanitize_together(
        Sanitizer(tmp_path / "x", "1"), ("initcheck",), drive, target, work=tmp_path, replayed=True
    )
    outcome = report_of("initcheck", [result])
    assert [(one.kind, one.count) for one in outcome.findings] == [("uninitialized_global_read", 100)]
    assert (outcome.report.verdict, outcome.report.reason, outcome.sandbox) == ("findings", None, "full")
    assert "stopped while it wrote many errors down" in (outcome.report.note or "")
    assert hangs(result.execution)
    assert ended == ["cancelled"]
