"""Making what was committed survive a power cut: one wait for the disk serves all who wait at that moment.

A commit under `synchronous=NORMAL` appends to SQLite's log without waiting. Whoever asked for durability then waits here until
the log has been flushed after its commit. One thread flushes at a time; those that come meanwhile are served together by the next
flush, so the number of durable transactions a second is not bounded by one flush each. SQLite itself flushes the log before it copies
pages from it into the database, in this mode too, so nothing is ever in the database that is not in the log on disk.
"""

import os
import threading
from pathlib import Path

from cudanalyst.errors import StoreError


class Syncing:
    """Flushes the log of one database; safe for any number of threads."""

    def __init__(self, log: Path) -> None:
        """Nothing is opened before the first flush: the log appears with the first commit."""
        self._log = log
        self._turn = threading.Condition()
        self._written = 0
        self._flushed = 0
        self._flushing = False
        self._broken: OSError | None = None
        self._descriptor: int | None = None

    def committed(self) -> int:
        """Numbers a commit, for `wait`; called while the database is still locked, so that numbers follow the log."""
        with self._turn:
            self._written += 1
            return self._written

    def wait(self, commit: int) -> None:
        """Returns once the log was flushed after that commit.

        Raises:
            StoreError: The disk failed. What was written since the last flush may be lost at a power cut, and a system may
                tell of such a failure once only, so from then on every wait fails until the store is opened anew.
        """
        while True:
            with self._turn:
                while self._flushing and self._flushed < commit and self._broken is None:
                    self._turn.wait()
                if self._broken is not None:
                    raise StoreError(
                        f"{self._log.name}: the disk failed ({self._broken.strerror}). The last changes may be lost. Check the "
                        "disk and its free space, then start the server again."
                    ) from self._broken
                if self._flushed >= commit:
                    return
                self._flushing, upto = True, self._written
            self._flush(upto)

    def close(self) -> None:
        """Lets go of the log."""
        with self._turn:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _flush(self, upto: int) -> None:
        failure: OSError | None = None
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
            _flush_file(self._descriptor)
        except OSError as error:
            failure = error
        with self._turn:
            self._flushing = False
            if failure is None:
                self._flushed = max(self._flushed, upto)
            else:
                self._broken = failure
            self._turn.notify_all()


def _flush_file(descriptor: int) -> None:
    """Waits until a file's bytes, and its length, are on disk; not every system has the cheaper of the two calls."""
    flush = getattr(os, "fdatasync", os.fsync)
    flush(descriptor)
