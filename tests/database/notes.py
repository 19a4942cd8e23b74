"""A small store of notes for the tests of databases, and a program that writes to it.

The program `python -m tests.database.notes` reads the address of a database from standard input,
adds numbered notes to that database, and prints each number after its commit.
"""

import json
import sys
from itertools import count
from pathlib import Path

from treadle.database import Database, PostgresAddress, Schema, StoreAddress, open_database

FIRST = """
    CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
    CREATE INDEX notes_by_text ON notes (text);
"""
NOTES = Schema.of_migrations("notes", (FIRST,))


def add(database: Database, text: str) -> None:
    """Add a note in a transaction."""
    with database.transaction() as connection:
        connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))


def texts(database: Database) -> list[str]:
    """Return the texts of all notes in the order of their numbers."""
    with database.use() as connection:
        return [text for (text,) in connection.execute("SELECT text FROM notes ORDER BY number")]


def add_next(database: Database) -> int:
    """Add a note whose text is the present number of notes.

    Two writers at the same time get different numbers only if their transactions do not overlap.
    """
    with database.transaction() as connection:
        (number,) = connection.execute("SELECT count(*) FROM notes").fetchone()
        connection.execute("INSERT INTO notes (text) VALUES (?)", (str(number),))
        return int(number)


def encoded(address: StoreAddress) -> str:
    """Return an address in the form that the program reads from standard input."""
    if isinstance(address, Path):
        return json.dumps([str(address)])
    return json.dumps([address.url, address.project, address.store, str(address.folder)])


def decoded(text: str) -> StoreAddress:
    """Return the address that `encoded` wrote."""
    first, *rest = json.loads(text)
    return PostgresAddress(first, rest[0], rest[1], Path(rest[2])) if rest else Path(first)


if __name__ == "__main__":
    with open_database(decoded(sys.stdin.readline()), NOTES) as opened:
        most = int(sys.argv[1])
        for _ in range(most) if most else count():
            sys.stdout.write(f"{add_next(opened)}\n")
            sys.stdout.flush()
