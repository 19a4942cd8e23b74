"""Encodes complete spans as bytes and decodes them without loss.

The compressed bytes are a line of JSON, `[fields, moved, sizes]`, followed by the unchanged input
and output. `sizes` are the lengths of the input and the output in characters. Fields with their
default values are omitted. A value may be stored elsewhere: in blobs, or in another field of the
span. `moved` lists these values with their paths, and the fields contain null in their place. The
fields contain no references, so no value of a span can be mistaken for one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from isal import isal_zlib

from treadle.database import Connection
from treadle.events.types import Usage
from treadle.spans.span import CostSource, Span, SpanEvent, SpanKind, SpanLink, SpanStatus
from treadle.traces.store import blobs, statements
from treadle.traces.store.attachments import SHORTEST, may_hold_base64
from treadle.traces.store.statements import packed

_COMPRESSION = 1
_REPEATED = 200
"""The minimum length of a text that is stored only once if a span contains it twice."""

_TEXTS = ("input", "output")

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_Path = list[str | int]
_Moved = list[tuple[_Path, list[blobs.Part] | str]]
"""The values that are stored elsewhere.

An entry has the path of the value, and either its parts or the name of the field with the same
text.
"""
_Values = dict[str, Any]  # a JSON object, as `_values` returns it

_ONE = """
    SELECT data FROM traces
    JOIN spans ON spans.trace = traces.id JOIN contents ON contents.id = spans.id
    WHERE trace_id = ? AND span_id = ?"""
_OF_TRACE = """
    SELECT data FROM traces
    JOIN spans ON spans.trace = traces.id JOIN contents ON contents.id = spans.id
    WHERE trace_id = ?"""
_BY_KEY = "SELECT id, data FROM contents WHERE id IN ({})"


def encode(span: Span) -> tuple[bytes, blobs.NewBlobs]:
    """Encode `span` as bytes. Also returns the blobs that the bytes refer to."""
    moved: _Moved = []
    values = _without_repeated(span, _values(span), moved)
    new_blobs: blobs.NewBlobs = {}
    texts = [span.input or "", span.output or ""]
    head = _encode([values, moved, list(map(len, texts))])
    if _may_be_cut(head) or any(map(_may_be_cut, texts)):
        texts = [_cut(field, texts[at], moved, new_blobs) for at, field in enumerate(_TEXTS)]
        values = _without_large(values, [], moved, new_blobs)
        if new_blobs:
            head = _encode([values, moved, list(map(len, texts))])
    whole = "".join((head, "\n", *texts))
    return isal_zlib.compress(whole.encode("utf-8", "surrogatepass"), _COMPRESSION), new_blobs


def span(connection: Connection, trace_id: str, span_id: str) -> Span | None:
    """Return the stored span with these ids, or None if it does not exist."""
    found = connection.execute(_ONE, (packed(trace_id), packed(span_id))).fetchone()
    return _decoded(connection, [found[0]])[0] if found else None


def spans(connection: Connection, trace_id: str) -> list[Span]:
    """Return the complete spans of a trace, sorted by start time and id."""
    rows = connection.execute(_OF_TRACE, (packed(trace_id),)).fetchall()
    found = _decoded(connection, [data for (data,) in rows])
    return sorted(found, key=lambda span: (span.start_us, span.span_id))


def spans_by_key(connection: Connection, keys: Iterable[int]) -> dict[int, Span]:
    """Return the stored spans with these keys (`spans.id`), by key."""
    rows = dict(statements.select(connection, _BY_KEY, keys))
    found = _decoded(connection, list(rows.values()))
    return dict(zip(rows, found, strict=True))


def _decoded(connection: Connection, contents: Sequence[bytes]) -> list[Span]:
    parsed = list(map(_parsed, contents))
    hashes = {
        part[0]
        for _, moved in parsed
        for _, parts in moved
        if isinstance(parts, list)
        for part in parts
        if not isinstance(part, str)
    }
    kept = blobs.load(connection, sorted(hashes))
    return [_span(_restored(values, moved, kept)) for values, moved in parsed]


def _parsed(data: bytes) -> tuple[_Values, _Moved]:
    whole = isal_zlib.decompress(data).decode("utf-8", "surrogatepass")
    head, _, texts = whole.partition("\n")
    values, moved, (size, _) = json.loads(head)
    for field, text in zip(_TEXTS, (texts[:size], texts[size:]), strict=True):
        if field in values:
            values[field] = text
    return values, moved


def _may_be_cut(text: str) -> bool:
    return len(text) >= blobs.CHUNK or (len(text) >= SHORTEST and may_hold_base64(text))


def _cut(field: str, text: str, moved: _Moved, new_blobs: blobs.NewBlobs) -> str:
    """Return `text`, or an empty text if the parts of `text` are stored in blobs."""
    parts = blobs.split(text, new_blobs)
    if parts is None:
        return text
    moved.append(([field], parts))
    return ""


def _without_repeated(span: Span, values: _Values, moved: _Moved) -> _Values:
    """Return `values` with null in place of attributes that repeat the input or the output."""
    attributes = values.get("attributes")
    for field, content in ((field, getattr(span, field)) for field in _TEXTS):
        if content is None or attributes is None or len(content) < _REPEATED:
            continue
        for key in [key for key, value in attributes.items() if value == content]:
            attributes = {**attributes, key: None}
            moved.append((["attributes", key], field))
    return {**values, "attributes": attributes} if moved else values


def _without_large(value: Any, path: _Path, moved: _Moved, new_blobs: blobs.NewBlobs) -> Any:
    """Return `value` with null in place of each text that is stored in blobs."""
    if isinstance(value, str):
        parts = blobs.split(value, new_blobs) if len(value) >= SHORTEST else None
        if parts is None:
            return value
        moved.append((path, parts))
        return None
    if isinstance(value, Mapping):
        return {
            key: _without_large(item, [*path, key], moved, new_blobs) for key, item in value.items()
        }
    if isinstance(value, Sequence):
        return [
            _without_large(item, [*path, index], moved, new_blobs)
            for index, item in enumerate(value)
        ]
    return value


def _restored(values: _Values, moved: _Moved, kept: Mapping[str, bytes]) -> _Values:
    for path, parts in moved:
        if isinstance(parts, list):
            _put(values, path, blobs.join(parts, kept))
    for path, parts in moved:
        if isinstance(parts, str):
            _put(values, path, values[parts])
    return values


def _put(values: Any, path: _Path, text: str) -> None:
    for step in path[:-1]:
        values = values[step]
    values[path[-1]] = text


def _values(span: Span) -> _Values:
    """Return the fields whose values differ from their defaults, as JSON values."""
    values: _Values = {name: value for name in _PLAIN if (value := getattr(span, name)) is not None}
    values |= {name: None for name in _TEXTS if getattr(span, name) is not None}
    tokens = span.tokens
    if tokens != _NO_TOKENS:
        values["tokens"] = [
            tokens.input, tokens.output, tokens.cached, tokens.reasoning, tokens.cache_write
        ]  # fmt: skip
    for name in ("labels", "metadata", "attributes", "resource"):
        if value := getattr(span, name):
            values[name] = value
    if span.events:
        values["events"] = [(event.at_us, event.name, event.attributes) for event in span.events]
    if span.links:
        values["links"] = [(link.trace_id, link.span_id, link.attributes) for link in span.links]
    return values


_NO_TOKENS = Usage()
_NESTED = {*_TEXTS, "tokens", "labels", "metadata", "attributes", "resource", "events", "links"}
_PLAIN = tuple(field.name for field in fields(Span) if field.name not in _NESTED)
"""The fields whose values are JSON values, and whose default is None."""


def _span(values: _Values) -> Span:
    tokens = values.get("tokens")
    values["kind"] = SpanKind(values["kind"])
    values["status"] = SpanStatus(values["status"])
    if "cost_source" in values:
        values["cost_source"] = CostSource(values["cost_source"])
    values["tokens"] = Usage(*tokens) if tokens else _NO_TOKENS
    values["labels"] = tuple(values.get("labels", ()))
    values["events"] = tuple(SpanEvent(*event) for event in values.get("events", ()))
    values["links"] = tuple(SpanLink(*link) for link in values.get("links", ()))
    return Span(**values)
