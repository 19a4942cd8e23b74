"""Deduplicates large values and attachments: each is stored once, under the hash of its bytes.

Every request of a conversation repeats the messages and images of the earlier requests. Therefore
attachments are stored separately from the text around them, and a long list of messages is split
into chunks. The split starts at the beginning of the list, and new messages are added at the end.
Therefore the earlier chunks stay the same.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from isal import isal_zlib

from treadle.database import Connection
from treadle.traces.store import statements
from treadle.traces.store.attachments import attachments
from treadle.traces.store.results import Blob

CHUNK = 8_192
"""The minimum number of characters of a chunk of messages."""
LARGE_VALUE = 32_768
"""The minimum number of characters of any other value that becomes a blob."""

_MESSAGE_START = '{"role"'
_SEPARATORS = ", \n\t]"
_COMPRESSION_LEVEL = 1
_TEXT = "text/plain; charset=utf-8"

_STORED_HASHES = "SELECT hash FROM blobs WHERE hash IN ({})"

Part = str | tuple[str, bool]
"""Unchanged text, or a tuple of a blob's hexadecimal hash and a flag.

The flag states whether the text contains the blob as base64.
"""


@dataclass(frozen=True, slots=True)
class NewBlob:
    """A blob before it is stored."""

    media_type: str | None
    data: bytes


NewBlobs = dict[bytes, NewBlob]
"""New blobs by their hash."""


def split(text: str, new_blobs: NewBlobs) -> list[Part] | None:
    """Split `text` into parts, and add the large parts to `new_blobs`.

    Returns None if no part is large.
    """
    parts: list[Part] = []
    position = 0
    for found in attachments(text):
        parts += _split_text(text[position : found.start], new_blobs)
        parts.append((_add_blob(new_blobs, found.media_type, found.data), True))
        position = found.end
    parts += _split_text(text[position:], new_blobs)
    return None if all(isinstance(part, str) for part in parts) else parts


def join(parts: Iterable[Part], blobs: Mapping[str, bytes]) -> str:
    """Return the text that was split into `parts`."""
    return "".join(
        part if isinstance(part, str) else _part_text(blobs[part[0]], as_base64=part[1])
        for part in parts
    )


def store(connection: Connection, new_blobs: NewBlobs) -> None:
    """Store the blobs that are not stored yet."""
    stored = {key for (key,) in statements.select(connection, _STORED_HASHES, new_blobs)}
    statements.insert(
        connection,
        "INSERT INTO blobs (hash, media_type, size, data)",
        [
            (
                key,
                new_blobs[key].media_type,
                len(new_blobs[key].data),
                _compressed(new_blobs[key].data),
            )
            for key in sorted(new_blobs.keys() - stored)
        ],
    )


def load(connection: Connection, hashes: Sequence[str]) -> dict[str, bytes]:
    """Return the bytes of blobs by their hash in hexadecimal."""
    rows = statements.select(
        connection,
        "SELECT hash, size, data FROM blobs WHERE hash IN ({})",
        map(bytes.fromhex, hashes),
    )
    return {key.hex(): _expanded(size, data) for key, size, data in rows}


def read(connection: Connection, hash_hex: str) -> Blob | None:
    """Return the blob with a hexadecimal hash, or None if it does not exist."""
    try:
        key = bytes.fromhex(hash_hex)
    except ValueError:
        return None
    found = connection.execute(
        "SELECT media_type, size, data FROM blobs WHERE hash = ?", (key,)
    ).fetchone()
    return Blob(found[0], _expanded(found[1], found[2])) if found else None


def _expanded(size: int, data: bytes) -> bytes:
    """Decompress the stored `data` of a blob. Data of `size` bytes is not compressed."""
    return isal_zlib.decompress(data) if len(data) < size else data


def _compressed(data: bytes) -> bytes:
    compressed = isal_zlib.compress(data, _COMPRESSION_LEVEL)
    return compressed if len(compressed) < len(data) else data


def _add_blob(new_blobs: NewBlobs, media_type: str | None, data: bytes) -> str:
    key = blake2b(data, digest_size=32)
    new_blobs[key.digest()] = NewBlob(media_type, data)
    return key.hexdigest()


def _split_text(text: str, new_blobs: NewBlobs) -> list[Part]:
    parts: list[Part] = []
    position = 0
    for start, end in _chunks(text):
        if position < start:
            parts.append(text[position:start])
        data = text[start:end].encode("utf-8", "surrogatepass")
        parts.append((_add_blob(new_blobs, _TEXT, data), False))
        position = end
    if position < len(text):
        parts.append(text[position:])
    return parts


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each chunk of `text`, without separators between messages."""
    if len(text) < CHUNK:
        return
    start = text.find(_MESSAGE_START)
    if start < 0:
        if len(text) >= LARGE_VALUE:
            yield 0, len(text)
        return
    while start >= 0:
        position = text.find(_MESSAGE_START, start + CHUNK)
        following = position if position >= 0 else len(text)
        end = start + len(text[start:following].rstrip(_SEPARATORS))
        if end - start >= CHUNK:
            yield start, end
        start = position


def _part_text(data: bytes, *, as_base64: bool) -> str:
    return base64.b64encode(data).decode() if as_base64 else data.decode("utf-8", "surrogatepass")
