"""Builds by the hash of everything that decides them.

An entry is a folder that is filled elsewhere, synced and renamed into place: that it exists means that it is complete. Two
processes that build the same thing both succeed; the second finds the place taken and drops its copy.
"""

import contextlib
import os
import secrets
import shutil
import time
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from cudanalyst.errors import StoreError
from cudanalyst.tools.compile import Diagnostic, KernelResources
from cudanalyst.values import Frozen

_RECORD: Final = "build.json"
_STALE_S: Final = 3600.0
MAX_ENTRIES: Final = 4096


class CachedBuild(Frozen):
    """What is kept of a build besides its binary."""

    status: str
    binary: str | None
    """Name of the file in the entry's folder."""
    image: str | None = None
    """Name of the file with the device code, there too."""
    symbols: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    kernels: tuple[KernelResources, ...] = ()
    reason: str | None = None
    duration_s: float


class BuildCache:
    """A folder of finished builds, shared by any number of processes."""

    def __init__(self, root: Path) -> None:
        """Keeps everything under `root`, which is made when first needed."""
        self._root = root

    def _entry(self, key: str) -> Path:
        return self._root / key[-2:] / key

    def get(self, key: str) -> tuple[CachedBuild, Path] | None:
        """An entry and its folder; a damaged one counts as absent and is removed."""
        folder = self._entry(key)
        try:
            record = CachedBuild.model_validate_json((folder / _RECORD).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            self._remove(folder)
            return None
        if any(name is not None and not (folder / name).is_file() for name in (record.binary, record.image)):
            self._remove(folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)  # the oldest go first when the cache is full
        return record, folder

    def put(self, key: str, record: CachedBuild, binary: Path | None, image: Path | None = None) -> Path:
        """Adds an entry and returns its folder; `binary` and `image` are copied into it under the names in `record`.

        Raises:
            StoreError: The file system refuses, for instance because it is full.
        """
        folder = self._entry(key)
        temporary = self._root / "tmp" / f"{key}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            temporary.mkdir(parents=True)
            for file, name, mode in ((binary, record.binary, 0o755), (image, record.image, 0o644)):
                if file is not None and name is not None:
                    shutil.copyfile(file, temporary / name)
                    (temporary / name).chmod(mode)
                    _sync(temporary / name)
            (temporary / _RECORD).write_text(record.model_dump_json(), encoding="utf-8")
            _sync(temporary / _RECORD)
            _sync(temporary)
            folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError, OSError) if folder.exists() else contextlib.nullcontext():
                temporary.rename(folder)
            _sync(folder.parent)
        except OSError as error:
            if self.get(key) is None:
                message = f"the build cache {self._root} cannot be written ({error.strerror}); free space or set CUDANALYST_CACHE"
                raise StoreError(message) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._prune()
        return folder

    def _remove(self, folder: Path) -> None:
        # Renamed first: nobody may see half of an entry.
        doomed = self._root / "tmp" / f"{folder.name}.{os.getpid()}.{secrets.token_hex(4)}"
        with contextlib.suppress(OSError):
            doomed.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def _prune(self) -> None:
        """Removes what a killed process left, and in one of 256 calls or so the oldest entries beyond the limit."""
        now = time.time()
        for stale in (self._root / "tmp").glob("*"):
            with contextlib.suppress(OSError):
                if now - stale.stat().st_mtime > _STALE_S:
                    shutil.rmtree(stale, ignore_errors=True)
        if secrets.randbelow(256):
            return
        entries = []
        for entry in self._root.glob("??/*"):
            with contextlib.suppress(OSError):
                entries.append((entry.stat().st_mtime, entry))
        for _, entry in sorted(entries)[: max(0, len(entries) - MAX_ENTRIES)]:
            self._remove(entry)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
