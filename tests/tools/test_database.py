"""The SQLite files that every store uses: created, upgraded, locked, rebuilt, examined."""

import asyncio
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from treadle.database import Connection, Schema
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import StoreError

FIRST = "CREATE TABLE notes (text TEXT NOT NULL); CREATE INDEX by_text ON notes (text);"
NOTES = Schema.of_migrations("notes", (FIRST,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    with SqliteDatabase(path, NOTES) as opened:
        yield opened


def add(database: SqliteDatabase, text: str) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO notes VALUES (?)", (text,))


def texts(database: SqliteDatabase) -> list[str]:
    with database.use() as connection:
        return [text for (text,) in connection.execute("SELECT text FROM notes ORDER BY rowid")]


def test_a_new_file_is_readable_by_its_owner_alone(database: SqliteDatabase) -> None:
    assert not database.path.exists()
    add(database, "one")
    for file in database.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


def test_records_survive_closing(database: SqliteDatabase) -> None:
    add(database, "one")
    database.close()
    database.close()
    assert texts(database) == ["one"]


def test_an_older_file_is_upgraded_by_text_and_by_functions(path: Path) -> None:
    with SqliteDatabase(path, NOTES) as old:
        add(old, "one")

    def mark(connection: Connection) -> None:
        connection.execute("UPDATE notes SET text = text || '!'")

    newer = Schema.of_migrations("notes", (FIRST, "ALTER TABLE notes ADD COLUMN at INTEGER", mark))
    with SqliteDatabase(path, newer) as database:
        assert texts(database) == ["one!"]
    with SqliteDatabase(path, newer) as database:
        assert texts(database) == ["one!"]
    with (
        SqliteDatabase(path, NOTES) as old,
        pytest.raises(StoreError, match="newer version") as caught,
    ):
        old.open()
    assert "the notes in" in caught.value.message
    assert "Update Treadle" in (caught.value.hint or "")


def test_a_failed_upgrade_leaves_the_file_as_it_was(path: Path) -> None:
    with SqliteDatabase(path, NOTES) as old:
        add(old, "one")

    def fail(connection: Connection) -> None:
        connection.execute("DELETE FROM notes")
        raise KeyboardInterrupt

    with (
        SqliteDatabase(path, Schema.of_migrations("notes", (FIRST, fail))) as newer,
        pytest.raises(KeyboardInterrupt),
    ):
        newer.open()
    with SqliteDatabase(path, NOTES) as old:
        assert texts(old) == ["one"]


def test_a_failed_transaction_changes_nothing(database: SqliteDatabase) -> None:
    add(database, "one")

    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("DELETE FROM notes")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert texts(database) == ["one"]


def test_a_locked_file_is_a_store_error(path: Path) -> None:
    with (
        SqliteDatabase(path, NOTES._replace(busy_seconds=0.01)) as database,
        SqliteDatabase(path, NOTES) as other,
    ):
        add(database, "one")
        with other.transaction(), pytest.raises(StoreError, match="database is locked") as caught:
            add(database, "two")
        assert str(path) in caught.value.message
        assert texts(database) == ["one"]


def test_a_text_that_sqlite_cannot_store_is_a_store_error(database: SqliteDatabase) -> None:
    with pytest.raises(StoreError, match="surrogates not allowed"):
        add(database, "\udcff")


def test_a_damaged_file_is_kept_and_reported(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database " * 100)
    database = SqliteDatabase(path, NOTES)
    with pytest.raises(StoreError, match="file is not a database"):
        database.open()
    assert path.read_bytes() == b"no database " * 100
    assert database.examine() == "file is not a database"


def test_a_damaged_cache_is_created_again(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database " * 100)
    with SqliteDatabase(path, NOTES._replace(is_cache=True)) as cache:
        assert texts(cache) == []
        assert cache.examine() is None


def test_examining_names_missing_tables(path: Path) -> None:
    database = SqliteDatabase(path, NOTES)
    assert database.examine() is None
    database.open().close()
    assert database.examine() is None
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE notes")
    assert database.examine() == "it lacks the tables notes"


async def test_work_of_a_cancelled_caller_is_completed_in_order(database: SqliteDatabase) -> None:
    started, released = Event(), Event()

    def wait(_: Connection) -> None:
        started.set()
        released.wait(10)

    def insert(text: str) -> asyncio.Task[None]:
        return asyncio.create_task(database.run(lambda _: add(database, text)))

    slow = asyncio.create_task(database.run(wait))
    await asyncio.to_thread(started.wait, 10)
    cancelled, later = insert("a"), insert("b")
    await asyncio.sleep(0)
    cancelled.cancel()
    released.set()
    await slow
    await later
    await database.aclose()
    assert texts(database) == ["a", "b"]
