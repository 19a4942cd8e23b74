"""Reads the usage, cost and sources of the turns of a conversation from their traces."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from treadle.events.types import SourceRange, Usage
from treadle.session.sources import lines_read, merge_ranges
from treadle.spans.span import Span, SpanKind
from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field

if TYPE_CHECKING:
    from treadle.session import ConversationStore
    from treadle.traces import TraceStore

_PAGE = 1_000
_READ_TRACES = 50
"""The maximum number of turns of a conversation whose calls and sources are read, newest first."""
_READ_SPANS = 1_000
"""The maximum number of spans of a trace that is read. Of a larger trace, only sums are read."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call. `duration` is in seconds, or None if the call did not end."""

    summary: str
    duration: float | None
    sources: tuple[SourceRange, ...]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A recorded turn.

    `cost` is in US dollars, `duration` is in seconds, and unknown values are None. `calls` has the
    tool calls by their span ids. `context` has the sources of the automatic context. `sources` has
    all lines that the model received. `error` states why the turn failed.
    """

    usage: Usage
    cost: float | None
    tool_calls: int
    duration: float | None
    calls: Mapping[str, RecordedCall] = field(default_factory=dict)
    context: tuple[SourceRange, ...] = ()
    sources: tuple[SourceRange, ...] = ()
    error: str | None = None


async def turn_records(
    traces: "TraceStore", conversations: "ConversationStore", conversation_id: UUID
) -> dict[UUID, TurnRecord]:
    """Return the recorded turns of a conversation, and of the agents that answered in it.

    The keys are the ids of the turns. Turns without a trace are missing. Only the newest turns have
    calls, sources and errors.
    """
    asked = await conversations.agent_questions.list(conversation_id)
    threads = dict.fromkeys([conversation_id, *(each.agent_conversation_id for each in asked)])
    return await asyncio.to_thread(_read, traces, threads)


def _read(store: "TraceStore", conversations: Iterable[UUID]) -> dict[UUID, TurnRecord]:
    records: dict[UUID, TurnRecord] = {}
    query, cursor = Query((any_of(Field.THREAD, list(map(str, conversations))),)), None
    while True:
        page = store.runs(query, limit=_PAGE, cursor=cursor)
        for run in page.data:
            request_id = _uuid(run.trace_id)
            if request_id is None:
                continue
            sums = run.sums.totals
            spans: tuple[Span, ...] = ()
            if len(records) < _READ_TRACES and sums.spans <= _READ_SPANS:
                spans = store.trace(run.trace_id).spans
            seconds = None if run.duration_us is None else run.duration_us / 1e6
            records[request_id] = TurnRecord(
                sums.tokens, sums.cost, sums.tool_calls, seconds, *_details(spans), _error(spans)
            )
        cursor = page.pagination.next_cursor
        if cursor is None or not page.data:
            return records


def _error(spans: Iterable[Span]) -> str | None:
    """The error of the root span of a turn."""
    return next((span.error for span in spans if span.parent_id is None), None)


def _details(
    spans: Iterable[Span],
) -> tuple[dict[str, RecordedCall], tuple[SourceRange, ...], tuple[SourceRange, ...]]:
    """The calls, the sources of the automatic context, and all sources, in order of time."""
    ordered = sorted(spans, key=lambda span: span.start_us)
    calls = {span.span_id: span for span in ordered if span.kind is SpanKind.TOOL}
    found: dict[str, tuple[SourceRange, ...]] = {}
    context: list[SourceRange] = []
    everything: list[SourceRange] = []
    for span in ordered:
        if span.kind is SpanKind.RETRIEVAL:
            ranges = tuple(_retrieved(span))
            if span.parent_id in calls:
                found[span.parent_id or ""] = ranges
            else:
                context += ranges
        else:
            ranges = tuple(lines_read(span.output or "")) if span.span_id in calls else ()
        everything += ranges
    recorded = {key: _call(span, found.get(key, ())) for key, span in calls.items()}
    return recorded, tuple(context), merge_ranges(everything)


def _call(span: Span, sources: tuple[SourceRange, ...]) -> RecordedCall:
    seconds = None if span.duration_us is None else span.duration_us / 1e6
    summary = span.attributes.get("treadle.summary") or span.error or ""
    return RecordedCall(str(summary), seconds, sources or tuple(lines_read(span.output or "")))


def _retrieved(span: Span) -> Iterator[SourceRange]:
    """Yield the sources of a retrieval. Attributes of other programs may have any form."""
    sources = span.attributes.get("treadle.retrieval.sources")
    for source in sources if isinstance(sources, list) else ():
        match source:
            case {"file": str(file), "start_line": int(first), "end_line": int(last)}:
                yield SourceRange(file, first, last, str(source.get("name") or ""))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
