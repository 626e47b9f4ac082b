"""Blobs: what is named by its content is that content, or an error."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudanalyst.errors import NotFound, StoreError
from cudanalyst.resources.blobs import STALE_AFTER_S, BlobStore


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def files(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "blobs").rglob("*") if path.is_file())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000))
def test_what_was_put_is_what_is_read_under_its_sha256(blobs: BlobStore, data: bytes) -> None:
    digest = blobs.put(data)
    assert digest == sha256(data).hexdigest()
    assert blobs.get(digest) == data
    assert blobs.has(digest)


def test_equal_content_is_one_file(blobs: BlobStore, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(blobs.put, [b"same"] * 40))
    assert len(digests) == 1
    assert len(files(tmp_path)) == 1


def test_a_corrupt_blob_is_refused_and_storing_it_again_heals_it(blobs: BlobStore, tmp_path: Path) -> None:
    digest = blobs.put(b"kernel")
    files(tmp_path)[0].write_bytes(b"kernem")
    with pytest.raises(StoreError, match="corrupt"):
        blobs.get(digest)
    blobs.put(b"kernel")
    assert blobs.get(digest) == b"kernel"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64])
def test_an_unknown_or_malformed_name_is_not_found(blobs: BlobStore, name: str) -> None:
    assert not blobs.has(name)
    with pytest.raises(NotFound):
        blobs.get(name)


def test_a_failing_write_leaves_nothing_and_says_to_free_space(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="Free some space"):
            blobs.put(b"a" * 100)
    assert files(tmp_path) == []
    assert blobs.get(blobs.put(b"a" * 100)) == b"a" * 100


def test_a_really_full_disk_is_an_error_that_loses_nothing_acknowledged(tmp_path: Path) -> None:
    child = Path(__file__).parent / "children" / "fill_disk.py"
    mount = f'mount -t tmpfs -o size=2m none "{tmp_path}" && exec "{sys.executable}" "{child}" "{tmp_path}"'
    probe = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none "{tmp_path}"'], capture_output=True, check=False
    )
    if probe.returncode != 0:
        pytest.skip("a private tmpfs cannot be mounted here (needs root)")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    blob, event = done.stdout.splitlines()[:2]
    assert blob.startswith("blob: ")
    assert event.startswith("event: ")
    assert "Free some space" in blob
    assert "Free some space" in event
    assert "all acknowledged are there; writing works again" in done.stdout


def test_leavings_of_dead_writers_are_swept_but_not_those_of_live_ones(blobs: BlobStore, tmp_path: Path) -> None:
    blobs.put(b"x")
    folder = files(tmp_path)[0].parent
    old, new = folder / ".partial-old", folder / ".partial-new"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    long_ago = new.stat().st_mtime - STALE_AFTER_S - 60
    os.utime(old, (long_ago, long_ago))
    BlobStore(tmp_path / "blobs")
    assert not old.exists()
    assert new.exists()
