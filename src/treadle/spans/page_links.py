"""Paths of traces, runs, threads and experiments on the page, for tools, reports and events."""

from urllib.parse import quote


def span_link(trace_id: str, span_id: str) -> str:
    """The path of a span within its trace."""
    return f"/traces/{_quoted(trace_id)}?span={_quoted(span_id)}"


def experiment_link(experiment_id: str) -> str:
    """The path of an experiment."""
    return f"/experiments/{_quoted(experiment_id)}"


def new_experiment_link(trace_id: str, span_id: str) -> str:
    """The path of the form that creates an experiment from a recorded call."""
    return f"/experiments/new?trace={_quoted(trace_id)}&span={_quoted(span_id)}"


def _quoted(reference: str) -> str:
    """The id, quoted for a URL. An id may be any text, even one with a lone surrogate."""
    return quote(reference, safe="", errors="replace")
