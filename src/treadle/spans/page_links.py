"""Addresses of recorded things on the page; the same in tools, reports and events."""

from urllib.parse import quote


def span_link(trace_id: str, span_id: str) -> str:
    """Where the page shows a span within its trace."""
    return f"/traces/{_quoted(trace_id)}?span={_quoted(span_id)}"


def experiment_link(experiment_id: str) -> str:
    """Where the page shows an experiment."""
    return f"/experiments/{_quoted(experiment_id)}"


def new_experiment_link(trace_id: str, span_id: str) -> str:
    """Where the page offers to make an experiment of a recorded call."""
    return f"/experiments/new?trace={_quoted(trace_id)}&span={_quoted(span_id)}"


def _quoted(reference: str) -> str:
    """Ids are opaque text; an id with a lone surrogate has an address too."""
    return quote(reference, safe="", errors="replace")
