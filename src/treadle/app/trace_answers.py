"""What is told of recorded spans as JSON: by the server, the command line and tools alike.

Moments and durations are microseconds where a name ends in `_us`, else milliseconds; costs are US
dollars. What is unknown is null, never 0.
"""

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from treadle.traces.query import Page
    from treadle.traces.store.reading.listed import (
        Group,
        LabelCounts,
        ListedSpan,
        RunSummary,
        Sums,
        ThreadSummary,
    )
    from treadle.traces.store.reading.searching import Hit
    from treadle.traces.store.reading.skeletons import Skeleton
    from treadle.traces.store.reading.summaries import Percentiles, Summary

T = TypeVar("T")
Answer = dict[str, Any]


def page_answer(
    page: "Page[T]", told: Callable[[T], Answer], *, limit: int, offset: int = 0
) -> Answer:
    """A page of a list. `total` is null where counting would take long."""
    return {
        "data": [told(each) for each in page.data],
        "pagination": {
            "offset": offset,
            "limit": limit,
            "total": page.total,
            "next_cursor": page.next_cursor,
        },
    }


def span_answer(span: "ListedSpan") -> Answer:
    """A span without its whole content."""
    answer = asdict(span)
    del answer["key"]
    return answer


def run_answer(run: "RunSummary") -> Answer:
    """A run with its sums."""
    return _summed(run)


def thread_answer(thread: "ThreadSummary") -> Answer:
    """A thread with its sums."""
    return _summed(thread)


def group_answer(group: "Group") -> Answer:
    """A group with its sums. `value` of a group by time is its beginning in Unix microseconds."""
    return {"value": group.value, **sums_answer(group.sums)}


def sums_answer(sums: "Sums") -> Answer:
    """Counts, tokens and cost of several spans."""
    return {
        **asdict(sums.totals),
        "errors": sums.errors,
        "unfinished": sums.unfinished,
        "busy_us": sums.busy_us,
    }


def labels_answer(labels: "LabelCounts") -> Answer:
    """Labels with how many spans bear each; `total` is how many labels there are."""
    return {
        "data": [{"name": label.name, "count": label.count} for label in labels.data],
        "total": labels.total,
    }


def hit_answer(hit: "Hit") -> Answer:
    """A span that was found. `ranges` are places in `excerpt`, counted in characters."""
    return {
        **span_answer(hit.span),
        "field": hit.field,
        "excerpt": hit.excerpt,
        "ranges": [list(each) for each in hit.ranges],
    }


def skeleton_answer(skeleton: "Skeleton") -> Answer:
    """A trace column by column; see `traces.store.reading.skeletons` for what they hold."""
    answer = {item.name: getattr(skeleton, item.name) for item in fields(skeleton)}
    columns = skeleton.columns  # copied by `asdict`, a large one would take half a second
    return {
        **answer,
        "columns": {item.name: getattr(columns, item.name) for item in fields(columns)},
    }


def summary_answer(summary: "Summary") -> Answer:
    """A set of spans in all, with the names of the tool `fetch_spans_summary`."""
    totals = summary.sums.totals
    return {
        "snapshot_id": summary.snapshot,
        "summary": {
            "total_spans": totals.spans,
            "by_operation": dict(summary.by_operation),
            "by_status": dict(summary.by_status),
            "start_us": summary.start_us,
            "last_us": summary.last_us,
            "total_duration_ms": _milliseconds(summary.wall_us),
            "busy_ms": _milliseconds(summary.sums.busy_us),
            "total_cost": totals.cost,
            "unpriced": totals.unpriced,
            "total_input_tokens": totals.tokens.input,
            "total_output_tokens": totals.tokens.output,
            "cached_tokens": totals.tokens.cached,
            "cache_write_tokens": totals.tokens.cache_write,
            "reasoning_tokens": totals.tokens.reasoning,
            "unmetered": totals.unmetered,
            "models_used": [model.name for model in summary.models],
            "labels_found": [label.name for label in summary.labels],
        },
        "latency": _percentiles_answer(summary.latency),
        "ttft": _percentiles_answer(summary.time_to_first_token),
        "model_breakdown": [
            {
                "model": model.name,
                **sums_answer(model.sums),
                "latency": _percentiles_answer(model.latency),
            }
            for model in summary.models
        ],
        "tool_usage": [
            {
                "name": tool.name,
                "calls": tool.calls,
                "failed": tool.failed,
                "latency": _percentiles_answer(tool.latency),
            }
            for tool in summary.tools
        ],
        "error_spans": [span_answer(span) for span in summary.errors],
        "slowest_spans": [span_answer(span) for span in summary.slowest],
        "expensive_spans": [span_answer(span) for span in summary.most_expensive],
    }


def _summed(row: "RunSummary | ThreadSummary") -> Answer:
    answer = asdict(row)
    del answer["key"]
    return {**answer, "sums": sums_answer(row.sums)}


def _percentiles_answer(percentiles: "Percentiles") -> Answer:
    return {
        "n": percentiles.n,
        "p50": _milliseconds(percentiles.p50_us),
        "p95": _milliseconds(percentiles.p95_us),
        "p99": _milliseconds(percentiles.p99_us),
        "max": _milliseconds(percentiles.max_us),
    }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000
