"""Files that define what a query mentions by its name, such as a type within a question."""

import os
import re
import sqlite3

from treadle.code.model import TEXT_KINDS, Kind
from treadle.code.ranking import file_worth

_MOST_NAMES = 12
_MOST_FILES = 4
"""A name that more files define says too little."""
_MOST_LOOKED_UP = 2_000
"""Files with an item of one name that are looked at, most of which may be tests."""
_SHAPED = r"\w*[a-z0-9][A-Z]\w*|\w*[^\W_]_[^\W_]\w*"
"""What is written as only code is: `camelCase`, `TwoWords`, `snake_case`."""
_KINDS = r"class|struct|trait|interface|enum|function|method|macro|type|module|constant"
_NAME = re.compile(
    rf"`(?P<quoted>\w+)(?:\(\))?`|\b(?P<shaped>{_SHAPED})\b|\b(?P<called>\w+)\(\)"
    rf"|(?<=\w )(?P<proper>[A-Z]\w+)\b|\b(?P<before>[A-Z]\w+) (?:{_KINDS})\b"
)
_NOT_DEFINED = TEXT_KINDS | {Kind.CHUNK, Kind.MODULE}


def mentioned_names(text: str) -> list[str]:
    """Names in a text, in their order: shaped as only names are, quoted, called, or capitalised.

    A capital letter at the start of the text says nothing.
    """
    found = (match[match.lastgroup or 0] for match in _NAME.finditer(text))
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def files_that_define(connection: sqlite3.Connection, text: str) -> dict[int, float]:
    """Files by id that define a name of `text`: 1 if it is the only one, less if others do."""
    found: dict[int, float] = {}
    for name in mentioned_names(text):
        files = _defining(connection, name)
        if len(files) <= _MOST_FILES:
            for file_id in files:
                found[file_id] = max(found.get(file_id, 0.0), len(files) ** -0.5)
    return found


def _defining(connection: sqlite3.Connection, name: str) -> set[int]:
    """The files that define a name, but tests and foreign code: all, or more than `_MOST_FILES`."""
    rows = connection.execute(
        "SELECT DISTINCT f.id, f.path, f.origin, i.kind FROM items AS i"
        " JOIN files AS f ON f.id = i.file_id WHERE i.name = ? LIMIT ?",
        (name, _MOST_LOOKED_UP),
    )
    files: set[int] = set()
    for file_id, path, origin, kind in rows:
        in_tests, is_aside, _ = file_worth(os.fsdecode(path), origin)
        if kind not in _NOT_DEFINED and not in_tests and not is_aside:
            files.add(file_id)
        if len(files) > _MOST_FILES:
            break
    return files
