"""Postings: for each term of a file, one small blob with the items that contain the term.

One row for each item and term would need three to four times as many rows. Writing rows takes most
of the time of a build. Files are grouped by their ids, and rows are ordered by group first.
Therefore a build appends to the table, and a transaction does not touch all pages of the table.
"""

import sqlite3
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import or_
from typing import Any

SCHEMA = """
CREATE TABLE postings (
    file_group INTEGER NOT NULL, term_id INTEGER NOT NULL, file_id INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (file_group, term_id, file_id)
) WITHOUT ROWID;
CREATE TABLE file_postings (
    file_group INTEGER NOT NULL, term_id INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (file_group, term_id)
) WITHOUT ROWID;
"""

GROUP_BITS = 8
"""The binary logarithm of the number of files in a group.

A group has about as many files as a transaction.
"""
POSITION_BITS = 16
"""The id of an item is the id of its file, shifted by this number, plus the item's position."""
POSITION_MASK = (1 << POSITION_BITS) - 1
SCALE = 32
"""Weighted counts are stored as multiples of 1/32."""
MAX_COUNT = 0xFFFF
"""The largest stored count.

The weighted count of a term in an item is always less, even in long fields (see
`treadle.code.parse.fields`).
"""
POSTING_BYTES = 4
"""The size of a posting in bytes.

A posting has the weighted count, shifted by `POSITION_BITS`, and the position of the item. In a
posting of a whole file, the position is the position of the file in its group.
"""
_POSITION = 0 if sys.byteorder == "little" else 1
"""A posting has two halves of 16 bits. This is the index of the half with the position."""


def pack(postings: Iterable[int]) -> bytes:
    """Return the blob with the postings of one term in one file."""
    return array("I", postings).tobytes()


def groups(connection: sqlite3.Connection) -> list[int]:
    """Return the numbers of the groups that may contain files."""
    (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM files").fetchone()
    return list(range((last >> GROUP_BITS) + 1))


def postings_of_term(
    connection: sqlite3.Connection, term_id: int, file_groups: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Return the ids of the items that contain a term, and its weighted count in each item."""
    rows = connection.execute(
        "SELECT p.file_id, p.data FROM json_each(?) AS g CROSS JOIN postings AS p"
        " ON p.file_group = g.value AND p.term_id = ?",
        (str(list(file_groups)), term_id),
    )
    return _unpacked(rows.fetchall())


def counts_in_items(
    connection: sqlite3.Connection, term_ids: Iterable[int], items: Iterable[int]
) -> dict[int, dict[int, int]]:
    """Return the weighted counts of terms in items, by term id and item id."""
    requested = set(items)
    files = sorted({item >> POSITION_BITS for item in requested})
    rows = connection.execute(
        "SELECT p.term_id, p.file_id, p.data FROM json_each(?) AS t CROSS JOIN json_each(?) AS f"
        " CROSS JOIN postings AS p ON p.file_group = f.value >> ? AND p.term_id = t.value"
        " AND p.file_id = f.value",
        (str(list(term_ids)), str(files), GROUP_BITS),
    )
    counts: dict[int, dict[int, int]] = {}
    for term_id, *row in rows:
        found = zip(*_unpacked([row]), strict=True)
        counts.setdefault(term_id, {}).update(entry for entry in found if entry[0] in requested)
    return counts


def file_counts(
    connection: sqlite3.Connection, term_id: int, file_groups: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Return the ids of the files that contain a term, and its weighted count in each file."""
    rows = connection.execute(
        "SELECT p.file_group, p.data FROM json_each(?) AS g CROSS JOIN file_postings AS p"
        " ON p.file_group = g.value AND p.term_id = ?",
        (str(list(file_groups)), term_id),
    )
    return _unpacked(rows.fetchall(), GROUP_BITS)


def terms_of_items(
    connection: sqlite3.Connection, file_id: int, items: int
) -> list[dict[str, int]]:
    """Return the terms of a file's items with their weighted counts, as indexed."""
    (packed,) = connection.execute(
        "SELECT terms FROM file_terms WHERE file_id = ?", (file_id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT t.term, p.data FROM json_each(?) AS j CROSS JOIN postings AS p"
        " ON p.file_group = ? AND p.term_id = j.value AND p.file_id = ?"
        " CROSS JOIN terms AS t ON t.id = j.value",
        (str(array("I", packed).tolist()), file_id >> GROUP_BITS, file_id),
    )
    found: list[dict[str, int]] = [{} for _ in range(items)]
    for term, data in rows:
        for posting in array("I", data):
            found[posting & POSITION_MASK][term] = posting >> POSITION_BITS
    return found


def _unpacked(
    rows: Sequence[Sequence[Any]], bits: int = POSITION_BITS
) -> tuple[list[int], list[int]]:
    """Return the ids and the weighted counts in the blobs of `rows`.

    A row has the id of a file or a group, and a blob. The id of a posting is the id of its row,
    shifted by `bits`, plus the position in the posting.
    """
    halves = array("H", b"".join([data for _, data in rows]))
    positions, counts = halves[_POSITION::2], halves[1 - _POSITION :: 2]
    firsts = chain.from_iterable(
        [repeat(file_id << bits, len(data) // POSTING_BYTES) for file_id, data in rows]
    )
    return list(map(or_, firsts, positions)), counts.tolist()
