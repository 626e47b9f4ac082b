"""The database: migrations, refusals, and transactions that are whole or not at all."""

import errno
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cudanalyst.errors import StoreError
from cudanalyst.resources import database as database_module
from cudanalyst.resources import syncing
from cudanalyst.resources.database import Database
from cudanalyst.resources.events import SessionStarted, ToolFinished, TrialOpened
from cudanalyst.resources.migrations import MIGRATIONS, NEWEST
from cudanalyst.resources.store import Scope, Store

OLD = Path(__file__).parent / "data" / "store_v1.sql"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def lay_down(folder: Path, script: str) -> Path:
    folder.mkdir()
    path = folder / "store.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def shape(path: Path) -> set[tuple[str, str]]:
    connection = sqlite3.connect(path)
    found = {
        (str(name), " ".join(str(sql).split()))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master")
    }
    connection.close()
    return found


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("SELECT version FROM schema_version").fetchone()
    connection.close()
    return int(found)


def test_a_store_of_version_1_is_brought_to_the_newest_with_all_it_holds(tmp_path: Path) -> None:
    path = lay_down(tmp_path / "store", OLD.read_text())
    assert version(path) == 1
    with Store.open(tmp_path / "store") as store:
        events = [recorded.event for recorded in store.events("ada")]
        session = "ses_" + "0a" * 16
        experiment = "exp_" + "0b" * 16
        assert events[0] == SessionStarted(client="old client 0.1")
        assert isinstance(events[3], ToolFinished)
        assert events[3].tokens == 210
        assert store.check("ada", "trial", "tri_" + "0c" * 16) == experiment
        of_experiment = store.events("ada", experiment=experiment)
        assert isinstance(of_experiment[-1].event, TrialOpened)
        assert len(of_experiment) == 2
        assert store.append(Scope("ada", session, session), SessionStarted()) == 7
    assert version(path) == NEWEST


def test_a_migrated_store_has_the_very_schema_of_a_new_one(tmp_path: Path) -> None:
    old = lay_down(tmp_path / "old", OLD.read_text())
    Store.open(tmp_path / "old").close()
    Store.open(tmp_path / "new").close()
    assert shape(old) == shape(tmp_path / "new" / "store.sqlite")


def test_an_empty_file_is_version_0_and_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.touch()
    Database(path).close()
    assert version(path) == NEWEST


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Database(path).close()
    before = shape(path)
    Database(path).close()
    assert shape(path) == before


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = lay_down(tmp_path / "store", OLD.read_text() + f"UPDATE schema_version SET version = {NEWEST + 5};")
    before = shape(path)
    with pytest.raises(StoreError, match=rf"version {NEWEST + 5}.*up to {NEWEST}.*Upgrade cudanalyst"):
        Store.open(tmp_path / "store")
    assert shape(path) == before
    assert version(path) == NEWEST + 5


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    lay_down(tmp_path / "store", "CREATE TABLE bookmarks (url TEXT);")
    with pytest.raises(StoreError, match="not a cudanalyst store"):
        Store.open(tmp_path / "store")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_bytes(b"int main() { return 0; }\n" * 200)
    with pytest.raises(StoreError, match="damaged or not a store"):
        Database(tmp_path / "store.sqlite")


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(StoreError, match="store"):
        Store.open(tmp_path / "store")


def test_a_migration_that_fails_leaves_the_version_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    broken = (*MIGRATIONS, ("CREATE TABLE half (x INTEGER)", "SELECT no_such_column FROM events"))
    with monkeypatch.context() as patch:
        patch.setattr(database_module, "MIGRATIONS", broken)
        patch.setattr(database_module, "NEWEST", len(broken))
        with pytest.raises(StoreError):
            Database(path)
    assert version(path) == NEWEST
    assert "half" not in {name for name, _ in shape(path)}
    Database(path).close()


def test_what_a_transaction_that_fails_wrote_is_gone_with_what_joined_it(database: Database) -> None:
    def write_and_fail() -> None:
        with database.transaction():
            database.execute("INSERT INTO handles VALUES ('h1', 'session', 'ada', NULL)")
            with database.transaction():
                database.execute("INSERT INTO handles VALUES ('h2', 'session', 'ada', NULL)")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_and_fail()
    assert database.query("SELECT handle FROM handles") == []
    with database.transaction():
        database.execute("INSERT INTO handles VALUES ('h3', 'session', 'ada', NULL)")
    assert database.query("SELECT handle FROM handles") == [("h3",)]


