"""Two versions of Treadle that use one PostgreSQL database while servers are replaced."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.database.notes import FIRST, NOTES, add, texts
from treadle.app.stores import Stores
from treadle.database import Schema, open_database
from treadle.errors import StoreError

ADDITION = "ALTER TABLE notes ADD COLUMN at INTEGER NOT NULL DEFAULT 0"
COMPATIBLE = Schema.of_migrations("notes", (FIRST, ADDITION), works_since=1)
LATER = Schema.of_migrations("notes", (FIRST, ADDITION, "CREATE TABLE tags (name TEXT)"),
                             works_since=2)  # fmt: skip
INCOMPATIBLE = Schema.of_migrations("notes", (FIRST, "ALTER TABLE notes RENAME text TO words"))


@pytest.fixture
def stores(postgres_url: str, tmp_path: Path) -> Stores:
    return Stores(tmp_path / "data", postgres_url, f"p{uuid4().hex[:20]}")


def test_newer_server_uses_older_tables_until_they_are_migrated(stores: Stores) -> None:
    with open_database(stores.ui, NOTES) as old, open_database(stores.ui, COMPATIBLE) as new:
        add(old, "from old")
        add(new, "from new")
        with pytest.raises(StoreError, match="at"), new.use() as connection:
            connection.execute("SELECT at FROM notes")
        new.migrate()
        with new.use() as connection:
            assert connection.execute("SELECT sum(at) FROM notes").fetchone() == (0,)
        assert texts(new) == ["from old", "from new"]


def test_older_server_continues_on_newer_tables(stores: Stores) -> None:
    with open_database(stores.ui, NOTES) as old, open_database(stores.ui, COMPATIBLE) as new:
        for number in range(8):  # psycopg prepares a statement after its fifth use
            add(old, f"before {number}")
            texts(old)
        new.migrate()
        with old.transaction() as connection:
            old.check_version(connection)
        add(old, "after")
        assert texts(old)[-1] == "after"
        assert old.examine() is None
        with open_database(stores.ui, NOTES) as restarted:
            add(restarted, "restarted")
        assert texts(new)[-2:] == ["after", "restarted"]


def test_older_server_refuses_tables_of_an_incompatible_version(stores: Stores) -> None:
    with open_database(stores.ui, NOTES) as old, open_database(stores.ui, LATER) as new:
        add(old, "one")
        new.open()  # LATER does not work with version 1, so it upgrades the tables
        with pytest.raises(StoreError, match="newer version"), old.use() as connection:
            old.check_version(connection)
    with (
        open_database(stores.ui, NOTES) as old,
        pytest.raises(StoreError, match="newer version"),
    ):
        old.open()
    with open_database(stores.ui, COMPATIBLE) as previous:
        assert texts(previous) == ["one"]


def test_first_server_of_an_incompatible_version_upgrades_the_tables(stores: Stores) -> None:
    with open_database(stores.ui, NOTES) as old:
        add(old, "one")
    with open_database(stores.ui, INCOMPATIBLE) as new, new.use() as connection:
        assert connection.execute("SELECT words FROM notes").fetchall() == [("one",)]


def test_migrating_creates_missing_tables(both_stores: Stores) -> None:
    database = open_database(both_stores.ui, COMPATIBLE)
    database.migrate()
    assert database.exists
    database.close()
