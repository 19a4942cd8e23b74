"""Rows for spans, runs and sums. Unknown values are left out, and long texts are cut."""

from collections.abc import Mapping
from itertools import islice

from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.trace_tool import AnswerPart, milliseconds, moment, named, short
from treadle.traces.store.results import ListedSpan, RunSummary, Sums

_MAX_LABELS = 8
"""The maximum number of labels in a row."""

_MAX_METADATA = 8
"""The maximum number of values of the metadata in a row."""


class SpanRow(AnswerPart):
    """A span with the beginnings of its texts.

    `run_id` is left out if it equals `trace_id`. `thread_id` is left out if it equals `run_id`.
    """

    span_id: str
    trace_id: str
    parent_id: str | None = if_any()
    run_id: str | None = if_any()
    thread_id: str | None = if_any()
    kind: str
    operation_name: str
    name: str
    status: str
    error: str | None = if_any()
    start: str
    duration_ms: float | None
    ttft_ms: float | None = if_any()
    model: str | None = if_any()
    input_tokens: int | None = if_any()
    output_tokens: int | None = if_any()
    cached_tokens: int | None = if_any()
    cost: float | None = if_any()
    labels: tuple[str, ...] = if_any()
    user: str | None = if_any()
    release: str | None = if_any()
    metadata: dict[str, str] | None = if_any()
    input: str | None = if_any()
    output: str | None = if_any()


class RunRow(AnswerPart):
    """A run with the totals of its spans.

    `cost` is in US dollars. `thread_id` and `trace_id` are left out if they equal `run_id`.
    """

    run_id: str
    thread_id: str | None = if_any()
    trace_id: str | None = if_any()
    name: str
    status: str
    start: str
    duration_ms: float | None
    spans: int
    model_calls: int
    tool_calls: int
    errors: int
    faults: int
    input_tokens: int | None = if_any()
    output_tokens: int | None = if_any()
    cost: float | None = if_any()
    models: tuple[str, ...] = if_any()
    labels: tuple[str, ...] = if_any()
    user: str | None = if_any()
    release: str | None = if_any()
    metadata: dict[str, str] | None = if_any()
    question: str | None = if_any()
    answer: str | None = if_any()
    error: str | None = if_any()


class SumsRow(AnswerPart):
    """The totals of a group of spans.

    `errors` counts all failed spans, and `faults` only those without a failed child. `busy_ms` is
    the sum of the durations of all spans.
    """

    spans: int
    model_calls: int
    tool_calls: int
    errors: int
    faults: int
    unfinished: int | None = if_any()
    input_tokens: int | None = if_any()
    output_tokens: int | None = if_any()
    cached_tokens: int | None = if_any()
    cost: float | None = if_any()
    unpriced: int | None = if_any()
    busy_ms: float


def _metadata(metadata: Mapping[str, str]) -> dict[str, str] | None:
    """Return the first values of the metadata with cut texts, or None if there are none."""
    first = islice(metadata.items(), _MAX_METADATA)
    return {named(key): named(value) for key, value in first} or None


def span_row(span: ListedSpan, characters: int, *, within_run: bool = False) -> SpanRow:
    """Convert a span to a row with at most `characters` of each text.

    With `within_run`, the row has no ids of the run and the thread.
    """
    return SpanRow(
        span_id=span.span_id,
        trace_id=span.trace_id,
        parent_id=span.parent_id,
        run_id=None if within_run or span.run_id == span.trace_id else span.run_id,
        thread_id=None if within_run or span.thread_id == span.run_id else span.thread_id,
        kind=span.kind.value,
        operation_name=named(span.operation),
        name=named(span.name),
        status=span.status.value,
        error=short(span.error, max(characters, 40)),
        start=str(moment(span.start_us)),
        duration_ms=milliseconds(span.duration_us),
        ttft_ms=milliseconds(span.time_to_first_token_us),
        model=named(span.model) if span.model else None,
        input_tokens=span.tokens.input,
        output_tokens=span.tokens.output,
        cached_tokens=span.tokens.cached,
        cost=span.cost,
        labels=span.labels[:_MAX_LABELS],
        user=named(span.user) if span.user else None,
        release=named(span.release) if span.release else None,
        metadata=_metadata(span.metadata),
        input=short(span.input_preview, characters),
        output=short(span.output_preview, characters),
    )


def run_row(run: RunSummary, characters: int) -> RunRow:
    """Convert a run to a row with at most `characters` of each text."""
    totals = run.sums.totals
    return RunRow(
        run_id=run.run_id,
        thread_id=run.thread_id if run.thread_id != run.run_id else None,
        trace_id=run.trace_id if run.trace_id != run.run_id else None,
        name=named(run.name),
        status=run.status.value,
        start=str(moment(run.start_us)),
        duration_ms=milliseconds(run.duration_us),
        spans=totals.spans,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        errors=run.sums.errors,
        faults=run.sums.faults,
        input_tokens=totals.tokens.input,
        output_tokens=totals.tokens.output,
        cost=totals.cost,
        models=tuple(map(named, run.models)),
        labels=run.labels,
        user=named(run.user) if run.user else None,
        release=named(run.release) if run.release else None,
        metadata=_metadata(run.metadata),
        question=short(run.question, characters),
        answer=short(run.answer, characters),
        error=short(run.error.message if run.error else None, max(characters, 40)),
    )


def sums_row(sums: Sums) -> SumsRow:
    """Convert sums to a row."""
    totals = sums.totals
    return SumsRow(
        spans=totals.spans,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        errors=sums.errors,
        faults=sums.faults,
        unfinished=sums.unfinished or None,
        input_tokens=totals.tokens.input,
        output_tokens=totals.tokens.output,
        cached_tokens=totals.tokens.cached,
        cost=totals.cost,
        unpriced=totals.unpriced or None,
        busy_ms=sums.busy_us / 1_000,
    )
