"""What a native run left is read back: a run that was ended half-way is no forgery, and a forgery is one."""

import json
from pathlib import Path

import pytest

from cudanalyst.tools.capture import Captured
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.toolchain import seal
from cudanalyst.tools.toolchain.execution import REPORT, WRONG_RUNTIME_EXIT, read_execution
from cudanalyst.tools.toolchain.gpu_native import refused_a_stream
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import BufferSpec, Call, CandidateRequest, Execution
from cudanalyst.tools.toolchain.workspace import workspace

KEY = seal.new_key()
A, B = b"aaaa", b"bbbb"
CALL = Call({"a": (4, A), "b": (4, None)}, {}, ("a", "b"))
REQUEST = CandidateRequest((BufferSpec("a", "f32", "in"), BufferSpec("b", "f32", "out")), {}, (CALL,), 0, 5.0)
RUNNER = {"type": "runner"}
ANSWER = {"type": "call", "index": 0, "status": "ok"}
END = {"type": "end"}


def download(name: str, data: bytes) -> dict[str, object]:
    return {"type": "download", "index": 0, "buffer": name, "digest": seal.digest(data)}


def process(exit_status: int | None = 0, *, timed_out: bool = False, said: str = "") -> ProcessResult:
    error = said.encode()
    return ProcessResult(
        exit_status=exit_status,
        signal=None,
        timed_out=timed_out,
        output_limited=False,
        stdout=Captured(b"", b"", 0),
        stderr=Captured(error, b"", len(error)),
        duration_s=5.0,
    )


def left(
    tmp_path: Path, files: dict[str, bytes], *records: dict[str, object], ended: ProcessResult, tail: bytes = b""
) -> Execution:
    """An execution whose run left these results and this report."""
    lines = [json.dumps(record).encode() for record in records]
    report = b"".join(line + b"\t" + seal.line_tag(KEY, number, line) + b"\n" for number, line in enumerate(lines))
    with workspace(tmp_path) as work:
        work.write({f"out/{name}.0.bin": data for name, data in files.items()})
        work.write({REPORT: report + tail})
        return read_execution(ended, work, REQUEST, PathNames("candidate.cu", {}), "full", KEY)


def test_a_run_that_went_well_has_its_results(tmp_path):
    records = (RUNNER, download("a", A), download("b", B), ANSWER, END)
    execution = left(tmp_path, {"a": A, "b": B}, *records, ended=process())
    assert (execution.how, execution.extra) == ("returned", {})
    assert execution.downloads == ({"a": A, "b": B},)


@pytest.mark.parametrize("tail", [b"", b'{"type":"download","ind'])
def test_a_run_that_was_ended_between_a_result_and_its_digest_timed_out_and_forged_nothing(tmp_path, tail):
    ended = process(None, timed_out=True)
    execution = left(tmp_path, {"a": A, "b": B}, RUNNER, download("a", A), ended=ended, tail=tail)
    assert execution.how == "timed_out"
    assert "report_forged" not in execution.extra
    assert execution.downloads == ({"a": A},)


def test_a_process_that_left_while_its_results_were_written_forged_nothing(tmp_path):
    execution = left(tmp_path, {"a": A}, RUNNER, ended=process(1))
    assert (execution.how, execution.extra, execution.downloads) == ("exited", {}, ({},))


@pytest.mark.parametrize("ended", [process(), process(None, timed_out=True)])
def test_a_result_that_differs_from_its_digest_is_somebody_elses_however_the_run_ended(tmp_path, ended):
    records = (RUNNER, download("a", A), download("b", B), ANSWER, END)
    execution = left(tmp_path, {"a": A, "b": b"cccc"}, *records, ended=ended)
    assert execution.extra["report_forged"] == "result `b` of call 1 was not written by the engine"
    assert "b" not in execution.downloads[0]


def test_a_result_without_a_digest_is_somebody_elses_once_the_call_was_answered(tmp_path):
    execution = left(tmp_path, {"a": A, "b": B}, RUNNER, download("a", A), ANSWER, END, ended=process())
    assert execution.extra["report_forged"] == "result `b` of call 1 was not written by the engine"


def test_a_runner_that_met_another_runtime_says_nothing_of_the_candidate(tmp_path):
    ended = process(WRONG_RUNTIME_EXIT, said="cudanalyst-runner: another runtime")
    execution = left(tmp_path, {}, ended=ended)
    assert execution.how == "unavailable"
    assert "another runtime" in (execution.reason or "")
    after_the_candidate = left(tmp_path, {}, RUNNER, ended=ended)
    assert after_the_candidate.how == "exited"


def test_a_device_that_gives_no_stream_says_nothing_of_the_candidate(tmp_path):
    said = "cudanalyst-runner: no stream: cudaErrorMemoryAllocation"
    assert refused_a_stream(left(tmp_path, {}, RUNNER, ended=process(3, said=said))) == "cudaErrorMemoryAllocation"
    later = left(tmp_path, {}, RUNNER, {**ANSWER, "status": "cuda_error"}, ended=process(3, said=said))
    assert refused_a_stream(later) is None
    assert refused_a_stream(left(tmp_path, {}, RUNNER, ended=process(3, said="no stream today"))) is None
