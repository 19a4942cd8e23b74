"""Reads and writes span files in Treadle's format, and reads files of OpenTelemetry's collector.

Treadle's format keeps all data of a span. A header line with the version comes first, then one JSON
object in each line. In a file of the collector, each line is an export request in JSON, or the
whole file is one request. A file whose name ends with `.gz` is compressed. Reading and writing keep
at most one batch of spans in memory.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from treadle.errors import UsageError
from treadle.events.types import Usage
from treadle.llm.usage import read_cost
from treadle.owner_only import open_output
from treadle.spans.otlp import OtlpError, decode_json
from treadle.spans.span import (
    MAX_METADATA,
    CostSource,
    Span,
    SpanEvent,
    SpanKind,
    SpanLink,
    SpanStatus,
    is_metadata,
)
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies.mapper import map_spans

VERSION = 1

_BATCH = 500
_HEADER = "treadle.spans"
_LINE_LIMIT = 128 << 20
"""The maximum number of bytes of a line, and of an export over many lines.

Spans are never that long. The limit protects against compressed files, since 1 MB of such a file
can contain a line of 1 GB.
"""


class SpanFileError(UsageError):
    """Raised when a file of spans cannot be read. The message names the line."""


def write_spans(path: Path, spans: Iterable[Span]) -> int:
    """Write `spans` to a new file. Returns the number of spans. Raises OSError."""
    with open_output(path) as file:
        if path.suffix != ".gz":
            return write_span_lines(file, spans)
        with gzip.open(file, "wb") as stream:
            return write_span_lines(cast("BinaryIO", stream), spans)


def write_span_lines(stream: BinaryIO, spans: Iterable[Span]) -> int:
    """Write `spans` to an open stream of bytes. Returns the number of spans."""
    stream.write(_encoded({_HEADER: VERSION}))
    written = 0
    for span in spans:
        stream.write(_encoded(span.to_json()))
        written += 1
    return written


def read_spans(path: Path) -> Iterator[SpanBatch[Span]]:
    """Yield the spans of a file in batches. A batch also reports the rejected spans of an export.

    Raises OSError, and SpanFileError at the first line that cannot be read.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with cast("BinaryIO", opened(path, "rb")) as stream:
        yield from read_span_lines(stream, path.name)


def read_span_lines(stream: BinaryIO, name: str) -> Iterator[SpanBatch[Span]]:
    """Yield the spans of an open stream of bytes in batches.

    `name` is the stream's name in errors.
    """
    lines = _lines(stream, name)
    number, first = next(lines, (0, b""))
    if not first:
        return
    header = _parsed(first)
    if isinstance(header, dict) and _HEADER in header:
        _check_version(header[_HEADER], name)
        yield from _own(lines, name)
    elif isinstance(header, dict | list):  # each line is an export
        yield _export(first, number, name)
        for number, line in lines:
            yield _export(line, number, name)
    else:  # the file may be one export over many lines
        yield _export(_joined(first, lines, name), number, name)


def span_from_json(values: Mapping[str, Any]) -> Span:
    """Return the span that `Span.to_json` has encoded. Raises ValueError for other values."""
    unknown = values.keys() - _FIELDS
    if unknown:
        raise ValueError(f"a span has no {min(unknown)}")
    try:
        parsed = dict(values)
        parsed["kind"], parsed["status"] = SpanKind(parsed["kind"]), SpanStatus(parsed["status"])
        parsed["tokens"] = Usage(**parsed["tokens"])
        if parsed["cost_source"] is not None:
            parsed["cost_source"] = CostSource(parsed["cost_source"])
        parsed["labels"] = tuple(parsed["labels"])
        parsed["events"] = tuple(SpanEvent(**event) for event in parsed["events"])
        parsed["links"] = tuple(SpanLink(**link) for link in parsed["links"])
        span = Span(**parsed)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not a complete span ({error})") from error
    _check(span)
    return span


def _fields_of(kind: object) -> tuple[str, ...]:
    """Return the names of the fields of a span that are declared with the type `kind`."""
    return tuple(item.name for item in fields(Span) if item.type == kind)


_FIELDS = {item.name for item in fields(Span)}
_TEXTS, _OPTIONAL_TEXTS = _fields_of(str), _fields_of(str | None)
_OPTIONAL_NUMBERS = _fields_of(int | None)
_MOST = (1 << 63) - 1
_LAST_US = _MOST // 1_000
"""The last time that 63 bits of nanoseconds can express, in microseconds. It is in 2262."""


