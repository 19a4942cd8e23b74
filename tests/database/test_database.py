"""What every engine does: it creates, upgrades, locks and examines databases."""

import asyncio
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

from tests.database.notes import FIRST, NOTES, add, add_next, encoded, texts
from treadle.database import Connection, Database, Schema, StoreAddress, open_database
from treadle.database.first_value import first_value
from treadle.errors import StoreError


def test_a_database_is_created_at_its_first_use(database: Database) -> None:
    assert not database.exists
    assert database.examine() is None
    add(database, "one")
    assert database.exists
    assert database.size() > 0
    assert database.examine() is None


def test_records_survive_closing(database: Database) -> None:
    add(database, "one")
    database.close()
    database.close()
    assert texts(database) == ["one"]


def test_an_older_database_is_upgraded_by_text_and_by_functions(address: StoreAddress) -> None:
    with open_database(address, NOTES) as old:
        add(old, "one")

    def mark(connection: Connection) -> None:
        connection.execute("UPDATE notes SET text = text || '!'")

    newer = Schema.of_migrations("notes", (FIRST, "ALTER TABLE notes ADD COLUMN at INTEGER", mark))
    for _ in range(2):
        with open_database(address, newer) as database:
            assert texts(database) == ["one!"]
    with (
        open_database(address, NOTES) as old,
        pytest.raises(StoreError, match="newer version") as caught,
    ):
        old.open()
    assert "the notes in" in caught.value.message
    assert "Update Treadle" in (caught.value.hint or "")
    assert "newer version" in (old.examine() or "")


def test_a_failed_upgrade_leaves_the_database_as_it_was(address: StoreAddress) -> None:
    with open_database(address, NOTES) as old:
        add(old, "one")

    def fail(connection: Connection) -> None:
        connection.execute("DELETE FROM notes")
        connection.execute("CREATE TABLE other (text TEXT)")
        raise KeyboardInterrupt

    with (
        open_database(address, Schema.of_migrations("notes", (FIRST, fail))) as newer,
        pytest.raises(KeyboardInterrupt),
    ):
        newer.open()
    with open_database(address, NOTES) as old:
        assert texts(old) == ["one"]
        with pytest.raises(StoreError), old.use() as connection:
            connection.execute("SELECT * FROM other")


def test_several_threads_create_one_database(address: StoreAddress) -> None:
    with ThreadPoolExecutor(6) as threads:
        for opened in threads.map(lambda _: open_database(address, NOTES).open(), range(6)):
            opened.close()


def test_a_failed_transaction_changes_nothing(database: Database) -> None:
    add(database, "one")

    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("DELETE FROM notes")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert texts(database) == ["one"]


def test_a_failed_statement_changes_nothing_and_the_database_works(database: Database) -> None:
    add(database, "one")

    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("DELETE FROM notes")
            connection.execute("INSERT INTO notes (text) VALUES (NULL)")

    with pytest.raises(StoreError, match="cannot be read or written"):
        fail()
    assert texts(database) == ["one"]
    add(database, "two")
    assert texts(database) == ["one", "two"]


@pytest.mark.parametrize("reads", [False, True])
def test_a_block_of_writes_is_committed_or_changes_nothing(
    database: Database, *, reads: bool
) -> None:
    def write(*numbers: int, error: type[BaseException] | None = None) -> None:
        with database.write(connection):
            for number in numbers:
                connection.execute("INSERT INTO notes VALUES (?, ?)", (number, f"text {number}"))
            if reads:
                connection.execute("SELECT count(*) FROM notes").fetchone()
            if error is not None:
                raise error

    database.open()
    with closing(database.connect()) as connection:
        write(1)
        with pytest.raises(sqlite3.IntegrityError):
            write(2, 1, 3)
        with pytest.raises(KeyboardInterrupt):
            write(4, error=KeyboardInterrupt)
        assert not connection.in_transaction
        write(5)
    assert texts(database) == ["text 1", "text 5"]


def test_a_block_of_writes_refuses_tables_of_a_newer_version(address: StoreAddress) -> None:
    newer = Schema.of_migrations("notes", (FIRST, "ALTER TABLE notes ADD COLUMN at INTEGER"))
    with open_database(address, NOTES) as old, open_database(address, newer) as database:
        add(old, "one")
        database.open()
        with closing(old.connect()) as connection:
            with pytest.raises(StoreError, match="newer version"), old.write(connection):
                connection.execute("INSERT INTO notes (text) VALUES ('two')")
            assert not connection.in_transaction
        assert texts(database) == ["one"]


def test_a_locked_database_is_a_store_error_until_it_is_unlocked(address: StoreAddress) -> None:
    with (
        open_database(address, NOTES._replace(busy_seconds=0.01)) as database,
        open_database(address, NOTES) as other,
    ):
        add(database, "one")
        with other.transaction(), pytest.raises(StoreError, match="locked") as caught:
            add(database, "two")
        assert database.name in caught.value.message
        assert texts(database) == ["one"]
        add(database, "two")
        assert texts(database) == ["one", "two"]


def test_transactions_of_threads_run_one_after_another(address: StoreAddress) -> None:
    def write(_: int) -> list[int]:
        with open_database(address, NOTES) as database:
            return [add_next(database) for _ in range(10)]

    open_database(address, NOTES).open().close()
    with ThreadPoolExecutor(4) as threads:
        numbers = [number for found in threads.map(write, range(4)) for number in found]
    assert sorted(numbers) == list(range(40))


def test_committed_records_survive_the_death_of_a_process(
    address: StoreAddress, database: Database
) -> None:
    """Two processes write at the same time. One of them is killed."""
    database.open()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.database.notes", most],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for most in ("0", "40")
    ]
    killed, other = processes
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(encoded(address) + "\n")
        process.stdin.flush()
    assert killed.stdout is not None
    numbers = [int(killed.stdout.readline()) for _ in range(20)]
    killed.kill()
    numbers += [int(line) for line in killed.communicate(timeout=60)[0].splitlines()]
    numbers += [int(line) for line in other.communicate(timeout=60)[0].splitlines()]
    assert len(numbers) >= 60
    assert len(set(numbers)) == len(numbers)
    stored = [int(text) for text in texts(database)]
    assert stored == list(range(len(stored)))
    assert set(numbers) <= set(stored)


async def test_work_of_a_cancelled_caller_is_completed_in_order(database: Database) -> None:
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


def test_examining_names_missing_tables(database: Database) -> None:
    with database.use() as connection:
        connection.execute("DROP TABLE notes")
    assert database.examine() == "it lacks the tables notes"


def test_a_reader_sees_one_state_and_has_a_deadline(database: Database) -> None:
    add(database, "one")
    reader = database.connect_reader()
    with database.read(reader, 10):
        assert reader.execute("SELECT count(*) FROM notes").fetchone() == (1,)
        add(database, "two")
        assert reader.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    with database.read(reader, 10):
        assert reader.execute("SELECT count(*) FROM notes").fetchone() == (2,)
    reader.close()


def test_a_block_of_reads_keeps_its_values(database: Database) -> None:
    add(database, "one")
    with closing(database.connect_reader()) as reader:
        for expected in (1, 2):
            with database.read(reader, 5):
                assert first_value(reader, "SELECT count(*) FROM notes") == expected
                add(database, "another")
                assert first_value(reader, "SELECT count(*) FROM notes") == expected
                same = "SELECT count(*) FROM notes WHERE text = ?"
                assert first_value(reader, same, ("one",)) == 1
