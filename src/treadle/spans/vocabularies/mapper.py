"""Maps spans of other programs. Vocabularies derive the columns of a span from its attributes."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import (
    EXCEPTION_EVENT,
    TOOL_NAME_PREFIX,
    Span,
    SpanEvent,
    SpanKind,
    SpanStatus,
    given_labels,
)
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies import (
    claude_code,
    common,
    gen_ai,
    langfuse,
    langsmith,
    litellm,
    logfire,
    metadata,
    mlflow,
    openai_agents,
    openinference,
    pydantic_ai,
    traceloop,
    vercel,
)
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.tool_values import plain_arguments, plain_result
from treadle.spans.vocabularies.usage import price_call, read_usage
from treadle.spans.vocabularies.values import as_text

_VOCABULARIES = (
    langfuse.VOCABULARY,
    openinference.VOCABULARY,
    vercel.VOCABULARY,
    traceloop.VOCABULARY,
    mlflow.VOCABULARY,
    claude_code.VOCABULARY,
    openai_agents.VOCABULARY,
    litellm.VOCABULARY,
    langsmith.VOCABULARY,
    gen_ai.VOCABULARY,
    pydantic_ai.VOCABULARY,
    logfire.VOCABULARY,
)
"""All vocabularies, the most specific first. Each sets only columns that are still empty."""


_NAMES: frozenset[str] = frozenset().union(*(each.names for each in _VOCABULARIES))

_TRACE = "Traceback (most recent call last)"
_CANCELLATIONS = frozenset({"CancelledError", "CancellationException", "TaskCanceledException"})
"""The names of the exceptions that a cancelled task raises, in Python and other languages."""


_NO_REPLY = frozenset(
    {'[{"role": "assistant", "content": null}]', '[{"role": "assistant", "content": ""}]'}
)
"""Empty replies, which some clients report for a failed call."""


def map_spans(batch: SpanBatch[RawSpan]) -> SpanBatch[Span]:
    """Map and price every span of an export."""
    return batch.with_spans(map(to_span, batch.spans))


def to_span(raw: RawSpan) -> Span:
    """Return the span of `raw`, with all columns that can be derived from its attributes.

    The function never raises an exception.
    """
    columns = _map_attributes(raw)
    usage, inside = read_usage(columns)
    cost, cost_source = price_call(columns, usage)
    status, error = _outcome(columns)
    failed = status in (SpanStatus.ERROR, SpanStatus.CANCELLED)
    start_ns = raw.start_ns if columns.start_ns is None else columns.start_ns
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_id=raw.parent_id,
        kind=columns.kind or SpanKind.OTHER,
        operation=columns.operation or "span",
        name=_name(columns),
        start_us=start_ns // 1_000,
        end_us=None if raw.end_ns is None else raw.end_ns // 1_000,
        status=status,
        error=error,
        model=columns.model,
        provider=columns.provider,
        tokens=usage,
        input_counts_cache=inside,
        cost=cost,
        cost_source=cost_source,
        time_to_first_token_us=columns.time_to_first_token_us,
        labels=given_labels(columns.labels),
        thread_id=columns.thread_id,
        run_id=columns.run_id,
        user=columns.user,
        release=columns.release,
        metadata=columns.metadata,
        start_ns=start_ns,
        end_ns=raw.end_ns,
        attributes=raw.attributes,
        resource=raw.resource,
        events=tuple(raw.events),
        links=tuple(raw.links),
        input=columns.input,
        output=None if failed and columns.output in _NO_REPLY else columns.output,
    )


def with_metadata(span: Span) -> Span:
    """Return a stored span with the user, the release and the metadata that its attributes state.

    A span that already has one of the three is returned unchanged.
    """
    if span.user or span.release or span.metadata:
        return span
    mapped = to_span(
        RawSpan(
            name=span.name,
            attributes=dict(span.attributes),
            resource=span.resource,
            events=list(span.events),
        )
    )
    return replace(span, user=mapped.user, release=mapped.release, metadata=mapped.metadata)


def _map_attributes(raw: RawSpan) -> SpanColumns:
    """Apply each vocabulary that names an attribute of the span. Returns the columns."""
    columns = SpanColumns(raw)
    prefixes = frozenset([name.partition(".")[0] for name in raw.attributes])
    names = _NAMES.intersection(raw.attributes)
    for vocabulary in _vocabularies(prefixes, names):
        vocabulary.read(columns)
    if columns.kind is None and any(event.name.startswith("gen_ai.") for event in raw.events):
        gen_ai.VOCABULARY.read(columns)  # some versions send messages only as events
    common.read(columns, prefixes)
    metadata.read(columns, prefixes)
    if columns.kind is SpanKind.TOOL:
        if columns.input is not None:
            columns.input = plain_arguments(columns.input)
        if columns.output is not None:
            columns.output = plain_result(columns.output)
    return columns


@lru_cache(maxsize=1_024)
def _vocabularies(prefixes: frozenset[str], names: frozenset[str]) -> tuple[Vocabulary, ...]:
    """Return the vocabularies that read a span.

    `prefixes` are the first parts of the names of its attributes. `names` are those of its
    attributes that vocabularies recognise by their whole name.
    """
    return tuple(
        each
        for each in _VOCABULARIES
        if not (each.prefixes.isdisjoint(prefixes) and each.names.isdisjoint(names))
    )


def _name(columns: SpanColumns) -> str:
    """Return the name of the span.

    The name of a tool call contains the tool, since statistics are grouped by name.
    """
    if columns.kind is SpanKind.TOOL and columns.tool:
        return TOOL_NAME_PREFIX + columns.tool
    return columns.name or columns.raw.name


def _outcome(columns: SpanColumns) -> tuple[SpanStatus, str | None]:
    """Return the status, and the text of the error.

    A span failed if the exporter or a vocabulary reports an error. Most exporters leave the status
    unset. In this case, an exception or the attribute `error.type` also shows a failure.
    """
    raw = columns.raw
    exception = _exception(raw.events)
    kind = as_text(raw.attributes.get("error.type"))
    failed = (
        raw.status is RawStatus.ERROR
        or columns.failed
        or (raw.status is RawStatus.UNSET and bool(exception or kind))
    )
    error = None
    if failed:
        error = as_text(raw.status_message) or columns.error or exception or kind
        # Some exporters add the traceback to the message. It hides the reason, so it is removed.
        error = error and (error.partition(_TRACE)[0].rstrip() or error)
    if raw.end_ns is None:
        return SpanStatus.UNFINISHED, error
    if not failed:
        return SpanStatus.OK, None
    return SpanStatus.CANCELLED if _is_cancelled(raw.events) else SpanStatus.ERROR, error


def _is_cancelled(events: Iterable[SpanEvent]) -> bool:
    """Return whether the last exception states that the operation was cancelled."""
    kinds = [event.attributes.get("exception.type") for event in events]
    raised = [kind for kind in kinds if isinstance(kind, str)]
    return bool(raised) and raised[-1].rpartition(".")[2] in _CANCELLATIONS


def _exception(events: Iterable[SpanEvent]) -> str | None:
    """Return the type and the message of the last exception, or None."""
    text = None
    for event in events:
        if event.name == EXCEPTION_EVENT:
            names = ("exception.type", "exception.message")
            parts = [as_text(event.attributes.get(name)) for name in names]
            text = ": ".join(filter(None, parts)) or "an exception"
    return text
