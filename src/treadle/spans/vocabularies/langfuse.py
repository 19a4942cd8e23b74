"""Langfuse: `langfuse.observation.…` and `langfuse.trace.…`, as its client 5.0 and before sends."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from treadle.spans.span import Attributes, SpanKind
from treadle.spans.vocabularies.columns import (
    Reading,
    content,
    count,
    dollars,
    name_of,
    parsed,
    text,
    texts,
)
from treadle.spans.vocabularies.messages import written_messages

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
_BESIDE = (
    "input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "input_cached",
    "cached_input_tokens",
)  # fmt: skip
_WRITES = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write")
_REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens", "reasoning")


def read(reading: Reading) -> None:
    """Read `langfuse.…`."""
    said = reading.raw.attributes
    kind = said.get("langfuse.observation.type")
    model = said.get("langfuse.observation.model.name")
    if isinstance(kind, str) and kind in _KINDS:
        reading.set_kind(*_KINDS[kind])
    elif model is not None:
        reading.set_kind(SpanKind.MODEL)
    if reading.kind is SpanKind.TOOL and reading.tool is None:
        reading.tool = text(said.get("gen_ai.tool.name")) or text(reading.raw.name)
    if reading.model is None:
        reading.model = text(model)
    _read_usage(reading, said)
    given, given_back = (said.get(f"langfuse.observation.{name}") for name in ("input", "output"))
    if reading.kind is SpanKind.MODEL:
        reading.input = reading.input or written_messages(given, "user")
        reading.output = reading.output or written_messages(given_back, "assistant")
    if reading.input is None:
        reading.input = content(said.get("langfuse.trace.input") if given is None else given)
    if reading.output is None:
        output = said.get("langfuse.trace.output") if given_back is None else given_back
        reading.output = content(output)
    _read_trace(reading, said)


def _read_trace(reading: Reading, said: Attributes) -> None:
    for name in ("langfuse.session.id", "langfuse.trace.session_id", "session.id"):
        if reading.thread_id is None:
            reading.thread_id = name_of(said.get(name))
    for name in ("langfuse.trace.tags", "langfuse.tags"):
        if name in said:
            reading.labels += texts(said[name])
    if said.get("langfuse.observation.level") == "ERROR":
        reading.failed = True
    reading.error = reading.error or text(said.get("langfuse.observation.status_message"))


def _read_usage(reading: Reading, said: Attributes) -> None:
    usage = parsed(said.get("langfuse.observation.usage_details"))
    if isinstance(usage, dict):
        _count(reading, usage)
    if reading.cost is None:
        costs = parsed(said.get("langfuse.observation.cost_details"))
        if isinstance(costs, dict):
            reading.cost = _total(costs)
        if not reading.cost and not reading.output_tokens:
            reading.cost = None  # its wrapper of clients says 0 of a request that failed
    started = parsed(said.get("langfuse.observation.completion_start_time"))
    if isinstance(started, str):
        try:
            moment = datetime.fromisoformat(started)
        except ValueError:
            return
        reading.set_first(round(moment.timestamp() * 1_000_000))


def _count(reading: Reading, usage: Mapping[str, Any]) -> None:
    """Its own buckets lie side by side; what an OpenAI server counted is taken over as it was."""

    def first(*names: str) -> Any:
        return next((usage[name] for name in names if count(usage.get(name)) is not None), None)

    within = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    thought = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    inner = within if isinstance(within, dict) else {}
    inner_output = thought if isinstance(thought, dict) else {}
    beside = first(*_BESIDE, *_WRITES) is not None
    cached = first(*_BESIDE)
    reading.set_tokens(
        input=first("input", "input_tokens", "prompt_tokens", "promptTokens"),
        output=first("output", "output_tokens", "completion_tokens", "completionTokens"),
        cached=inner.get("cached_tokens") if cached is None else cached,
        cache_write=first(*_WRITES),
        reasoning=inner_output.get("reasoning_tokens", first(*_REASONING)),
        total=first("total", "total_tokens", "totalTokens"),
    )
    if reading.beside is None:
        reading.beside = beside


def _total(costs: Mapping[str, Any]) -> float | None:
    """The whole cost: as reported, else the sum of its parts."""
    told = dollars(costs.get("total"))
    if told is not None:
        return told
    parts = [part for each in costs.values() if (part := dollars(each)) is not None]
    return sum(parts) if parts else None
