"""Maps a foreign span to ours: reads each of its vocabularies, the most specific first."""

from collections.abc import Callable, Iterable

from treadle.spans.otlp.span_collector import SpanBatch
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import TOOL_NAME_PREFIX, Span, SpanEvent, SpanKind, SpanStatus, given_labels
from treadle.spans.vocabularies import (
    claude_code,
    gen_ai,
    langfuse,
    logfire,
    mlflow,
    openinference,
    plain,
    traceloop,
    vercel,
)
from treadle.spans.vocabularies.columns import Reading, text
from treadle.spans.vocabularies.usage import cost_of, usage_of

_VOCABULARIES: tuple[tuple[frozenset[str], Callable[[Reading], None]], ...] = (
    (frozenset({"langfuse"}), langfuse.read),
    (
        frozenset(
            {"openinference", "llm", "tool", "tool_call", "retrieval", "reranker", "embedding",
             "input", "output", "tag"}
        ),
        openinference.read,
    ),
    (frozenset({"ai"}), vercel.read),
    (frozenset({"traceloop"}), traceloop.read),
    (frozenset({"mlflow"}), mlflow.read),
    (frozenset({"span", "input_tokens"}), claude_code.read),
    (frozenset({"gen_ai"}), gen_ai.read),
    (
        frozenset(
            {"logfire", "pydantic_ai", "all_messages_events", "events", "tool_arguments",
             "tool_response", "agent_name", "model_request_parameters"}
        ),
        logfire.read,
    ),
)  # fmt: skip
"""The vocabularies by the first parts of their names. What one has read, the next leaves alone."""


def to_span(raw: RawSpan) -> Span:
    """The span that `raw` is, with all columns derived from its attributes. Never raises."""
    reading = Reading(raw)
    prefixes = {name.partition(".")[0] for name in raw.attributes}
    if not gen_ai.EARLIEST.isdisjoint(raw.attributes):
        prefixes.add("gen_ai")
    for names, read in _VOCABULARIES:
        if not prefixes.isdisjoint(names):
            read(reading)
    if raw.events and reading.kind is None and any(_tells(event) for event in raw.events):
        gen_ai.read(reading)
    plain.read(reading, prefixes)
    kind = reading.kind or SpanKind.OTHER
    usage, inside = usage_of(reading)
    cost, cost_source = cost_of(reading, usage)
    status, error = _outcome(reading)
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_id=raw.parent_id,
        kind=kind,
        operation=reading.operation or "span",
        name=_name(reading),
        start_us=raw.start_ns // 1_000,
        end_us=None if raw.end_ns is None else raw.end_ns // 1_000,
        status=status,
        error=error,
        model=reading.model,
        provider=reading.provider,
        tokens=usage,
        input_counts_cache=inside,
        cost=cost,
        cost_source=cost_source,
        time_to_first_token_us=reading.first_us,
        labels=given_labels(reading.labels),
        thread_id=reading.thread_id,
        run_id=reading.run_id,
        start_ns=raw.start_ns,
        end_ns=raw.end_ns,
        attributes=raw.attributes,
        resource=raw.resource,
        events=tuple(raw.events),
        links=tuple(raw.links),
        input=reading.input,
        output=reading.output,
    )


def map_spans(batch: SpanBatch[RawSpan]) -> SpanBatch[Span]:
    """Map every span of an export."""
    return batch.with_spans(map(to_span, batch.spans))


def _tells(event: SpanEvent) -> bool:
    return event.name.startswith("gen_ai.")


def _name(reading: Reading) -> str:
    """The name of a tool's span contains the tool, so that statistics find all of its calls."""
    if reading.kind is SpanKind.TOOL and reading.tool:
        return TOOL_NAME_PREFIX + reading.tool
    return reading.name or reading.raw.name


def _outcome(reading: Reading) -> tuple[SpanStatus, str | None]:
    """The status, and what went wrong in words.

    A status that was set counts. Most exporters leave it unset, and report a failure by an
    exception or by `error.type`.
    """
    raw = reading.raw
    exception = _exception(raw.events)
    kind = text(raw.attributes.get("error.type"))
    failed = raw.status is RawStatus.ERROR or (
        raw.status is RawStatus.UNSET and bool(reading.failed or exception or kind)
    )
    error = None
    if failed:
        error = text(raw.status_message) or reading.error or exception or kind
    if raw.end_ns is None:
        return SpanStatus.UNFINISHED, error
    return (SpanStatus.ERROR, error) if failed else (SpanStatus.OK, None)


def _exception(events: Iterable[SpanEvent]) -> str | None:
    """The last exception that was recorded, in words."""
    words = None
    for event in events:
        if event.name == "exception":
            said = event.attributes
            parts = (text(said.get("exception.type")), text(said.get("exception.message")))
            words = ": ".join(part for part in parts if part) or "an exception"
    return words
