"""What an untrusted process left is read back without following it anywhere, and without waiting for it."""

import os
from pathlib import Path

import pytest

from cudanalyst.tools.toolchain.workspace import read_plain, workspace

SECRET = b"a secret of the host"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is read from, beside a file that is none of its business."""
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_plain_file_is_read_up_to_its_limit(place):
    (place / "file").write_bytes(b"0123456789")
    assert read_plain(place / "file", 100) == b"0123456789"
    assert read_plain(place / "file", 4) == b"0123"


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.symlink_to(path.parent.parent / "secret"),
        os.mkfifo,
        os.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda _: None,
    ],
    ids=["link", "pipe", "folder", "device", "nothing"],
)
def test_whatever_else_lies_in_its_place_is_neither_read_nor_waited_for(place, put):
    put(place / "file")
    assert read_plain(place / "file", 100) is None
    with workspace(place) as work:
        put(work.path / "out" / "file")
        assert work.read("out/file", 100) is None


def test_a_folder_that_was_replaced_by_a_link_is_not_entered(place):
    (place / "folder").symlink_to(place.parent)
    assert read_plain(place / "folder" / "secret", 100) is None
