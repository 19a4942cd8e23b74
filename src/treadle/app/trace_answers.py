"""Recorded spans as JSON: by the server, the command line and tools alike.

`trace_shapes` says what each answer looks like.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from treadle.app import trace_shapes as shapes
    from treadle.events.types import Usage
    from treadle.traces.query import Page
    from treadle.traces.store.results import (
        Group,
        Hit,
        LabelCounts,
        ListedSpan,
        Percentiles,
        RunSummary,
        Skeleton,
        Summary,
        Sums,
        ThreadSummary,
    )

T = TypeVar("T")
Answer = TypeVar("Answer")


def page_answer(
    page: "Page[T]", told: Callable[[T], Answer], *, limit: int, offset: int = 0
) -> "shapes.Page[Answer]":
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


def span_answer(span: "ListedSpan") -> "shapes.ListedSpan":
    """A span without its whole content."""
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "run_id": span.run_id,
        "thread_id": span.thread_id,
        "kind": span.kind,
        "operation": span.operation,
        "name": span.name,
        "status": span.status,
        "error": span.error,
        "error_type": span.error_type,
        "model": span.model,
        "provider": span.provider,
        "start_us": span.start_us,
        "end_us": span.end_us,
        "duration_us": span.duration_us,
        "time_to_first_token_us": span.time_to_first_token_us,
        "tokens": tokens_answer(span.tokens),
        "cost": span.cost,
        "cost_source": span.cost_source,
        "counted": span.counted,
        "labels": list(span.labels),
        "input_preview": span.input_preview,
        "output_preview": span.output_preview,
        "revision": span.revision,
    }


def tokens_answer(usage: "Usage") -> "shapes.Tokens":
    """Tokens of a call or of several."""
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
        "cache_write": usage.cache_write,
    }


def run_answer(run: "RunSummary") -> "shapes.Run":
    """A run with its sums."""
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "trace_id": run.trace_id,
        "name": run.name,
        "question": run.question,
        "answer": run.answer,
        "status": run.status,
        "start_us": run.start_us,
        "last_us": run.last_us,
        "duration_us": run.duration_us,
        "models": list(run.models),
        "labels": list(run.labels),
        "sums": sums_answer(run.sums),
    }


def thread_answer(thread: "ThreadSummary") -> "shapes.Thread":
    """A thread with its sums."""
    return {
        "thread_id": thread.thread_id,
        "title": thread.title,
        "runs": thread.runs,
        "start_us": thread.start_us,
        "last_us": thread.last_us,
        "models": list(thread.models),
        "labels": list(thread.labels),
        "sums": sums_answer(thread.sums),
    }


def group_answer(group: "Group") -> "shapes.Group":
    """A group with its sums. `value` of a group by time is its beginning in Unix microseconds."""
    return {"value": group.value, **sums_answer(group.sums)}


def sums_answer(sums: "Sums") -> "shapes.Sums":
    """Counts, tokens and cost of several spans."""
    totals = sums.totals
    return {
        "spans": totals.spans,
        "model_calls": totals.model_calls,
        "tool_calls": totals.tool_calls,
        "failed": totals.failed,
        "tokens": tokens_answer(totals.tokens),
        "cost": totals.cost,
        "unmetered": totals.unmetered,
        "unpriced": totals.unpriced,
        "errors": sums.errors,
        "unfinished": sums.unfinished,
        "busy_us": sums.busy_us,
    }


def labels_answer(labels: "LabelCounts") -> "shapes.LabelCounts":
    """Labels with the number of spans of each; `total` is the number of labels."""
    return {
        "data": [{"name": label.name, "count": label.count} for label in labels.data],
        "total": labels.total,
    }


def hit_answer(hit: "Hit") -> "shapes.Hit":
    """A span that was found. `ranges` are places in `excerpt`, counted in characters."""
    return {
        **span_answer(hit.span),
        "field": hit.field,
        "excerpt": hit.excerpt,
        "ranges": list(hit.ranges),
    }


def skeleton_answer(skeleton: "Skeleton") -> "shapes.Skeleton":
    """A trace column by column. The columns are not copied: of a large trace they are large."""
    columns = skeleton.columns
    return {
        "trace_id": skeleton.trace_id,
        "run_id": skeleton.run_id,
        "thread_id": skeleton.thread_id,
        "start_us": skeleton.start_us,
        "last_us": skeleton.last_us,
        "root": skeleton.root,
        "revision": skeleton.revision,
        "texts": list(skeleton.texts),
        "columns": {
            "span_ids": columns.span_ids,
            "parents": columns.parents,
            "depths": columns.depths,
            "names": columns.names,
            "kinds": columns.kinds,
            "operations": columns.operations,
            "models": columns.models,
            "statuses": columns.statuses,
            "starts": columns.starts,
            "durations": columns.durations,
            "first_tokens": columns.first_tokens,
            "input_tokens": columns.input_tokens,
            "output_tokens": columns.output_tokens,
            "costs": columns.costs,
            "flags": columns.flags,
        },
    }


def summary_answer(summary: "Summary") -> "shapes.Summary":
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
            "busy_ms": summary.sums.busy_us / 1_000,
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


def _percentiles_answer(percentiles: "Percentiles") -> "shapes.Percentiles":
    return {
        "n": percentiles.n,
        "p50": _milliseconds(percentiles.p50_us),
        "p95": _milliseconds(percentiles.p95_us),
        "p99": _milliseconds(percentiles.p99_us),
        "max": _milliseconds(percentiles.max_us),
    }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000
