"""A span as a row of `spans`, and what a row adds to the sums."""

import json
import math
from typing import NamedTuple

from treadle.spans.span import REPLIED, WAITED, Span, SpanKind, SpanStatus
from treadle.traces.query.amounts import NANO
from treadle.traces.store.packing import packed
from treadle.traces.store.schema import COUNTERS

PREVIEW_LENGTH = 400

LONGEST_US = 10**12
"""What one span adds to a sum of durations at most, 11 days: a start of 0 must not overflow it."""
MOST_TOKENS = 10**12
MOST_NANO = 10**14

Text = str | bytes
Counters = list[int]
"""In the order of `schema.COUNTERS`."""


class Row(NamedTuple):
    """A row of `spans`, column by column; `id`, `trace` and `revision` are 0 until it is kept."""

    id: int
    trace: int
    span_id: Text
    parent_id: Text | None
    revision: int
    kind: str
    operation: Text
    name: Text
    status: str
    error: Text | None
    error_type: Text | None
    model: Text | None
    provider: Text | None
    own_run: Text | None
    own_thread: Text | None
    start_us: int
    end_us: int | None
    duration_us: int | None
    work_us: int | None
    ttft_us: int | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    input_counts_cache: int | None
    cost_nano: int | None
    cost_source: str | None
    counted: int
    labels: str | None
    input_preview: str | None
    output_preview: str | None


def span_row(span: Span, input_text: str, output_text: str) -> Row:
    """The row of `span`; of both texts the beginning is shown in lists."""
    tokens, duration = span.tokens, span.duration_us
    failure = span.attributes.get("error.type")
    return Row(
        id=0,
        trace=0,
        span_id=_text(span.span_id),
        parent_id=packed(span.parent_id),
        revision=0,
        kind=span.kind.value,
        operation=_text(span.operation),
        name=_text(span.name),
        status=span.status.value,
        error=packed(span.error),
        error_type=None if failure is None else packed(str(failure)),
        model=packed(span.model),
        provider=packed(span.provider),
        own_run=packed(span.run_id),
        own_thread=packed(span.thread_id),
        start_us=span.start_us,
        end_us=span.end_us,
        duration_us=duration,
        work_us=_work_us(span, duration),
        ttft_us=span.time_to_first_token_us,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        cache_write_tokens=tokens.cache_write,
        reasoning_tokens=tokens.reasoning,
        input_counts_cache=span.input_counts_cache,
        cost_nano=_nano(span.cost),
        cost_source=span.cost_source.value if span.cost_source else None,
        counted=int(span.kind is SpanKind.MODEL),
        labels=json.dumps(sorted(set(span.labels))) if span.labels else None,
        input_preview=input_text[:PREVIEW_LENGTH] if span.input is not None else None,
        output_preview=output_text[:PREVIEW_LENGTH] if span.output is not None else None,
    )


def counters(row: Row) -> Counters:
    """What the span adds to every sum that it is part of."""
    model, tool, failed = row.counted, row.kind == SpanKind.TOOL, row.status == SpanStatus.ERROR
    replied = model and row.status in REPLIED
    metered = model and row.input_tokens is not None and row.output_tokens is not None
    tokens = (
        row.input_tokens,
        row.output_tokens,
        row.cached_tokens,
        row.cache_write_tokens,
        row.reasoning_tokens,
    )
    return [
        1,
        model,
        int(tool),
        int(failed and (tool or model == 1)),
        int(failed),
        int(row.status == SpanStatus.UNFINISHED),
        *(_within(count, MOST_TOKENS) if model else 0 for count in tokens),
        _within(row.cost_nano, MOST_NANO) if model else 0,
        int(metered),
        int(replied and not metered),
        int(model and row.cost_nano is not None),
        int(replied and row.cost_nano is None),
        int(row.duration_us is not None),
        _within(row.duration_us, LONGEST_US),
    ]


def nothing() -> Counters:
    """Counters that are all 0."""
    return [0] * len(COUNTERS)


def added(one: Counters, other: Counters, sign: int = 1) -> Counters:
    """Their sum; with `sign` -1 their difference."""
    return [left + sign * right for left, right in zip(one, other, strict=True)]


def last_us(row: Row) -> int:
    """The last moment of the span that is known."""
    return row.start_us if row.end_us is None else max(row.start_us, row.end_us)


def _text(text: str) -> Text:
    """What is never None."""
    return packed(text) or ""


def _work_us(span: Span, duration: int | None) -> int | None:
    """How long a call worked: its duration without the waits for a person."""
    if duration is None:
        return None
    waited = span.attributes.get(WAITED)
    return max(0, duration - (waited if isinstance(waited, int) else 0))


def _nano(cost: float | None) -> int | None:
    return None if cost is None or not math.isfinite(cost) else round(cost * NANO)


def _within(value: int | None, most: int) -> int:
    return 0 if value is None else max(-most, min(value, most))
