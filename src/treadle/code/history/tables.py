"""The stored history: one row with the columns of all commits, and one row for each term.

Commits are numbered in the order in which they were read. The rows of terms contain these numbers.
Paths and terms are stored as CRC-32, and text is not stored. If two paths have the same CRC-32,
both files get the same history.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self
from zlib import crc32

SCHEMA = """
CREATE TABLE past (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    head TEXT NOT NULL, shallow INTEGER NOT NULL, reach INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    commits BLOB NOT NULL, numbers BLOB NOT NULL, words BLOB NOT NULL, files BLOB NOT NULL,
    keys BLOB NOT NULL
);
CREATE TABLE past_terms (term INTEGER PRIMARY KEY, commits BLOB NOT NULL);
"""

WINDOW = 2_000
"""The maximum number of commits that are read. Merges are not read.

Measured on tasks of 19 tuning repositories: with 2,000 commits, a ranking by messages alone has a
mean reciprocal rank of 0.310 for the wanted file. It is 0.305 with 3,000 commits, and 0.291 with
1,000 commits.
"""
MAX_FILES = 30
"""The maximum number of files of a commit.

Larger commits are ignored, since they give no information about a single file.
"""
MAX_NUMBER = WINDOW + 1_000
"""When commit numbers exceed this number, all commits are read again.

This removes old numbers from the rows of terms.
"""
ID_BYTES = 8
"""The number of bytes of a commit id that are stored."""


def key_of(text: bytes) -> int:
    """Return the key of a path below the root."""
    return crc32(text)


def term_key(term: str) -> int:
    """Return the key of a term."""
    return crc32(term.encode("utf-8", "replace"))


class Mark(NamedTuple):
    """The state of the stored history.

    `head` is the newest commit. `shallow` is the CRC-32 of git's shallow list. `reach` is the
    number of commits that were read. If the history has no more commits, `reach` is `WINDOW`.
    """

    head: str
    shallow: int
    reach: int


def next_number(connection: sqlite3.Connection) -> int:
    """Return the number of the next commit. Rows of terms may contain any smaller number."""
    row = connection.execute("SELECT next_number FROM past").fetchone()
    return 0 if row is None else int(row[0])


class Change(NamedTuple):
    """A stored commit.

    `id` has the first bytes of the commit id. `words` is the number of distinct terms in the
    message. `files` has the keys of the changed files.
    """

    id: bytes
    number: int
    words: int
    files: Sequence[int]


def read_mark(connection: sqlite3.Connection) -> Mark | None:
    """Return the state of the stored history, or None if no history is stored."""
    row = connection.execute("SELECT head, shallow, reach FROM past").fetchone()
    return None if row is None else Mark._make(row)


class Columns(NamedTuple):
    """The stored commits in columns, newest first.

    `files` has the number of files of each commit. `keys` has the keys of all files, in the order
    of the commits.
    """

    commits: bytes
    numbers: "array[int]"
    words: "array[int]"
    files: "array[int]"
    keys: "array[int]"

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Self:
        """Read the columns, which are empty if no history is stored."""
        row = connection.execute(
            "SELECT commits, numbers, words, files, keys FROM past"
        ).fetchone() or (b"",) * 5  # fmt: skip
        return cls(
            row[0], array("H", row[1]), array("H", row[2]), array("B", row[3]), array("I", row[4])
        )

    @classmethod
    def of(cls, changes: Sequence[Change]) -> Self:
        return cls(
            b"".join(change.id for change in changes),
            array("H", [change.number for change in changes]),
            array("H", [change.words for change in changes]),
            array("B", [len(change.files) for change in changes]),
            array("I", [key for change in changes for key in change.files]),
        )

    def changes(self) -> list[Change]:
        """Return the stored commits as a list."""
        found: list[Change] = []
        start = 0
        for at, count in enumerate(self.files):
            identifier = self.commits[at * ID_BYTES : (at + 1) * ID_BYTES]
            keys = self.keys[start : start + count]
            found.append(Change(identifier, self.numbers[at], self.words[at], keys))
            start += count
        return found

    def write(self, connection: sqlite3.Connection, mark: Mark, next_number: int) -> None:
        """Replace the stored commits."""
        connection.execute(
            "INSERT OR REPLACE INTO past VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*mark, next_number, self.commits, *(column.tobytes() for column in self[1:])),
        )


def commits_of_terms(
    connection: sqlite3.Connection, terms: Iterable[int]
) -> dict[int, "array[int]"]:
    """Return the numbers of the commits whose messages contain a term, by the key of the term."""
    rows = connection.execute(
        "SELECT term, commits FROM past_terms WHERE term IN (SELECT value FROM json_each(?))",
        (str(list(terms)),),
    )
    return {term: array("H", data) for term, data in rows}


def add_terms(connection: sqlite3.Connection, terms: Mapping[int, Iterable[int]]) -> None:
    """Add the numbers of commits to the rows of their terms."""
    known = commits_of_terms(connection, terms)
    empty = array("H")
    connection.executemany(
        "INSERT OR REPLACE INTO past_terms VALUES (?, ?)",
        (
            (term, (known.get(term, empty) + array("H", numbers)).tobytes())
            for term, numbers in sorted(terms.items())
        ),
    )


def forget_history(connection: sqlite3.Connection) -> None:
    """Delete the stored history."""
    connection.execute("DELETE FROM past")
    connection.execute("DELETE FROM past_terms")
