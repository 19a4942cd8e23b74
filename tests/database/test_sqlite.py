"""What is special about SQLite files: their permissions, damaged files, and caches."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.database.notes import NOTES, add, texts
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    with SqliteDatabase(path, NOTES) as opened:
        yield opened


def test_a_new_file_is_readable_by_its_owner_alone(database: SqliteDatabase) -> None:
    assert not database.path.exists()
    add(database, "one")
    for file in database.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


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
