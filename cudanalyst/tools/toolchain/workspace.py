"""A private directory of one run. Read back without following what an untrusted process may have put in its place."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20


class Workspace:
    """Directory with `in/` and `out/`; handles on it are opened before the untrusted process starts."""

    def __init__(self, path: Path, root: int, out: int) -> None:
        """Takes the directory and open descriptors of it and of `out/`."""
        self.path = path
        self._folders = {"": root, "out": out}

    def write(self, files: Mapping[str, bytes]) -> None:
        """Writes input files; names are relative, at most one folder deep."""
        for name, data in files.items():
            (self.path / name).write_bytes(data)

    def read(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a plain file, or None where there is none: links and devices do not count."""
        folder, _, base = name.rpartition("/")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(base, flags, dir_fd=self._folders[folder])
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = bytearray()
            while len(data) < limit and (block := os.read(descriptor, min(_CHUNK, limit - len(data)))):
                data += block
            return bytes(data)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def workspace(parent: Path) -> Iterator[Workspace]:
    """Makes a workspace and removes it."""
    parent.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    descriptors: list[int] = []
    try:
        for name in ("in", "out"):
            (path / name).mkdir()
        descriptors.extend(
            os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for folder in (path, path / "out")
        )
        yield Workspace(path, *descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        shutil.rmtree(path, ignore_errors=True)
