"""Shortens the texts of a row whose index entries would be too long for an engine.

The content of a span keeps each text in full. Two different long texts stay different, because the
shortened text ends with a hash of the whole text.
"""

import json
from hashlib import blake2b
from typing import Any

from treadle.traces.store.columns import SpanRow
from treadle.traces.store.statements import Text, pack_text, unpacked

LIMIT = 1_000
"""The maximum number of bytes of a text in an index of PostgreSQL.

An index entry may have 2,704 bytes, and an index has at most two such texts.
"""

_KEPT = 900
"""The number of bytes of a longer text that are kept."""
_CERTAINLY_SHORT = LIMIT // 4
"""The number of characters that fit in any case, since a character has at most four bytes."""

_TEXTS = (
    "span_id", "parent_id", "operation", "name", "error_type", "model", "provider", "own_run",
    "own_thread",
)  # fmt: skip


def shortened(text: Text) -> Text:
    """Return a text of at most `LIMIT` bytes, which is `text` itself if it fits."""
    if len(text) <= _CERTAINLY_SHORT:
        return text
    whole = unpacked(text)
    data = whole.encode("utf-8", "surrogatepass")
    if len(data) <= LIMIT:
        return text
    begin = data[:_KEPT].decode("utf-8", "ignore")
    return pack_text(f"{begin}… {blake2b(data, digest_size=16).hexdigest()}")


def shortened_row(row: SpanRow) -> SpanRow:
    """Return the row with shortened texts in all columns that have an index."""
    changes: dict[str, Any] = {}
    for name in _TEXTS:
        text = getattr(row, name)
        if text is not None and len(text) > _CERTAINLY_SHORT:
            changes[name] = shortened(text)
    if row.labels is not None and len(row.labels) > _CERTAINLY_SHORT:
        labels = {_shortened_json(label) for label in json.loads(row.labels)}
        changes["labels"] = json.dumps(sorted(labels))
    if row.properties is not None and len(row.properties) > _CERTAINLY_SHORT:
        properties = json.loads(row.properties)
        changes["properties"] = json.dumps(
            {_shortened_json(name): _shortened_json(value) for name, value in properties.items()}
        )
    return row._replace(**changes) if changes else row


def _shortened_json(text: str) -> str:
    return unpacked(shortened(pack_text(text)))
