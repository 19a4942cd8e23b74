"""Values of PostgreSQL that behave as those of SQLite.

PostgreSQL cannot store NUL or a lone surrogate in a text. Both are stored as private characters of
plane 16. Where a text contains one of these private characters itself, an escape character precedes
it. In Python, a text with a lone surrogate is a `PackedText`, as it is for SQLite.

Such a text sorts by its private characters, so its position in a list differs from that in SQLite.
SQLite sorts NUL before all characters. It sorts a `PackedText` by its UTF-8 form, or after all
other texts if a column contains it as bytes. Another order would need a collation of its own for
each sorted column, and every page of a list is complete without it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrDumperUnknown

from treadle.database.connection import PackedText

_FIRST = 0x10F000
"""The private character for U+D800. The characters for the other surrogates follow."""
_NUL = chr(0x10F800)
_ESCAPE = chr(0x10F801)
_LEAD = b"\xf4\x8f"
"""The bytes with which the UTF-8 form of each private character begins."""

_UNSTORABLE = re.compile(f"[\0\ud800-\udfff{chr(_FIRST)}-{_ESCAPE}]")
_STORED = re.compile(f"{_ESCAPE}([{chr(_FIRST)}-{_ESCAPE}])|([{chr(_FIRST)}-{_NUL}])", re.DOTALL)


def adapt(connection: "psycopg.Connection[Any]") -> None:
    """Register the conversions of this module for a connection."""
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(PackedText, _PackedTextDumper)
    adapters.register_dumper(bool, _BoolDumper)
    # psycopg would choose the type of an integer by its size, and PostgreSQL would then prepare
    # a statement once for each combination of types. So all integers are sent as one type.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)
    # A loader in Python for each text would take a quarter of the client's time for a list.
    connection.row_factory = _restoring_rows


def stored_bytes(text: str | PackedText) -> bytes:
    """Return the UTF-8 form of the text that PostgreSQL stores.

    Raises UnicodeEncodeError for a `str` with a lone surrogate, as SQLite does.
    """
    if isinstance(text, bytes):
        return _stored(text.decode("utf-8", "surrogatepass"))
    data = text.encode()
    return _stored(text) if b"\0" in data or _LEAD in data else data


def _stored(text: str) -> bytes:
    return _UNSTORABLE.sub(_private, text).encode()


def _private(found: re.Match[str]) -> str:
    character = found.group()
    if character == "\0":
        return _NUL
    if "\ud800" <= character <= "\udfff":
        return chr(_FIRST + ord(character) - 0xD800)
    return _ESCAPE + character


def _original(found: re.Match[str]) -> str:
    escaped, private = found.groups()
    if escaped is not None:
        return str(escaped)
    return "\0" if private == _NUL else chr(0xD800 + ord(private) - _FIRST)


class _TextDumper(StrDumperUnknown):
    """Sends a text. Raises UnicodeEncodeError for a lone surrogate, as SQLite does."""

    def dump(self, obj: str) -> Buffer:
        return stored_bytes(obj)


class _PackedTextDumper(StrDumperUnknown):
    def dump(self, obj: Any) -> Buffer:
        return stored_bytes(PackedText(obj))


class _BoolDumper(Dumper):
    """Sends a Boolean as the number that SQLite stores."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: bool) -> Buffer:
        return b"1" if obj else b"0"


def _restoring_rows(_cursor: object) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    return _restored_row


def _restored_row(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row whose texts have their original characters."""
    for value in values:
        if type(value) is str and not value.isascii() and _STORED.search(value):
            return tuple(map(_restored, values))
    return tuple(values)


def _restored(value: Any) -> Any:
    if type(value) is not str:
        return value
    text = _STORED.sub(_original, value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return PackedText(text.encode("utf-8", "surrogatepass"))
    return text


class _BoolLoader(Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _NumericLoader(Loader):
    """Reads a sum of whole numbers as an int, and any other number as a float."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)
