import errno
import os
import tempfile
from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest, StoreError
from cudanalyst.tools.toolchain.protocol import BufferSpec, Call, CandidateRequest, ScalarSpec
from cudanalyst.tools.toolchain.request import render_request
from cudanalyst.tools.toolchain.workspace import remove_stale, workspace

PARAMETERS = (
    BufferSpec("x", "f32", "in"),
    BufferSpec("y", "f32", "out"),
    ScalarSpec("n", "int"),
    ScalarSpec("a", "float"),
)


def request(**changes) -> CandidateRequest:
    call = Call(buffers={"x": (8, b"a" * 16), "y": (8, None)}, scalars={"n": 2, "a": 0.1}, download=("y",))
    return CandidateRequest(
        **{"parameters": PARAMETERS, "sizes": {"n": 2}, "calls": (call, call), "guard_bytes": 4, **changes}
    )


def test_the_request_names_everything_that_the_runner_needs():
    text, files = render_request("/c/candidate.so", request())
    assert text.splitlines()[:14] == [
        "library /c/candidate.so", "sizes n=2", "param buffer x f32 in", "param buffer y f32 out", "param int n", "param float a",
        "workspace yes", "guard 4", "call", "buffer x 8 in/x.0.bin", "buffer y 8 -", "value n 2",
        f"value a {(0.1).hex()}", "download y out/y.0.bin",
    ]  # fmt: skip
    assert files == {"in/x.0.bin": b"a" * 16, "in/x.1.bin": b"a" * 16}


def test_contents_of_a_wrong_length_are_refused():
    with pytest.raises(BadRequest, match="needs 8 bytes and two guards of 0, got 16"):
        render_request("/l", request(guard_bytes=0))


def test_a_missing_parameter_is_refused():
    with pytest.raises(BadRequest, match="no buffer 'x'"):
        render_request("/l", request(calls=(Call(buffers={}, scalars={}),)))
    with pytest.raises(BadRequest, match="no value for 'n'"):
        render_request("/l", request(calls=(Call(buffers={"x": (8, None), "y": (8, None)}, scalars={}),)))


def test_a_workspace_is_gone_afterwards(tmp_path):
    with workspace(tmp_path) as work:
        work.write({"in/x.bin": b"1", "request.txt": b"2"})
        assert (work.path / "in" / "x.bin").read_bytes() == b"1"
    assert list(tmp_path.iterdir()) == []


def test_only_plain_files_are_read_back_and_no_more_than_asked(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    with workspace(tmp_path) as work:
        (work.path / "out" / "good").write_bytes(b"abcdef")
        (work.path / "out" / "link").symlink_to(secret)
        os.mkfifo(work.path / "out" / "pipe")
        (work.path / "out" / "folder").mkdir()
        assert work.read("out/good", 4) == b"abcd"
        assert [work.read(f"out/{name}", 100) for name in ("link", "pipe", "folder", "absent")] == [None] * 4


def test_a_folder_that_was_replaced_by_a_link_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "y").write_bytes(b"secret")
    with workspace(tmp_path) as work:
        (work.path / "out").rename(work.path / "moved")
        (work.path / "out").symlink_to(elsewhere)
        assert work.read("out/y", 100) is None


@pytest.mark.parametrize("failing", ["mkdtemp", "write_bytes"])
def test_a_full_disk_is_said_with_what_to_do_and_leaves_nothing(tmp_path, monkeypatch, failing):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((tempfile, failing) if failing == "mkdtemp" else (Path, failing)), full)
    with pytest.raises(StoreError, match=r"No space left on device.*CUDANALYST_CACHE"), workspace(tmp_path) as work:
        work.write({"request.txt": b"x"})
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path):
    for name in ("run-old", "build-new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    os.utime(tmp_path / "run-old", (0, 0))
    remove_stale(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["build-new"]
    remove_stale(tmp_path / "nowhere")
