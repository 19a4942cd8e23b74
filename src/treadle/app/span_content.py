"""One whole span as JSON, its large values as previews that say where the rest is."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from treadle.diagnosis.record_faults import record_faults
from treadle.spans.span import JsonValue, Span
from treadle.traces.store import blobs

if TYPE_CHECKING:
    from treadle.app.trace_shapes import BlobPart, Cut, SpanContent, SpanMark, TextPart

_PREVIEW = 2_000
"""Characters of a large value that are shown in its place."""
_SHORTEST = 1_000


def whole_span(span: Span) -> "SpanContent":
    """All fields as they were recorded, and nothing cut."""
    return {"span": span.to_json(), "cut": [], "marks": _marks(span)}


def previewed_span(span: Span) -> "SpanContent":
    """The same with a preview of each large value, which `cut` lists.

    An entry of `cut` has the `path` to the value, the `characters` of the whole value, and its
    `parts` in order: `{"text"}`, or `{"blob", "media_type", "bytes", "base64"}` by hash. Recorded
    text therefore cannot imitate a link.
    """
    cut: list[Cut] = []
    shown = cast("dict[str, JsonValue]", _previewed(span.to_json(), [], cut))
    return {"span": shown, "cut": cut, "marks": _marks(span)}


def _marks(span: Span) -> "list[SpanMark]":
    return [{"mark": each.kind.value, "words": each.message} for each in record_faults(span)]


def _previewed(value: Any, path: list[str | int], cut: "list[Cut]") -> Any:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else _preview(value, path, cut)
    if isinstance(value, Mapping):
        return {key: _previewed(item, [*path, key], cut) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_previewed(item, [*path, place], cut) for place, item in enumerate(value)]
    return value


def _preview(text: str, path: list[str | int], cut: "list[Cut]") -> str:
    pieces: blobs.Pieces = {}
    parts = blobs.cut(text, pieces)
    if parts is None:
        return text
    told = [_part(part, pieces) for part in parts]
    cut.append({"path": path, "characters": len(text), "parts": told})
    return text[:_PREVIEW]


def _part(part: blobs.Part, pieces: blobs.Pieces) -> "TextPart | BlobPart":
    if isinstance(part, str):
        return {"text": part}
    key, as_base64 = part
    piece = pieces[bytes.fromhex(key)]
    return {
        "blob": key,
        "media_type": piece.media_type,
        "bytes": len(piece.data),
        "base64": as_base64,
    }
