"""The vocabulary of Langfuse, `langfuse.…`, as sent by clients up to version 5.0."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from treadle.spans.span import Attributes, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json
from treadle.spans.vocabularies.values import (
    as_content,
    as_count,
    as_dollars,
    as_name,
    as_text,
    as_texts,
    function_arguments,
    parse_json,
)

_KINDS = {
    "generation": (SpanKind.MODEL, "chat"),
    "embedding": (SpanKind.EMBEDDING, "embeddings"),
    "agent": (SpanKind.AGENT, "invoke_agent"),
    "chain": (SpanKind.AGENT, "chain"),
    "tool": (SpanKind.TOOL, "execute_tool"),
    "retriever": (SpanKind.RETRIEVAL, "retrieval"),
    "guardrail": (SpanKind.OTHER, "guardrail"),
    "evaluator": (SpanKind.OTHER, "evaluate"),
    "event": (SpanKind.OTHER, "event"),
}
_JAVASCRIPT_EMBEDDINGS = "OpenAI.embeddings"
"""The name of an embedding, which Langfuse's JavaScript client reports as a generation."""

_INSTRUCTIONS = "langfuse.observation.metadata.instructions"
"""The system message of a call of OpenAI's Responses API, as the JavaScript client reports it."""

_CACHE_READS = (
    "input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "input_cached",
    "cached_input_tokens",
)  # fmt: skip
_CACHE_WRITES = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write")
_REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens", "reasoning")


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    kind = attributes.get("langfuse.observation.type")
    model = attributes.get("langfuse.observation.model.name")
    if kind == "generation" and columns.raw.name == _JAVASCRIPT_EMBEDDINGS:
        kind = "embedding"
    if isinstance(kind, str) and kind in _KINDS:
        columns.set_kind(*_KINDS[kind])
    elif model is not None:
        columns.set_kind(SpanKind.MODEL)
    if columns.kind is SpanKind.TOOL and columns.tool is None:
        columns.tool = as_text(attributes.get("gen_ai.tool.name")) or as_text(columns.raw.name)
    if columns.model is None:
        columns.model = as_text(model)
    _read_usage(columns, attributes)
    given, returned = (
        attributes.get(f"langfuse.observation.{name}") for name in ("input", "output")
    )
    given = function_arguments(given, of_tool=columns.kind is SpanKind.TOOL)
    if columns.kind is SpanKind.MODEL:
        columns.input = columns.input or messages_json(given, "user", attributes.get(_INSTRUCTIONS))
        columns.output = columns.output or messages_json(returned, "assistant")
    if columns.input is None:
        columns.input = as_content(
            attributes.get("langfuse.trace.input") if given is None else given
        )
    if columns.output is None:
        output = attributes.get("langfuse.trace.output") if returned is None else returned
        columns.output = as_content(output)
    _read_trace(columns, attributes)


def _read_trace(columns: SpanColumns, attributes: Attributes) -> None:
    for name in ("langfuse.session.id", "langfuse.trace.session_id", "session.id"):
        if columns.thread_id is None:
            columns.thread_id = as_name(attributes.get(name))
    for name in ("langfuse.trace.tags", "langfuse.tags"):
        if name in attributes:
            columns.labels += as_texts(attributes[name])
    if attributes.get("langfuse.observation.level") == "ERROR":
        columns.failed = True
    columns.error = columns.error or as_text(attributes.get("langfuse.observation.status_message"))


def _read_usage(columns: SpanColumns, attributes: Attributes) -> None:
    usage = parse_json(attributes.get("langfuse.observation.usage_details"))
    if isinstance(usage, dict):
        _count(columns, usage)
    if columns.cost is None:
        costs = parse_json(attributes.get("langfuse.observation.cost_details"))
        if isinstance(costs, dict):
            columns.cost = _total(costs)
        if not columns.cost and not columns.output_tokens:
            columns.cost = None  # Langfuse's client wrapper reports 0 for a failed request
    started = parse_json(attributes.get("langfuse.observation.completion_start_time"))
    if isinstance(started, str):
        try:
            moment = datetime.fromisoformat(started)
        except ValueError:
            return
        columns.set_first_token(round(moment.timestamp() * 1_000_000))


def _count(columns: SpanColumns, usage: Mapping[str, Any]) -> None:
    """Set the token counts.

    In Langfuse's own counts, the input excludes cached tokens. In counts that an OpenAI server
    reported, the input includes them.
    """

    def first(*names: str) -> Any:
        return next((usage[name] for name in names if as_count(usage.get(name)) is not None), None)

    def details(*names: str) -> Mapping[str, Any]:
        return next((usage[name] for name in names if isinstance(usage.get(name), dict)), {})

    input_details = details("prompt_tokens_details", "input_tokens_details")
    output_details = details("completion_tokens_details", "output_tokens_details")
    outside = first(*_CACHE_READS, *_CACHE_WRITES) is not None
    cached = first(*_CACHE_READS)
    columns.set_tokens(
        input=first("input", "input_tokens", "prompt_tokens", "promptTokens"),
        output=first("output", "output_tokens", "completion_tokens", "completionTokens"),
        cached=input_details.get("cached_tokens") if cached is None else cached,
        cache_write=first(*_CACHE_WRITES),
        reasoning=output_details.get("reasoning_tokens", first(*_REASONING)),
        total=first("total", "total_tokens", "totalTokens"),
    )
    if columns.cache_outside_input is None:
        columns.cache_outside_input = outside


def _total(costs: Mapping[str, Any]) -> float | None:
    """Return the reported total, or the sum of the costs."""
    total = as_dollars(costs.get("total"))
    if total is not None:
        return total
    parts = [part for each in costs.values() if (part := as_dollars(each)) is not None]
    return sum(parts) if parts else None


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"langfuse"}))
