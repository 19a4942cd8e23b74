"""What lists of spans, runs, threads, groups and labels hold: rows without the whole content."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.events.types import Usage
from treadle.spans.span import CostSource, SpanKind, SpanStatus, Totals, is_shown
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import Field
from treadle.traces.store.packing import unpacked
from treadle.traces.store.schema import COUNTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSpan:
    """A span as lists show it. `key` orders spans by their start; previews are of the content.

    `counted` is false for a model call around another one, whose tokens and cost count there.
    """

    key: int
    trace_id: str
    span_id: str
    parent_id: str | None
    run_id: str
    thread_id: str
    kind: SpanKind
    operation: str
    name: str
    status: SpanStatus
    error: str | None
    error_type: str | None
    model: str | None
    provider: str | None
    start_us: int
    end_us: int | None
    duration_us: int | None
    time_to_first_token_us: int | None
    tokens: Usage
    cost: float | None
    cost_source: CostSource | None
    counted: bool
    labels: tuple[str, ...]
    input_preview: str | None
    output_preview: str | None
    revision: int


LISTED_COLUMNS = """
    s.id, t.trace_id, s.span_id, s.parent_id, t.run_id, r.thread_id, s.kind, s.operation, s.name,
    s.status, s.error, s.error_type, s.model, s.provider, s.start_us, s.end_us, s.duration_us,
    s.ttft_us, s.input_tokens, s.output_tokens, s.cached_tokens, s.reasoning_tokens,
    s.cache_write_tokens, s.cost_nano, s.cost_source, s.counted, s.labels, s.input_preview,
    s.output_preview, s.revision"""
"""Of spans s, their traces t and their runs r, in the order that `listed_span` reads."""


def listed_span(row: Sequence[Any]) -> ListedSpan:
    """A row of `LISTED_COLUMNS`."""
    (
        key, trace_id, span_id, parent_id, run_id, thread_id, kind, operation, name, status, error,
        error_type, model, provider, start_us, end_us, duration_us, ttft_us, read, written, cached,
        reasoning, cache_write, nano, cost_source, counted, labels, preview_in, preview_out,
        revision,
    ) = map(plain, row)  # fmt: skip
    return ListedSpan(
        key=key,
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        run_id=run_id,
        thread_id=thread_id,
        kind=SpanKind(kind),
        operation=operation,
        name=name,
        status=SpanStatus(status),
        error=error,
        error_type=error_type,
        model=model,
        provider=provider,
        start_us=start_us,
        end_us=end_us,
        duration_us=duration_us,
        time_to_first_token_us=ttft_us,
        tokens=Usage(read, written, cached, reasoning, cache_write),
        cost=dollars(nano),
        cost_source=CostSource(cost_source) if cost_source else None,
        counted=bool(counted),
        labels=tuple(filter(is_shown, json.loads(labels))) if labels else (),
        input_preview=preview_in,
        output_preview=preview_out,
        revision=revision,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the spans of a run, a thread or a group add up to.

    Tokens and cost are sums of what is known, None where nothing is. `busy_us` is the sum of all
    durations, whether they overlap or not; `errors` counts failed spans of any kind.
    """

    totals: Totals
    errors: int
    unfinished: int
    busy_us: int


SUMS = ", ".join(COUNTERS)


def sums(counters: Sequence[int | None]) -> Sums:
    """The sums of a row that holds `COUNTERS` in their order; of no spans all are null."""
    of = {name: count or 0 for name, count in zip(COUNTERS, counters, strict=True)}
    known = of["metered"] > 0
    usage = Usage(
        of["input_tokens"] if known or of["input_tokens"] else None,
        of["output_tokens"] if known or of["output_tokens"] else None,
        # How many calls told these is not kept, so a sum of nothing says nothing.
        of["cached_tokens"] or None,
        of["reasoning_tokens"] or None,
        of["cache_write_tokens"] or None,
    )
    return Sums(
        totals=Totals(
            spans=of["spans"],
            model_calls=of["model_calls"],
            tool_calls=of["tool_calls"],
            failed=of["failed"],
            tokens=usage,
            cost=dollars(of["cost_nano"]) if of["priced"] else None,
            unmetered=of["unmetered"],
            unpriced=of["unpriced"],
        ),
        errors=of["errors"],
        unfinished=of["unfinished"],
        busy_us=of["busy_us"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run as lists show it. `question` is the beginning of the input of its root.

    `duration_us` is the root's, None while that is unfinished.
    """

    key: int
    run_id: str
    thread_id: str
    trace_id: str
    """The trace of its root."""
    name: str
    question: str | None
    answer: str | None
    status: SpanStatus
    start_us: int
    last_us: int
    duration_us: int | None
    models: tuple[str, ...]
    labels: tuple[str, ...]
    sums: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """A thread as lists show it. `title` is the question of its first run."""

    key: int
    thread_id: str
    title: str | None
    runs: int
    start_us: int
    last_us: int
    models: tuple[str, ...]
    labels: tuple[str, ...]
    sums: Sums


@dataclass(frozen=True, slots=True)
class Group:
    """The sums of one group.

    `value` is its model, thread, …; of time, the bucket's beginning in Unix microseconds.
    """

    value: str | int
    sums: Sums


@dataclass(frozen=True, slots=True)
class LabelCount:
    """A label, and how many spans bear it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The labels that most spans bear, and how many labels there are in all."""

    data: tuple[LabelCount, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, and how many spans, runs or threads have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Values:
    """Values, those that most have first. `more` says that there are others."""

    data: tuple[ValueCount, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Facets:
    """The values of each facet; `complete` says that nothing was left out in counting."""

    values: Mapping[Field, Values]
    complete: bool


def dollars(nano: int | None) -> float | None:
    """US dollars of a number of billionths."""
    return None if nano is None else nano / NANO


def plain(value: Any) -> Any:
    """A value of a row; text that SQLite holds as bytes is put back."""
    return unpacked(value) if isinstance(value, bytes) else value
