"""Copies the SQLite files of an installation while programs use them, and restores the copies.

Each copy shows its file at one moment. The copies of different files are from slightly different
moments, so a record in one copy may refer to a record that another copy does not have yet.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from treadle.errors import StoreError, UsageError
from treadle.owner_only import private_file, private_folder

MANIFEST = "backup.json"
_PATTERNS = ("*.db", "projects/*/*.db")
_BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """One file of a backup. `rows` has the number of rows of each table."""

    name: str
    bytes: int
    rows: Mapping[str, int]

    @property
    def total_rows(self) -> int:
        """The number of rows of all tables."""
        return sum(self.rows.values())


def back_up(data: Path, folder: Path) -> list[CopiedFile]:
    """Copy the databases of the data folder `data` to `folder`, which must be empty or missing.

    Each copy has the same number of rows in each table as the state that was copied. Raises
    UsageError, and StoreError if a copy fails.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty.", hint="Choose a new folder.")
    private_folder(folder)
    copied = [_copy(data / name, folder / name, name) for name in _names(data)]
    manifest = {"files": [{"name": each.name, "rows": dict(each.rows)} for each in copied]}
    private_file(folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
    return copied


def restore(folder: Path, data: Path) -> list[CopiedFile]:
    """Copy the databases of the backup in `folder` to the data folder `data`.

    `data` must not contain databases. Each file is checked before it is used: its structure, and
    the number of rows in each table. Raises UsageError, and StoreError if a file is damaged.
    """
    expected = _manifest(folder)
    if found := _names(data):
        raise UsageError(
            f"{data} already contains {found[0]}.",
            hint="Stop Treadle and move its databases away, or set TREADLE_HOME to a new folder.",
        )
    for name, rows in expected.items():
        _check(folder / name, rows)
    return [_restore_file(folder / name, data / name, name, rows)
            for name, rows in expected.items()]  # fmt: skip


def _names(data: Path) -> list[str]:
    """Return the paths of the databases relative to the data folder."""
    files = (path for pattern in _PATTERNS for path in data.glob(pattern))
    return sorted(path.relative_to(data).as_posix() for path in files if path.is_file())


def _copy(source: Path, target: Path, name: str) -> CopiedFile:
    private_file(target)
    uri = f"{source.resolve().as_uri()}?mode=rw"  # `mode=ro` needs existing -wal and -shm files
    try:
        with (
            closing(
                sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as reading,
            closing(sqlite3.connect(target)) as writing,
        ):
            reading.execute("PRAGMA query_only = 1")
            reading.execute("BEGIN")  # the copy and the counts are of the same state
            rows = _count(reading)
            reading.backup(writing)
            reading.execute("COMMIT")
        _check(target, rows)
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied: {error}.") from error
    return CopiedFile(name, target.stat().st_size, rows)


def _restore_file(source: Path, target: Path, name: str, rows: Mapping[str, int]) -> CopiedFile:
    private_file(target)
    shutil.copyfile(source, target)
    _check(target, rows)
    return CopiedFile(name, target.stat().st_size, rows)


def _check(path: Path, rows: Mapping[str, int]) -> None:
    """Raise StoreError if the file is damaged, or has another number of rows in a table."""
    try:
        # No process changes a copy, so SQLite needs neither a lock nor a log (`immutable`).
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            counted = _count(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{path} is damaged: {error}.", hint="Use another backup.") from error
    different = next((each for each in rows if counted.get(each) != rows[each]), None)
    if found != "ok" or different is not None:
        reason = found if different is None else f"the table {different} lacks rows"
        raise StoreError(f"{path} is damaged: {reason}.", hint="Use another backup.")


def _count(connection: sqlite3.Connection) -> dict[str, int]:
    return {
        table: connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]  # noqa: S608
        for table in _tables(connection)
    }


def _tables(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the names of the tables whose rows are counted.

    The internal tables of a search index are left out, because counting their rows is slow.
    """
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name"
    ).fetchall()
    indexes = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage = 0"
    ).fetchall()
    for (name,) in rows:
        if not any(name.startswith(f"{index}_") for (index,) in indexes):
            yield name


def _manifest(folder: Path) -> dict[str, dict[str, int]]:
    """Return the numbers of rows of each file of a backup. Raises UsageError."""
    try:
        files = json.loads((folder / MANIFEST).read_text())["files"]
        found = {str(each["name"]): dict(each["rows"]) for each in files}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder} is not a complete backup.",
            hint=f"Name a folder that `treadle store backup` wrote; it contains {MANIFEST}.",
        ) from error
    for name in found:
        if not any(Path(name).match(pattern) for pattern in _PATTERNS) or ".." in name:
            raise UsageError(f"{folder} is not a backup: {name!r} is not the name of a store.")
    return found
