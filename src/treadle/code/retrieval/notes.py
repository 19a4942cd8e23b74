"""Notes of a search: words that occur nowhere, and files that could not be read."""

import os
import sqlite3
from collections.abc import Iterable

from treadle.code.model import Reading
from treadle.code.terms import STOP_WORDS, WEAK_WORDS, terms_of_word, words_in
from treadle.visible import in_line

_MAX_WORDS = 5
_MAX_FILES = 3
_MIN_LETTERS = 3


def notes(connection: sqlite3.Connection, query: str, files: Iterable[str]) -> tuple[str, ...]:
    """Return sentences that explain what a search may have missed.

    `files` are the files of the hits.
    """
    found: list[str] = []
    absent = _absent(connection, query)
    if absent:
        words = " and ".join(f'"{word}"' for word in absent)
        found.append(f"{words} {'occurs' if len(absent) == 1 else 'occur'} nowhere in the index.")
    found += _failed(connection)
    if absent and (skipped := _skipped(connection)):
        found.append(skipped)
    found += _with_errors(connection, files)
    return tuple(found)


def _absent(connection: sqlite3.Connection, query: str) -> list[str]:
    """Return the words of a query that are not in the index."""
    words = {
        word: terms_of_word(word)
        for word in dict.fromkeys(words_in(query))
        if len(word) >= _MIN_LETTERS and word.lower() not in STOP_WORDS | WEAK_WORDS
    }
    requested = {terms[-1] for terms in words.values() if terms}
    rows = connection.execute(
        "SELECT term FROM terms WHERE documents > 0 AND term IN (SELECT value FROM json_each(?))",
        (
            '["' + '","'.join(sorted(requested)) + '"]',
        ),  # terms contain no character that JSON escapes
    )
    known = {row[0] for row in rows}
    return [word for word, terms in words.items() if terms and terms[-1] not in known][:_MAX_WORDS]


def _failed(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about files at which a parser failed.

    A search finds nothing in these files.
    """
    if connection.execute("SELECT 1 FROM failures LIMIT 1").fetchone() is None:
        return []
    rows = connection.execute(
        "SELECT path, skipped FROM files WHERE hash IN (SELECT hash FROM failures)"
        " ORDER BY path LIMIT ?",
        (_MAX_FILES,),
    ).fetchall()
    return [f"{_shown(path)} is not in the index: it {reason}." for path, reason in rows]


def _skipped(connection: sqlite3.Connection) -> str:
    count, path, reason = connection.execute(
        "SELECT COUNT(*), MIN(path), skipped FROM files WHERE skipped IS NOT NULL"
        " AND skipped NOT IN ('binary', 'lock file', 'link')"
    ).fetchone()
    if not count:
        return ""
    files = f"{_shown(path)} is" if count == 1 else f"{count:,} files, such as {_shown(path)}, are"
    return f"{files} not in the index ({reason}); `treadle index --report` lists what is left out."


def _with_errors(connection: sqlite3.Connection, files: Iterable[str]) -> list[str]:
    """Return sentences about those of the `files` that have syntax errors."""
    paths = [os.fsencode(path) for path in dict.fromkeys(files)]
    placeholders = ", ".join("?" * len(paths))
    rows = connection.execute(
        f"SELECT path FROM files WHERE path IN ({placeholders}) AND reading = ?"  # noqa: S608
        " ORDER BY path LIMIT ?",
        (*paths, Reading.ERRORS.value, _MAX_FILES),
    ).fetchall()
    return [
        f"{_shown(path)} was parsed with errors: some of its items may be missing."
        for (path,) in rows
    ]


def _shown(path: bytes) -> str:
    """Return a path on one line."""
    return in_line(path.decode("utf-8", "replace"))
