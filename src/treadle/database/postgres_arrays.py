"""Columns of values in the binary form of PostgreSQL's arrays.

One statement receives all its rows as arrays, so it has one text for any number of rows, and the
server plans it once. psycopg writes an array several times more slowly, because it chooses the
form of each element separately.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from treadle.database.connection import PackedText
from treadle.database.postgres_values import stored_bytes

_HEAD = struct.Struct("!iiIii")  # dimensions, whether NULL occurs, type, length, first index
_SIZE = struct.Struct("!i")
_INTEGER = struct.Struct("!iq")
_FLOAT = struct.Struct("!id")
_NULL = _SIZE.pack(-1)
_END_OF_WORD = b"\0\0\0"
"""Ends a text with NUL, and states that the word has no positions."""
_ARRAY_TYPES = {
    "bigint": 1016, "text": 1009, "bytea": 1001, "double precision": 1022, "tsvector": 3643,
    "text[]": 1009,
}  # fmt: skip
_TYPES = {
    "bigint": 20, "text": 25, "bytea": 17, "double precision": 701, "tsvector": 3614, "text[]": 25,
}  # fmt: skip
"""The numbers of the types in PostgreSQL. A list of texts is sent as a text."""


class _Array(bytes):
    """An array in PostgreSQL's binary form. Each type of elements has its own subclass."""


_CLASSES: Mapping[str, type[bytes]] = {
    kind: type(f"{kind.title()} array", (_Array,), {}) for kind in _TYPES
}


def adapt(connection: "psycopg.Connection[Any]") -> None:
    """Let a connection send the arrays of this module."""
    for kind, oid in _ARRAY_TYPES.items():
        dumper = type("_ArrayDumper", (_ArrayDumper,), {"oid": oid})
        connection.adapters.register_dumper(_CLASSES[kind], dumper)


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


def array(kind: str, values: Sequence[Any]) -> bytes:
    """Return a parameter with the values of a column. `kind` is the type of the column.

    The value of a `tsvector` is the result of `word_vector`, and that of a `text[]` is a list.
    Raises OverflowError for an integer of more than 64 bits, as SQLite does.
    """
    head = _HEAD.pack(1, 1, _TYPES[kind], len(values), 1)
    try:
        return bytes.__new__(_CLASSES[kind], head + _ENCODERS[kind](values))
    except struct.error as error:
        raise OverflowError(f"a number has too many bits for a column: {error}") from error


def kind_of(values: Sequence[Any]) -> str:
    """Return the type of an array that can have the values."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, int):
        return "bigint"
    return "text" if first is None or isinstance(first, str | PackedText) else "bytea"


def _integers(values: Sequence[int | None]) -> bytes:
    pack = _INTEGER.pack
    return b"".join([_NULL if value is None else pack(8, value) for value in values])


def _floats(values: Sequence[float | None]) -> bytes:
    return b"".join([_NULL if value is None else _FLOAT.pack(8, value) for value in values])


def _texts(values: Sequence[str | PackedText | None]) -> bytes:
    parts: list[bytes] = []
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            data = stored_bytes(value)
            parts += (_SIZE.pack(len(data)), data)
    return b"".join(parts)


def _bytes(values: Sequence[bytes | None]) -> bytes:
    parts: list[bytes] = []
    for value in values:
        parts += (_NULL,) if value is None else (_SIZE.pack(len(value)), value)
    return b"".join(parts)


def _lists(values: Sequence[Sequence[str] | None]) -> bytes:
    return _texts([None if value is None else _list(value) for value in values])


def _list(texts: Sequence[str]) -> str:
    """Return the text form of an array of texts."""
    quoted = (text.replace("\\", r"\\").replace('"', r"\"") for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def word_vector(words: str) -> bytes:
    """Return the binary form of a `tsvector` without positions.

    `words` are different words, separated by spaces.
    """
    if not words:
        return _SIZE.pack(0)
    stored = stored_bytes(words).replace(b" ", _END_OF_WORD)
    return _SIZE.pack(words.count(" ") + 1) + stored + _END_OF_WORD


_ENCODERS: Mapping[str, Callable[[Sequence[Any]], bytes]] = {
    "bigint": _integers, "text": _texts, "bytea": _bytes, "double precision": _floats,
    "tsvector": _bytes, "text[]": _lists,
}  # fmt: skip
