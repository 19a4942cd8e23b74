"""A version of a span made ready to be kept: all that can be done outside of the transaction."""

from collections.abc import Iterable
from dataclasses import dataclass

from treadle.spans.span import Span, more_complete
from treadle.traces.store import contents
from treadle.traces.store.blobs import Pieces
from treadle.traces.store.columns import SpanRow, span_row
from treadle.traces.store.packing import Text, packed
from treadle.traces.store.search_text import newest_text, search_text


@dataclass(frozen=True, slots=True)
class Arrival:
    """A span in all the forms in which it is stored."""

    span: Span
    trace_id: Text
    row: SpanRow
    data: bytes
    pieces: Pieces
    texts: tuple[str, str, str]
    """What is searched: name, input, output."""
    labels: tuple[Text, ...]


def prepare(spans: Iterable[Span]) -> list[Arrival]:
    """The spans made ready; of several versions of one only the most complete."""
    newest: dict[tuple[str, str], Span] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        newest[key] = more_complete(newest[key], span) if key in newest else span
    return [_arrival(span) for span in newest.values()]


def most_complete(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """Of several versions of a span the most complete, whoever brought them."""
    kept: dict[tuple[Text, Text], Arrival] = {}
    for arrival in arrivals:
        key = (arrival.trace_id, arrival.row.span_id)
        other = kept.get(key)
        if other is None or more_complete(other.span, arrival.span) is arrival.span:
            kept[key] = arrival
    return list(kept.values())


def _arrival(span: Span) -> Arrival:
    texts = (search_text(span.name), search_text(span.input), search_text(span.output))
    data, pieces = contents.encode(span)
    return Arrival(
        span=span,
        trace_id=packed(span.trace_id) or "",
        row=span_row(span, newest_text(span.input, texts[1]), texts[2]),
        data=data,
        pieces=pieces,
        texts=texts,
        labels=tuple(packed(label) or "" for label in sorted(set(span.labels))),
    )
