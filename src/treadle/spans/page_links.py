"""Paths of spans and experiments in the web page, for tools, reports and events."""

from urllib.parse import quote


def span_link(trace_id: str, span_id: str) -> str:
    """Return the path of a span in the web page of its trace."""
    return f"/traces/{_quoted(trace_id)}?span={_quoted(span_id)}"


def experiment_link(experiment_id: str) -> str:
    """Return the path of an experiment in the web page."""
    return f"/experiments/{_quoted(experiment_id)}"


def new_experiment_link(trace_id: str, span_id: str) -> str:
    """Return the path of the form that creates an experiment from a recorded call."""
    return f"/experiments/new?trace={_quoted(trace_id)}&span={_quoted(span_id)}"


def _quoted(reference: str) -> str:
    """Return an id, quoted for a URL. An id may be any text, even with a lone surrogate."""
    return quote(reference, safe="", errors="replace")
