"""The JSON of one span. Large values are shortened, with references to their parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from treadle.diagnosis.record_faults import RecordFault, record_faults
from treadle.json_values import JsonField
from treadle.spans.span import JsonValue, SameCall, Span
from treadle.traces.store import blobs

_PREVIEW = 2_000
"""The maximum number of characters that the preview of a large value has."""
_SHORTEST = 1_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a large value that is included as text."""

    text: str


@dataclass(frozen=True, slots=True)
class BlobPart:
    """A part of a large value that is stored as a blob.

    `GET /blobs/BLOB` returns the part. `bytes` is its size. With `base64`, the large value contains
    the part in base64.
    """

    blob: str
    media_type: str | None
    bytes: int
    base64: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A large value that was shortened. `path` is its location in the span.

    `characters` is its full length. Together, `parts` are the full value.
    """

    path: tuple[str | int, ...]
    characters: int
    parts: tuple[TextPart | BlobPart, ...]


@dataclass(frozen=True, slots=True)
class SpanContent:
    """A span, the values that were shortened in it, and faults of its recording.

    `cut` alone refers to blobs. Text within a span is therefore never mistaken for a reference.
    `marks` are the faults. `same_call` is another span that recorded the same call.
    """

    span: Annotated[Mapping[str, JsonValue], JsonField(as_is=True, documented_as=Span)]
    cut: tuple[Cut, ...]
    marks: tuple[RecordFault, ...]
    same_call: SameCall | None


def whole_span(span: Span, same_call: SameCall | None) -> SpanContent:
    """Return a span with its full content."""
    return SpanContent(span.to_json(), (), tuple(record_faults(span)), same_call)


def previewed_span(span: Span, same_call: SameCall | None) -> SpanContent:
    """Return a span in which each large value is shortened to its beginning."""
    cut: list[Cut] = []
    shown = _previewed(span.to_json(), (), cut)
    return SpanContent(shown, tuple(cut), tuple(record_faults(span)), same_call)


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