def _check(span: Span) -> None:
    """Raise ValueError for a span that a store cannot take."""
    values: list[tuple[str, object, type]] = [(each, getattr(span, each), str) for each in _TEXTS]
    values.append(("start_us", span.start_us, int))
    values += [("label", each, str) for each in span.labels]
    values += [("attributes", each, dict) for each in (span.attributes, span.resource)]
    values.append(("metadata", span.metadata, dict))
    for event in span.events:
        values += [("events", event.name, str), ("events", event.at_us, int)]
        values.append(("events", event.attributes, dict))
    for link in span.links:
        values += [("links", link.trace_id, str), ("links", link.span_id, str)]
        values.append(("links", link.attributes, dict))
    optional: list[tuple[str, object, type]] = [
        *((each, getattr(span, each), str) for each in _OPTIONAL_TEXTS),
        *((each, getattr(span, each), int) for each in _OPTIONAL_NUMBERS),
        *(("tokens", getattr(span.tokens, each.name), int) for each in fields(Usage)),
        ("cost", None if type(span.cost) is int else span.cost, float),
        ("input_counts_cache", span.input_counts_cache, bool),
    ]
    values += [each for each in optional if each[1] is not None]
    for name, value, kind in values:
        if type(value) is not kind:
            raise ValueError(f"its {name} is not a {kind.__name__}")
    if len(span.metadata) > MAX_METADATA or not all(
        is_metadata(key, value) for key, value in span.metadata.items()
    ):
        raise ValueError("its metadata is not flat or too large")
    if not (span.trace_id and span.span_id):
        raise ValueError("it has no id")
    moments = [span.start_us, span.end_us or 0, *(event.at_us for event in span.events)]
    if not all(0 <= at_us <= _LAST_US for at_us in moments):
        raise ValueError("one of its times is not between the years 1970 and 2262")
    counts = (getattr(span.tokens, each.name) for each in fields(Usage))
    numbers = (*counts, *(getattr(span, each) for each in _OPTIONAL_NUMBERS))
    if not all(0 <= (number or 0) <= _MOST for number in numbers):
        raise ValueError("one of its numbers is negative or too large")
    if span.cost is not None and read_cost(span.cost) is None:
        raise ValueError("its cost is not valid")


def _own(lines: Iterator[tuple[int, bytes]], name: str) -> Iterator[SpanBatch[Span]]:
    batch: list[Span] = []
    for number, line in lines:
        values = _parsed(line)
        if not isinstance(values, dict):
            raise _error(name, number, "is not a JSON object")
        try:
            batch.append(span_from_json(values))
        except ValueError as error:
            raise _error(name, number, f"is not a span: {error}") from error
        if len(batch) == _BATCH:
            yield SpanBatch(tuple(batch))
            batch.clear()
    if batch:
        yield SpanBatch(tuple(batch))


def _export(line: bytes, number: int, name: str) -> SpanBatch[Span]:
    try:
        decoded = map_spans(decode_json(line))
    except OtlpError as error:
        what = "is neither a header of Treadle nor an OTLP export"
        raise _error(name, number, what) from error
    return replace(
        decoded,
        reasons=tuple(f"line {number}: {reason}" for reason in decoded.reasons),
        warnings=tuple(f"line {number}: {warning}" for warning in decoded.warnings),
    )


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    number = 0
    try:
        while line := stream.readline(_LINE_LIMIT):
            number += 1
            if len(line) >= _LINE_LIMIT:
                raise _error(name, number, "is too long to be a span")
            if line := line.strip():
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _error(name, number + 1, "cannot be decompressed: the file is truncated") from error


def _joined(first: bytes, lines: Iterator[tuple[int, bytes]], name: str) -> bytes:
    """Return the text of an export over many lines.

    Raises SpanFileError if the text is too large.
    """
    joined = bytearray(first)
    for number, line in lines:
        joined += b"\n" + line
        if len(joined) > _LINE_LIMIT:
            raise _error(name, number, "is too far from the beginning of its export")
    return bytes(joined)


def _check_version(version: object, name: str) -> None:
    if version != VERSION:
        raise SpanFileError(
            f"{name} has version {version}, which this version of Treadle cannot read.",
            hint="Update Treadle, or export it again.",
        )


def _error(name: str, number: int, what: str) -> SpanFileError:
    return SpanFileError(
        f"Line {number} of {name} {what}.",
        hint="The lines before it are imported. Fix the line, and import the file again.",
    )


def _parsed(line: bytes) -> Any:
    """Return the value of a line, or None if the line is not JSON."""
    try:
        return json.loads(line, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> None:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(f"{constant} is not a number")


def _encoded(values: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(values, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate needs an escape
        return json.dumps(values).encode() + b"\n"
