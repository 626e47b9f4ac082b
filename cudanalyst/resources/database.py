"""One SQLite file in WAL mode: durable, short transactions that several processes may share."""

import fcntl
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cudanalyst.errors import StoreError
from cudanalyst.resources.blobs import disk_error
from cudanalyst.resources.migrations import MIGRATIONS, NEWEST
from cudanalyst.resources.syncing import Syncing

BUSY_TIMEOUT_S: Final = 30.0
"""How long a writer waits for another process's transaction."""

Value = str | int | float | None


class Database:
    """A connection that threads take turns with.

    When `transaction` returns, what was written survives a kill and, unless it was asked for otherwise, a power cut: the log is
    flushed once for all who wait (syncing.py), so commits themselves need `synchronous=NORMAL` only. Every method may be called from any thread; a thread that holds a transaction keeps the others waiting, so keep it short.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Opens the file, creates it where it is missing, and brings it to the newest schema.

        Raises:
            StoreError: It is not a store, is damaged, was written by a newer version, or cannot be written.
        """
        self._path = path
        self._lock = threading.RLock()
        self._depth = 0
        self._owed = 0
        """The last commit that somebody wants on disk."""
        self._syncing = Syncing(path.with_name(f"{path.name}-wal"))
        with _opening(path):
            try:
                self._connection = sqlite3.connect(
                    path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
                )
            except sqlite3.Error as error:
                raise store_error(error, path) from error
            try:
                for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
                    self._connection.execute(f"PRAGMA {pragma}")
                self._migrate()
            except sqlite3.Error as error:
                self._connection.close()
                raise store_error(error, path) from error
            except StoreError:
                self._connection.close()
                raise

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """A write transaction (`BEGIN IMMEDIATE`); within one, a further one joins it, and the outer one decides how.

        Args:
            durable: Whether what was written survives a power cut once this returns. If not, this does not wait for the
                disk: everybody sees what was written and it survives a kill, and the next durable write, of whatever
                connection, makes it durable with its own, since both lie in one log in order.

        Raises:
            StoreError: It could not be committed, and nothing of it was; or the disk failed thereafter, as the text then says.
        """
        with self._lock:
            if self._depth:
                yield
                return
            before = self._connection.total_changes
            yield from self._transaction()
            if self._connection.total_changes != before:
                commit = self._syncing.committed()
                if durable:
                    self._owed = commit
            # Who only read may have seen what another thread has written and still waits for.
            owed = self._owed
        if durable:
            self._syncing.wait(owed)

    def _transaction(self) -> Iterator[None]:
        self._guarded("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            self._guarded("COMMIT")
        finally:
            self._depth = 0
            # After an error, SQLite itself may have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @property
    def settled(self) -> bool:
        """Whether no transaction is under way, so that nothing that was written or read here can still be undone."""
        return not self._depth

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps this process's other threads from the database, without a transaction."""
        with self._lock:
            yield

    def execute(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Runs one writing statement inside a transaction; returns the rowid that it inserted."""
        with self._lock:
            cursor = self._guarded(statement, values)
            return cursor.lastrowid or 0

    def execute_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """Runs one writing statement for many rows inside a transaction."""
        with self._lock:
            try:
                self._connection.executemany(statement, rows)
            except sqlite3.Error as error:
                raise store_error(error, self._path) from error

    def query(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        """Rows of a reading statement; within a transaction it sees what that one wrote."""
        with self._lock:
            cursor = self._guarded(statement, values)
            try:
                return cursor.fetchall()
            except sqlite3.Error as error:
                raise store_error(error, self._path) from error

    def close(self) -> None:
        """Closes the connection; later calls raise `StoreError`."""
        with self._lock:
            self._connection.close()
            self._syncing.close()

    def _guarded(self, statement: str, values: Sequence[Value] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error

    def _migrate(self) -> None:
        tables = {str(row[0]) for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        if tables and "schema_version" not in tables:
            raise StoreError(
                f"{self._path.name} is an SQLite file, but not a cudanalyst store. Choose another folder with --store."
            )
        version = int(self._connection.execute("SELECT version FROM schema_version").fetchone()[0]) if tables else 0
        if version > NEWEST:
            raise StoreError(
                f"The store has schema version {version}; this cudanalyst knows versions up to {NEWEST}. "
                "Upgrade cudanalyst, or choose another folder with --store. Nothing was changed."
            )
        for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
            with self.transaction():
                for statement in step:
                    self._guarded(statement)
                self._guarded("UPDATE schema_version SET version = ?", (number,))


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """Says what to do about an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_FULL:
        advice = (
            "The disk is full; nothing was half-written. Free some space, or move the store with --store, and repeat."
        )
    elif primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        advice = "Another process has held the store for too long. Find it, or repeat the call."
    elif primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        advice = "The file is damaged or not a store. Restore it from a copy, or choose another folder with --store."
    elif primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        advice = "Make its folder exist and writable for this user, or choose another with --store."
    else:
        advice = "Check its folder and disk."
    return StoreError(f"The store {path.name} failed ({error}). {advice}")


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """One process at a time sets the journal mode and migrates: SQLite's own busy handler does not cover the former."""
    lock = path.with_suffix(".lock")
    try:
        file = lock.open("ab")
    except OSError as error:
        raise disk_error(error, "opening the store", lock) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
