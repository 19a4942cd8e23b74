"""One whole span as JSON, its large values as previews that state where the rest is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from treadle.diagnosis.record_faults import RecordFault, record_faults
from treadle.json_values import JsonField
from treadle.spans.span import JsonValue, Span
from treadle.traces.store import blobs

_PREVIEW = 2_000
"""The number of characters in the preview of a large value."""
_SHORTEST = 1_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """An unchanged part of a large value."""

    text: str


@dataclass(frozen=True, slots=True)
class BlobPart:
    """A part of a large value that is at `/blobs/BLOB`; with `base64` it is encoded there."""

    blob: str
    media_type: str | None
    bytes: int
    base64: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A large value of which only the beginning is shown: its path, its length, and its parts."""

    path: tuple[str | int, ...]
    characters: int
    parts: tuple[TextPart | BlobPart, ...]


@dataclass(frozen=True, slots=True)
class SpanContent:
    """A span with its content, which of its values were cut, and the faults of its record.

    Only `cut` refers to blobs, so nothing that a span contains can be taken for such a reference.
    """

    span: Annotated[Mapping[str, JsonValue], JsonField(as_is=True, documented_as=Span)]
    cut: tuple[Cut, ...]
    marks: tuple[RecordFault, ...]


def whole_span(span: Span) -> SpanContent:
    """All fields as they were recorded."""
    return SpanContent(span.to_json(), (), tuple(record_faults(span)))


def previewed_span(span: Span) -> SpanContent:
    """All fields, with only the beginning of each large value."""
    cut: list[Cut] = []
    shown = _previewed(span.to_json(), (), cut)
    return SpanContent(shown, tuple(cut), tuple(record_faults(span)))


def _previewed(value: Any, path: tuple[str | int, ...], cut: list[Cut]) -> Any:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else _preview(value, path, cut)
    if isinstance(value, Mapping):
        return {key: _previewed(item, (*path, key), cut) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_previewed(item, (*path, position), cut) for position, item in enumerate(value)]
    return value


def _preview(text: str, path: tuple[str | int, ...], cut: list[Cut]) -> str:
    new_blobs: blobs.NewBlobs = {}
    parts = blobs.split(text, new_blobs)
    if parts is None:
        return text
    cut.append(Cut(path, len(text), tuple(_part(part, new_blobs) for part in parts)))
    return text[:_PREVIEW]


def _part(part: blobs.Part, new_blobs: blobs.NewBlobs) -> TextPart | BlobPart:
    if isinstance(part, str):
        return TextPart(part)
    key, as_base64 = part
    piece = new_blobs[bytes.fromhex(key)]
    return BlobPart(key, piece.media_type, len(piece.data), as_base64)
