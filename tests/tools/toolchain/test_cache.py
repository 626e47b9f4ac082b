import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cudanalyst.errors import StoreError
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.toolchain.cache import BuildCache, CachedBuild

KEY = "build_0123456789abcdef"


@pytest.fixture
def binary(tmp_path) -> Path:
    path = tmp_path / "candidate.so"
    path.write_bytes(b"ELF" * 1000)
    return path


def compiled() -> CachedBuild:
    return CachedBuild(status="compiled", binary="candidate.so", duration_s=1.5)


def test_what_was_put_is_found(tmp_path, binary):
    folder = BuildCache(tmp_path / "c").put(KEY, compiled(), binary)
    found = BuildCache(tmp_path / "c").get(KEY)
    assert found == (compiled(), folder)
    assert (folder / "candidate.so").read_bytes() == b"ELF" * 1000


def test_a_failure_is_kept_too(tmp_path):
    record = CachedBuild(
        status="failed", binary=None, diagnostics=(Diagnostic(severity="error", text="no"),), duration_s=1
    )
    BuildCache(tmp_path).put(KEY, record, None)
    found = BuildCache(tmp_path).get(KEY)
    assert found is not None
    assert found[0] == record


def test_nothing_is_found_before(tmp_path):
    assert BuildCache(tmp_path / "absent").get(KEY) is None


def test_putting_twice_keeps_the_first(tmp_path, binary):
    cache = BuildCache(tmp_path / "c")
    cache.put(KEY, compiled(), binary)
    folder = cache.put(KEY, compiled().model_copy(update={"duration_s": 9.0}), binary)
    assert cache.get(KEY) == (compiled(), folder)
    assert list((tmp_path / "c" / "tmp").iterdir()) == []


@pytest.mark.parametrize("damage", ["truncate", "no_binary", "other_schema"])
def test_a_damaged_entry_counts_as_absent_and_can_be_replaced(tmp_path, binary, damage):
    cache = BuildCache(tmp_path / "c")
    folder = cache.put(KEY, compiled(), binary)
    record = folder / "build.json"
    if damage == "truncate":
        record.write_bytes(record.read_bytes()[:20])
    elif damage == "no_binary":
        (folder / "candidate.so").unlink()
    else:
        record.write_text('{"status": "compiled", "unknown": 1}')
    assert cache.get(KEY) is None
    cache.put(KEY, compiled(), binary)
    assert cache.get(KEY) is not None


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path, binary):
    (tmp_path / "c").write_text("in the way")
    with pytest.raises(StoreError, match="set CUDANALYST_CACHE"):
        BuildCache(tmp_path / "c").put(KEY, compiled(), binary)


def test_a_full_disk_is_a_store_error_and_leaves_nothing(tmp_path, binary, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(StoreError, match="No space left on device"):
        BuildCache(tmp_path / "c").put(KEY, compiled(), binary)
    assert BuildCache(tmp_path / "c").get(KEY) is None
    assert list((tmp_path / "c" / "tmp").iterdir()) == []


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path, binary):
    stale = tmp_path / "c" / "tmp" / "old"
    stale.mkdir(parents=True)
    os.utime(stale, (time.time() - 7200, time.time() - 7200))
    BuildCache(tmp_path / "c").put(KEY, compiled(), binary)
    assert not stale.exists()


WRITER = """
import sys
from pathlib import Path
from cudanalyst.tools.toolchain.cache import BuildCache, CachedBuild
root, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
binary = root.parent / f"binary-{first}"
binary.write_bytes(b"x" * 200_000)
cache = BuildCache(root)
print("ready", flush=True)
for i in range(first, first + count):
    cache.put(f"build_{i:06d}", CachedBuild(status="compiled", binary="candidate.so", duration_s=1), binary)
"""


def entries(root: Path) -> list[Path]:
    return [path for path in root.glob("??/*") if path.is_dir()]


def test_a_kill_in_the_middle_leaves_only_whole_entries(tmp_path):
    root = tmp_path / "c"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, root, "0", "100000"], stdout=subprocess.PIPE)
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        while len(entries(root)) < 5:
            assert writer.poll() is None
        writer.send_signal(signal.SIGKILL)
    found = entries(root)
    assert len(found) >= 5
    for entry in found:
        hit = BuildCache(root).get(entry.name)
        assert hit is not None
        assert (hit[1] / "candidate.so").stat().st_size == 200_000


def test_processes_that_write_the_same_entries_all_succeed(tmp_path):
    root = tmp_path / "c"
    root.mkdir()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, root, "0", "40"], stdout=subprocess.DEVNULL) for _ in range(3)
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(entries(root)) == 40
    assert all(BuildCache(root).get(entry.name) for entry in entries(root))
