"""Content-addressed blobs: a file's name is the SHA-256 of what it holds, and its existence is the commit point."""

import errno
import hashlib
import os
import re
import secrets
import time
from pathlib import Path
from typing import Final

from cudanalyst.errors import NotFound, StoreError

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_TEMPORARY: Final = ".partial-"
STALE_AFTER_S: Final = 3600.0
"""A temporary file this old belongs to a writer that died."""


def disk_error(error: OSError, what: str, where: Path) -> StoreError:
    """Says what to do about a failed write or read of the store."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return StoreError(
            f"The disk that holds the store is full while {what} ({where.name}); nothing was half-written. "
            "Free some space, or move the store with --store, and repeat the call."
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StoreError(
            f"The store may not be written while {what} ({where.name}): {error.strerror}. "
            "Make its folder writable for this user, or choose another with --store."
        )
    return StoreError(f"The store failed while {what} ({where.name}): {error.strerror}. Check its folder and disk.")


class BlobStore:
    """Blobs under one folder. Safe for any number of threads and processes: writers never share a file.

    Equal content has an equal name, so concurrent writers of one blob replace each other's identical file.
    """

    def __init__(self, root: Path) -> None:
        """Opens (and creates) the folder, and removes what dead writers left.

        Raises:
            StoreError: The folder cannot be made or read.
        """
        self._root = root
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
        except OSError as error:
            raise disk_error(error, "opening the blobs", root) from error

    def put(self, data: bytes) -> str:
        """Stores bytes and returns their SHA-256 in hexadecimal, once they are durable.

        Raises:
            StoreError: The bytes could not be written; no blob and no temporary file remains.
        """
        digest = hashlib.sha256(data).hexdigest()
        target = self._path(digest)
        try:
            # A file that is there but wrong (a bad disk) is healed by writing it again.
            if not (target.exists() and target.read_bytes() == data):
                self._write(target, data)
        except OSError as error:
            raise disk_error(error, "writing a blob", target) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Reads a blob and verifies it.

        Raises:
            NotFound: There is no such blob.
            StoreError: It cannot be read, or its content does not match its name.
        """
        if not _DIGEST.fullmatch(digest):
            raise NotFound(f"{digest!r} is not the name of a blob (64 hexadecimal digits).")
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no blob {digest} in this store.") from None
        except OSError as error:
            raise disk_error(error, "reading a blob", path) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StoreError(
                f"Blob {digest} is corrupt: its content does not match its name. "
                "Check the disk; storing the same content again repairs it."
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether a blob is there; its content is not verified."""
        return bool(_DIGEST.fullmatch(digest)) and self._path(digest).exists()

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest[2:]

    def _write(self, target: Path, data: bytes) -> None:
        if not target.parent.exists():
            target.parent.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(self._root)
        temporary = target.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:  # cancellation too must not leave a partial file
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)

    def _sweep(self) -> None:
        oldest = time.time() - STALE_AFTER_S
        for path in self._root.glob(f"*/{_TEMPORARY}*"):
            try:
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue  # another process swept it, or its writer finished


def _sync_folder(folder: Path) -> None:
    """Makes a rename or a new entry in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
