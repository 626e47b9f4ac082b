import dataclasses

import pytest

from cudanalyst.errors import NotFound
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.debug import Finding
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import (
    BufferSpec,
    Build,
    Call,
    CandidateRequest,
    Execution,
    ProgramRequest,
    Sanitization,
)
from cudanalyst.tools.toolchain.replay import RecordingToolchain, ReplayToolchain, request_id

pytestmark = pytest.mark.anyio

SOURCE = Source(text="int main() {}")
CANDIDATE = CandidateRequest(
    parameters=(BufferSpec("y", "f32", "out"),),
    sizes={"n": 1},
    calls=(Call(buffers={"y": (4, b"\x00\xff" * 2)}, scalars={}, download=("y",)),),
    guard_bytes=0,
)
EXECUTION = Execution(
    how="returned", exit_status=0, signal=None, stdout="out", stderr="", stdout_bytes=3, stderr_bytes=0,
    report=({"type": "engine"}, {"type": "end", "cuda_error": 0}), downloads=({"y": b"\x00\x01\xfe\xff"},), duration_s=0.5, sandbox="full",
)  # fmt: skip
FINDING = Finding(check="memcheck", kind="invalid_global_read", message="m", thread=(1, 2, 3))


class Known(GpuToolchain):
    """Answers everything with fixed values."""

    async def build(self, source):
        return Build(
            status="compiled", source_id=source.id, diagnostics=(Diagnostic(severity="note", text="n"),), duration_s=1.0,
            measured_on=MeasuredOn(toolchain="cpu", versions={"nvcc": "13.0.88"}),
        )  # fmt: skip

    async def execute(self, build, request):
        return EXECUTION

    async def profile(self, build, request):
        return dataclasses.replace(EXECUTION, stdout="profiled")

    async def sanitize(self, build, request, check):
        return Sanitization(
            check=check,
            execution=EXECUTION,
            findings=(FINDING,),
            failed=None,
            coverage="all",
            note="not all",
            wall_s=0.5,
        )


@pytest.mark.parametrize("request_", [CANDIDATE, ProgramRequest(arguments=("a",), stdin=b"\xff")])
async def test_what_was_recorded_is_replayed_exactly(tmp_path, request_):
    recording = RecordingToolchain(Known(), tmp_path)
    build = await recording.build(SOURCE)
    await recording.execute(build, request_)
    await recording.profile(build, request_)
    await recording.sanitize(build, request_, "memcheck")

    replay = ReplayToolchain(tmp_path)
    replayed = await replay.build(SOURCE)
    assert (replayed.status, replayed.diagnostics, replayed.measured_on.toolchain) == (
        "compiled",
        build.diagnostics,
        "replay",
    )
    assert await replay.execute(replayed, request_) == EXECUTION
    assert (await replay.profile(replayed, request_)).stdout == "profiled"
    checked = await replay.sanitize(replayed, request_, "memcheck")
    assert (checked.findings, checked.failed, checked.coverage) == ((FINDING,), None, "all")
    assert (checked.broken, checked.note, checked.wall_s) == (None, "not all", 0.5)


async def test_what_was_not_recorded_is_unavailable(tmp_path):
    replay = ReplayToolchain(tmp_path)
    build = await replay.build(SOURCE)
    assert build.status == "unavailable"
    execution = await replay.execute(build, ProgramRequest())
    assert execution.how == "unavailable"
    assert "was not recorded" in (execution.reason or "")
    assert (await replay.sanitize(build, ProgramRequest(), "racecheck")).failed


async def test_unavailable_answers_are_not_recorded(tmp_path):
    recording = RecordingToolchain(GpuToolchain(root=tmp_path, environment={"PATH": ""}), tmp_path / "r")
    build = await recording.build(SOURCE)
    await recording.execute(build, ProgramRequest())
    assert list((tmp_path / "r").iterdir()) == []


def test_the_time_limit_is_no_part_of_a_requests_identity():
    assert request_id(CANDIDATE) == request_id(dataclasses.replace(CANDIDATE, timeout_s=1.0))
    assert request_id(CANDIDATE) != request_id(dataclasses.replace(CANDIDATE, guard_bytes=4096))


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(NotFound, match="no recordings"):
        ReplayToolchain(tmp_path / "none")


def test_what_was_recorded_without_a_selection_answers_the_usual_one():
    usual, other = (dataclasses.replace(CANDIDATE, selection=chosen) for chosen in (Selection(), Selection("full")))
    assert request_id(usual) == request_id(CANDIDATE)
    assert request_id(other) != request_id(CANDIDATE)