def test_a_database_without_room_says_so_and_keeps_what_it_has(database: Database) -> None:
    row = "INSERT INTO events (at, owner, kind, body) VALUES (0, 'ada', 'x', ?)"
    with database.transaction():
        database.execute(row, ("first",))
    (pages,) = database.query("PRAGMA page_count")[0]
    database.query(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match="Free some space"), database.transaction():
        database.execute_many(row, [("x" * 4000,)] * 100)
    assert database.query("SELECT body FROM events") == [("first",)]
    database.query(f"PRAGMA max_page_count={int(pages) + 1000}")
    with database.transaction():
        database.execute(row, ("second",))
    assert database.query("SELECT body FROM events") == [("first",), ("second",)]


def test_a_writer_that_waits_too_long_is_told_that_another_process_holds_the_store(tmp_path: Path) -> None:
    first = Database(tmp_path / "store.sqlite")
    second = Database(tmp_path / "store.sqlite", busy_timeout_s=0.01)
    with first.transaction():
        with pytest.raises(StoreError, match="Another process"), second.transaction():
            pytest.fail("two writers at once")
        assert second.query("SELECT count(*) FROM events") == [(0,)]
    with second.transaction():
        second.execute("INSERT INTO handles VALUES ('h', 'session', 'ada', NULL)")
    first.close()
    second.close()


def test_acknowledged_writes_are_synchronised_and_readers_do_not_wait(database: Database) -> None:
    assert database.query("PRAGMA journal_mode") == [("wal",)]
    assert database.query("PRAGMA synchronous") == [(1,)]  # the wait for the disk is ours: see below


INSERT = "INSERT INTO handles VALUES (?, 'session', 'ada', NULL)"


def test_only_a_transaction_that_was_asked_to_does_not_wait_for_the_disk(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(syncing, "_flush_file", lambda _: flushed.append(1))
    with database.transaction(durable=False):
        database.execute(INSERT, ("one",))
    assert flushed == []
    with database.transaction():
        database.execute(INSERT, ("two",))
        with database.transaction(durable=False):
            database.execute(INSERT, ("three",))
        assert flushed == []
    assert flushed == [1]
    with pytest.raises(ZeroDivisionError), database.transaction():
        raise ZeroDivisionError
    assert flushed == [1]


def test_those_who_wait_for_the_disk_at_once_are_served_by_one_flush(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes, first, all_committed = [0], threading.Event(), threading.Event()
    number, before = database._syncing.committed, database._syncing.committed()

    def flush(_: int) -> None:
        flushes[0] += 1
        first.set()
        assert all_committed.wait(30)

    def committed() -> int:
        mine = number()
        if mine == before + 9:
            all_committed.set()
        return mine

    def commit(name: int) -> None:
        with database.transaction():
            database.execute(INSERT, (str(name),))

    monkeypatch.setattr(syncing, "_flush_file", flush)
    monkeypatch.setattr(database._syncing, "committed", committed)
    with ThreadPoolExecutor(9) as pool:
        begun = pool.submit(commit, 0)
        assert first.wait(30)
        for done in [begun, *(pool.submit(commit, name) for name in range(1, 9))]:
            done.result(30)
    assert flushes == [2]
    assert database.query("SELECT count(*) FROM handles") == [(9,)]


def test_a_disk_that_failed_once_is_never_trusted_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def write(name: str) -> None:
        with database.transaction():
            database.execute(INSERT, (name,))

    with monkeypatch.context() as patch:
        patch.setattr(syncing, "_flush_file", fails)
        with pytest.raises(StoreError, match="may be lost"):
            write("one")
    with pytest.raises(StoreError, match="Check the disk"):
        write("two")


def test_what_was_written_without_waiting_is_seen_by_others_at_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as one, Store.open(tmp_path / "store") as other:
        one.append(Scope("ada"), SessionStarted(client="c"), durable=False)
        assert [recorded.event for recorded in other.events("ada")] == [SessionStarted(client="c")]


def test_who_only_reads_waits_for_what_is_still_on_its_way_and_for_nothing_else(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(syncing, "_flush_file", lambda _: flushed.append(1))
    with database.transaction():
        database.execute(INSERT, ("one",))
    with database.transaction():
        database.query("SELECT handle FROM handles")
    assert flushed == [1]
    with database.transaction(durable=False):
        database.execute(INSERT, ("two",))
    with database.transaction():
        database.query("SELECT handle FROM handles")
    assert flushed == [1]
    with database.transaction():
        database.execute(INSERT, ("three",))
    assert flushed == [1, 1]
