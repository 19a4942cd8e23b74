"""Rows are copied unchanged between the engines, and an interrupted copy can be continued."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.app.stores import Stores
from treadle.database import Database, PackedText, Schema, open_database
from treadle.database.copy_side import CopySide
from treadle.database.copying import content_of, copy_database
from treadle.database.tables import tables_of
from treadle.errors import StoreError, UsageError

SCHEMA = Schema.of_migrations(
    "things",
    (
        """
        CREATE TABLE owners (name TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE things (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            owner TEXT NOT NULL REFERENCES owners (name),
            text TEXT, data BLOB, size INTEGER, weight REAL
        ) STRICT;
        CREATE TABLE parts (
            owner TEXT NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (owner, hash)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE last (what TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
        INSERT INTO last VALUES ('thing', 0);
        """,
    ),
)
OWNERS = ("", "\0", "a", "é", "\U0010f800", "\U0010ffff", "%'\\\t\n")
COUNT = 5_000


def fill(database: Database) -> None:
    """Add rows with all kinds of values."""
    with database.transaction() as connection:
        connection.executemany("INSERT INTO owners VALUES (?)", [(name,) for name in OWNERS])
        connection.execute("INSERT INTO owners VALUES (?)", (PackedText(b"\xed\xa0\x80x"),))
        rows = [
            (OWNERS[n % len(OWNERS)], f"text {n}\0" if n % 3 else None, bytes([n % 256]) * (n % 9),
             n * 2**40 - 2**62, n / 7)
            for n in range(COUNT)
        ]  # fmt: skip
        connection.executemany(
            "INSERT INTO things (owner, text, data, size, weight) VALUES (?, ?, ?, ?, ?)", rows
        )
        connection.executemany(
            "INSERT INTO parts VALUES (?, ?)",
            [(owner, bytes([n])) for owner in OWNERS for n in range(256)],
        )
        connection.execute("DELETE FROM things WHERE number > 4990")
        connection.execute("UPDATE last SET number = 7")


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def pair(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path
) -> Iterator[tuple[Database, Database]]:
    """A filled source, and a target on the other engine."""
    stores = Stores(tmp_path), Stores(tmp_path, postgres_url, f"p{tmp_path.stat().st_ino}")
    found = [open_database(each.ui, SCHEMA) for each in stores]
    source, target = found if request.param == "to PostgreSQL" else reversed(found)
    fill(source)
    with source, target:
        yield source, target


def contents(database: Database) -> dict[str, object]:
    side = CopySide.of(database)
    with side.snapshot() as connection:
        return {
            table.name: content_of(side.rows(connection, table, None))
            for table in tables_of(SCHEMA)
        }


def ignore(_table: str, _rows: int) -> None:
    pass


def test_a_copy_has_the_same_rows_and_assigns_the_next_number(
    pair: tuple[Database, Database],
) -> None:
    source, target = pair
    before = contents(source)
    counts = copy_database(source, target, shown=ignore)
    assert counts == {"owners": 8, "things": 4_990, "parts": 7 * 256, "last": 1}
    assert contents(target) == before == contents(source)
    with target.transaction() as connection:
        row = connection.execute("INSERT INTO things (owner) VALUES ('a') RETURNING number")
        assert row.fetchone() == (COUNT + 1,)
    assert target.examine() is None


def test_an_interrupted_copy_is_continued(pair: tuple[Database, Database]) -> None:
    source, target = pair
    steps = 0

    def stop(_table: str, _rows: int) -> None:
        nonlocal steps
        steps += 1
        if steps > ended:
            raise KeyboardInterrupt

    for ended in range(20):  # noqa: B007  (`stop` reads it)
        steps = 0
        try:
            copy_database(source, target, shown=stop)
        except KeyboardInterrupt:
            assert "copy" in (target.examine() or "")
        else:
            break
    assert ended > 3
    assert contents(target) == contents(source)
    assert target.examine() is None


def test_a_target_with_other_data_is_refused(pair: tuple[Database, Database]) -> None:
    source, target = pair
    with target.transaction() as connection:
        connection.execute("UPDATE last SET number = 1")
    before = contents(target)
    with pytest.raises(UsageError, match="already has data"):
        copy_database(source, target, shown=ignore)
    assert contents(target) == before


def test_a_source_that_changes_during_a_copy_is_reported(pair: tuple[Database, Database]) -> None:
    source, target = pair

    def stop(table: str, _rows: int) -> None:
        if table == "parts":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_database(source, target, shown=stop)
    with source.transaction() as connection:
        connection.execute("UPDATE things SET text = 'changed' WHERE number = 1")
    with pytest.raises(StoreError, match=r"table things of .* differs"):
        copy_database(source, target, shown=ignore)
