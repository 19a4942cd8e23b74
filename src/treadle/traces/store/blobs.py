"""Large values and attachments, kept once under the hash of their bytes however often they come.

An image is sent again with every later request, and so is the whole conversation before it. So
attachments are cut out of their text, and a long list of messages is cut into chunks at the same
places each time: counted from its beginning, which stays while messages are added at the end.
"""

import base64
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from isal import isal_zlib

from treadle.traces.store import statements
from treadle.traces.store.attachments import attachments
from treadle.traces.store.results import Blob

CHUNK = 8_192
"""Characters of messages from which on they become a blob of their own."""
LARGE = 32_768
"""Characters from which on any other value becomes one."""

_MESSAGE = '{"role"'
_BETWEEN = ", \n\t]"
_COMPRESSION = 1
_TEXT = "text/plain; charset=utf-8"

_WHICH_ARE_KEPT = "SELECT hash FROM blobs WHERE hash IN ({})"

Part = str | tuple[str, bool]
"""Unchanged text, or the hash (hexadecimal) of a blob and whether to write it as base64."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of a blob before they are stored."""

    media_type: str | None
    data: bytes


Pieces = dict[bytes, Piece]
"""Blobs by their hash."""


def cut(text: str, pieces: Pieces) -> list[Part] | None:
    """`text` as parts, with what is large put into `pieces`; None when it stays whole."""
    parts: list[Part] = []
    position = 0
    for found in attachments(text):
        parts += _cut_text(text[position : found.start], pieces)
        parts.append((_put(pieces, found.media_type, found.data), True))
        position = found.end
    parts += _cut_text(text[position:], pieces)
    return None if all(isinstance(part, str) for part in parts) else parts


def join(parts: Iterable[Part], blobs: Mapping[str, bytes]) -> str:
    """The text that was cut into `parts`."""
    return "".join(
        part if isinstance(part, str) else _written(blobs[part[0]], as_base64=part[1])
        for part in parts
    )


def store(connection: sqlite3.Connection, pieces: Pieces) -> None:
    """Keep those that are not kept yet."""
    there = {key for (key,) in statements.select(connection, _WHICH_ARE_KEPT, pieces)}
    statements.insert(
        connection,
        "INSERT INTO blobs (hash, media_type, size, data)",
        [
            (key, pieces[key].media_type, len(pieces[key].data), _compressed(pieces[key].data))
            for key in sorted(pieces.keys() - there)
        ],
    )


def load(connection: sqlite3.Connection, hashes: Sequence[str]) -> dict[str, bytes]:
    """The bytes of blobs by their hash in hexadecimal."""
    rows = statements.select(
        connection,
        "SELECT hash, size, data FROM blobs WHERE hash IN ({})",
        map(bytes.fromhex, hashes),
    )
    return {key.hex(): _expanded(size, data) for key, size, data in rows}


def read(connection: sqlite3.Connection, hash_hex: str) -> Blob | None:
    """The blob with that hash; None when there is none."""
    try:
        key = bytes.fromhex(hash_hex)
    except ValueError:
        return None
    found = connection.execute(
        "SELECT media_type, size, data FROM blobs WHERE hash = ?", (key,)
    ).fetchone()
    return Blob(found[0], _expanded(found[1], found[2])) if found else None


def _expanded(size: int, data: bytes) -> bytes:
    """The bytes of a blob of `size` from what is stored of it."""
    return isal_zlib.decompress(data) if len(data) < size else data


def _compressed(data: bytes) -> bytes:
    compressed = isal_zlib.compress(data, _COMPRESSION)
    return compressed if len(compressed) < len(data) else data


def _put(pieces: Pieces, media_type: str | None, data: bytes) -> str:
    key = blake2b(data, digest_size=32)
    pieces[key.digest()] = Piece(media_type, data)
    return key.hexdigest()


def _cut_text(text: str, pieces: Pieces) -> list[Part]:
    parts: list[Part] = []
    position = 0
    for start, end in _chunks(text):
        if position < start:
            parts.append(text[position:start])
        data = text[start:end].encode("utf-8", "surrogatepass")
        parts.append((_put(pieces, _TEXT, data), False))
        position = end
    if position < len(text):
        parts.append(text[position:])
    return parts


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """Where the blobs in `text` begin and end, without the separators of messages."""
    if len(text) < CHUNK:
        return
    start = text.find(_MESSAGE)
    if start < 0:
        if len(text) >= LARGE:
            yield 0, len(text)
        return
    while start >= 0:
        position = text.find(_MESSAGE, start + CHUNK)
        following = position if position >= 0 else len(text)
        end = start + len(text[start:following].rstrip(_BETWEEN))
        if end - start >= CHUNK:
            yield start, end
        start = position


def _written(data: bytes, *, as_base64: bool) -> str:
    return base64.b64encode(data).decode() if as_base64 else data.decode("utf-8", "surrogatepass")
