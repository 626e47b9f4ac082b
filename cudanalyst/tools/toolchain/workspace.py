"""A private directory of one run. Read back without following what an untrusted process may have put in its place."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from cudanalyst.errors import StoreError
from cudanalyst.tools.toolchain.removal import remove_aside, remove_tree

_CHUNK: Final = 1 << 20
_STALE_S: Final = 3600.0


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Tells of a disk that is full, or a folder that cannot be written.

    Raises:
        StoreError: In place of an `OSError` of the body; it says what to do.
    """
    try:
        yield
    except OSError as error:
        message = f"{folder} cannot be written ({error.strerror}); free space there, or set CUDANALYST_CACHE to a folder with space"
        raise StoreError(message) from error


class Workspace:
    """Directory with `in/` and `out/`; handles on it are opened before the untrusted process starts."""

    def __init__(self, path: Path, root: int, out: int) -> None:
        """Takes the directory and open descriptors of it and of `out/`."""
        self.path = path
        self._folders = {"": root, "out": out}

    def write(self, files: Mapping[str, bytes]) -> None:
        """Writes input files; names are relative, at most one folder deep."""
        with writing(self.path.parent):
            for name, data in files.items():
                (self.path / name).write_bytes(data)

    def read(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a plain file, or None where there is none: links and devices do not count."""
        folder, _, base = name.rpartition("/")
        return _read(base, self._folders[folder], limit)


def read_plain(path: Path, limit: int) -> bytes | None:
    """At most `limit` bytes of a plain file in a folder that may have been replaced too; None where there is none, or a link in either's place."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(path.name, folder, limit)
    finally:
        os.close(folder)


def _read(name: str, folder: int, limit: int) -> bytes | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
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


def remove_stale(parent: Path) -> None:
    """Removes work directories that a killed process left: none is in use for as long as an hour."""
    with contextlib.suppress(OSError):  # nothing there, or another process was quicker
        for folder in parent.iterdir():
            if time.time() - folder.lstat().st_mtime > _STALE_S:
                remove_tree(folder)


@contextlib.contextmanager
def workspace(parent: Path) -> Iterator[Workspace]:
    """Makes a workspace and removes it.

    Raises:
        StoreError: It cannot be made.
    """
    with writing(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    descriptors: list[int] = []
    try:
        with writing(parent):
            for name in ("in", "out"):
                (path / name).mkdir()
            descriptors.extend(
                os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for folder in (path, path / "out")
            )
        yield Workspace(path, *descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        remove_aside(path)
