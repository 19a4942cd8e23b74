"""The figures of a summary as rows."""

from collections.abc import Mapping

from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.trace_tool import AnswerPart, milliseconds, moment, named, short
from treadle.traces.store.results import ListedSpan, ModelUsage, Percentiles, Summary, ToolUsage

_TEXT_CHARACTERS = 120


class Latency(AnswerPart):
    """Percentiles of `n` values in milliseconds, each a recorded value; null without values."""

    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class Figures(AnswerPart):
    """Counts and totals.

    `total_duration_ms` is from the first start to the last end, `busy_ms` the sum of durations.
    Tokens and cost are totals of known values: `unmetered` and `unpriced` count the calls with
    unknown tokens and unknown cost.
    """

    total_spans: int
    by_operation: Mapping[str, int]
    by_status: Mapping[str, int]
    first_start: str | None
    last_end: str | None
    total_duration_ms: float | None
    busy_ms: float
    model_calls: int
    tool_calls: int
    total_cost: float | None
    total_input_tokens: int | None
    total_output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None = if_any()
    unmetered: int | None = if_any()
    unpriced: int | None = if_any()
    models_used: list[str]
    labels_found: list[str]


class ModelRow(AnswerPart):
    """The calls of one model."""

    model: str
    calls: int
    errors: int
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None = if_any()
    cost: float | None
    p50_ms: float | None
    p95_ms: float | None


class ToolRow(AnswerPart):
    """The calls of one tool, without waits for a person."""

    name: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


class BriefSpan(AnswerPart):
    """A slow or expensive span."""

    span_id: str
    name: str
    status: str
    duration_ms: float | None
    input_tokens: int | None = if_any()
    output_tokens: int | None = if_any()
    cost: float | None = if_any()


class FailedSpan(AnswerPart):
    """A span that ended with an error."""

    span_id: str
    name: str
    error: str | None
    link: str


class Change(AnswerPart):
    """A figure of the preceding period, and the change; null if that is unknown or 0."""

    before: float | None
    change_percent: float | None


def changes(now: Summary, before: Summary) -> dict[str, Change]:
    """The main figures against those of the preceding period."""
    was = _main_figures(before)
    return {
        name: Change(before=was[name], change_percent=percent(value, was[name]))
        for name, value in _main_figures(now).items()
    }


def _main_figures(summary: Summary) -> dict[str, float | None]:
    totals = summary.sums.totals
    return {
        "total_spans": totals.spans,
        "errors": summary.sums.errors,
        "total_cost": totals.cost,
        "total_input_tokens": totals.tokens.input,
        "total_output_tokens": totals.tokens.output,
        "latency_p50": milliseconds(summary.latency.p50_us),
        "latency_p95": milliseconds(summary.latency.p95_us),
    }


def ratio(value: float | None, base: float | None) -> float | None:
    """The ratio to six digits; None if the base is unknown or 0."""
    return None if value is None or not base else round(value / base, 6)


def percent(value: float | None, before: float | None) -> float | None:
    """The change in percent to one digit; None if `before` is unknown or 0."""
    return None if value is None or not before else round(100 * (value - before) / before, 1)


def latency(percentiles: Percentiles) -> Latency:
    """Percentiles in milliseconds."""
    return Latency(
        n=percentiles.n,
        p50=milliseconds(percentiles.p50_us),
        p95=milliseconds(percentiles.p95_us),
        p99=milliseconds(percentiles.p99_us),
        max=milliseconds(percentiles.max_us),
    )


def figures(summary: Summary, counts: Mapping[str, int]) -> Figures:
    """The figures, with so many operations and labels."""
    totals = summary.sums.totals
    return Figures(
        total_spans=totals.spans,
        by_operation={
            named(name): count for name, count in summary.by_operation[: counts["by_operation"]]
        },
        by_status=dict(summary.by_status),
        first_start=moment(summary.start_us),
        last_end=moment(summary.last_us),
        total_duration_ms=milliseconds(summary.wall_us),
        busy_ms=summary.sums.busy_us / 1_000,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        total_cost=totals.cost,
        total_input_tokens=totals.tokens.input,
        total_output_tokens=totals.tokens.output,
        cached_tokens=totals.tokens.cached,
        reasoning_tokens=totals.tokens.reasoning,
        unmetered=totals.unmetered or None,
        unpriced=totals.unpriced or None,
        models_used=[named(model.name) for model in summary.models[: counts["model_breakdown"]]],
        labels_found=[label.name for label in summary.labels[: counts["labels_found"]]],
    )


def model_row(usage: ModelUsage) -> ModelRow:
    """The calls of a model. `errors` is the number of failed spans."""
    totals = usage.sums.totals
    return ModelRow(
        model=named(usage.name),
        calls=totals.model_calls,
        errors=usage.sums.errors,
        input_tokens=totals.tokens.input,
        output_tokens=totals.tokens.output,
        cached_tokens=totals.tokens.cached,
        cost=totals.cost,
        p50_ms=milliseconds(usage.latency.p50_us),
        p95_ms=milliseconds(usage.latency.p95_us),
    )


def tool_row(usage: ToolUsage) -> ToolRow:
    """The calls of a tool."""
    return ToolRow(
        name=named(usage.name),
        calls=usage.calls,
        failed=usage.failed,
        p50_ms=milliseconds(usage.latency.p50_us),
        p95_ms=milliseconds(usage.latency.p95_us),
    )


def slow_span(span: ListedSpan) -> BriefSpan:
    """A row of a slow span."""
    return BriefSpan(
        span_id=span.span_id,
        name=named(span.name),
        status=span.status.value,
        duration_ms=milliseconds(span.duration_us),
    )


def expensive_span(span: ListedSpan) -> BriefSpan:
    """A row of an expensive span."""
    row = slow_span(span)
    used = {"input_tokens": span.tokens.input, "output_tokens": span.tokens.output}
    return row.model_copy(update={**used, "cost": span.cost})


def failed_span(span: ListedSpan, link: str) -> FailedSpan:
    """A row of a failed span."""
    return FailedSpan(
        span_id=span.span_id,
        name=named(span.name),
        error=short(span.error, _TEXT_CHARACTERS),
        link=link,
    )
