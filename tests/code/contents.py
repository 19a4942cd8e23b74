"""The contents of an index without its internal ids, for comparisons."""

import sqlite3
from array import array
from contextlib import closing
from pathlib import Path
from typing import Any

from treadle.code.storage.postings import GROUP_BITS, POSITION_BITS, POSITION_MASK
from treadle.code.storage.store import store_path


def contents(root: Path, cache: Path) -> dict[str, Any]:
    """Everything that a refresh writes about the files of `root`, by path and by term.

    Two indexes of the same tree are equal, however they came to be; ids and times are left out.
    """
    path = store_path(cache, root.resolve())
    with closing(sqlite3.connect(path)) as connection:

        def rows(sql: str, *parameters: object) -> list[Any]:
            return connection.execute(sql, parameters).fetchall()

        assert rows("PRAGMA integrity_check") == [("ok",)]
        paths: dict[int, bytes] = dict(rows("SELECT id, path FROM files"))
        terms: dict[int, str] = dict(rows("SELECT id, term FROM terms"))
        postings: dict[str, dict[bytes, list[int]]] = {}
        for term_id, file_id, data in rows("SELECT term_id, file_id, data FROM postings"):
            postings.setdefault(terms[term_id], {})[paths[file_id]] = array("I", data).tolist()
        in_files: dict[str, dict[bytes, int]] = {}
        for group, term_id, data in rows("SELECT file_group, term_id, data FROM file_postings"):
            for posting in array("I", data):
                file_id = group << GROUP_BITS | posting & POSITION_MASK
                in_files.setdefault(terms[term_id], {})[paths[file_id]] = posting >> POSITION_BITS
        used = {
            paths[file_id]: {terms[term_id] for term_id in array("I", packed)}
            for file_id, packed in rows("SELECT file_id, terms FROM file_terms")
        }
        return {
            "files": {
                row[0]: row[1:]
                for row in rows(
                    "SELECT path, size, mtime_ns, hash, language, lines, skipped, reading, origin,"
                    " items FROM files"
                )
            },
            "items": {
                (paths[file_id], item_id & 0xFFFF): (parent and parent & 0xFFFF, *columns)
                for item_id, file_id, parent, *columns in rows("SELECT * FROM items")
            },
            "postings": postings,
            "postings of files": in_files,
            "terms of files": used,
            "documents": dict(rows("SELECT term, documents FROM terms WHERE documents > 0")),
            "references": {
                paths[file_id]: data for file_id, data in rows("SELECT file_id, data FROM refs")
            },
            "mentions": sorted(
                (paths[file_id], name)
                for name, file_id in rows("SELECT name, file_id FROM mentions")
            ),
            "vectors": {
                paths[file_id]: (model, data)
                for file_id, model, data in rows(
                    "SELECT v.file_id, m.name, v.data FROM vectors AS v"
                    " JOIN models AS m ON m.id = v.model_id"
                )
            },
            "meta": rows("SELECT key, value FROM meta"),
        }
