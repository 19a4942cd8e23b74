"""Logfire and pydantic-ai: `logfire.…`, `pydantic_ai.…`, and what pydantic-ai names plainly.

Model calls and tools are OpenTelemetry's vocabulary by now, which `gen_ai` reads; here is what
they add to it, and what earlier versions sent instead.
"""

from typing import Any

from treadle.spans.raw_span import RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import (
    Reading,
    content,
    count,
    parsed,
    text,
    texts,
    written,
)
from treadle.spans.vocabularies.messages import read_messages, written_messages

_HISTORIES = ("pydantic_ai.all_messages", "all_messages_events")


def read(reading: Reading) -> None:
    """Read what logfire and pydantic-ai add."""
    said = reading.raw.attributes
    if reading.name is None:
        reading.name = text(said.get("logfire.msg"))
    if "logfire.tags" in said:
        reading.labels += texts(said["logfire.tags"])
    if "tool_arguments" in said or "tool_response" in said:
        reading.set_kind(SpanKind.TOOL)
    if "agent_name" in said or any(name in said for name in _HISTORIES):
        reading.set_kind(SpanKind.AGENT)
    if reading.kind is SpanKind.TOOL:
        if reading.input is None:
            reading.input = content(said.get("tool_arguments"))
        if reading.output is None:
            reading.output = content(said.get("tool_response"))
    elif reading.kind is SpanKind.AGENT:
        _read_agent(reading, said)
    elif reading.kind is SpanKind.MODEL:
        _read_call(reading, said)


def _read_agent(reading: Reading, said: Attributes) -> None:
    if reading.model is None:
        reading.model = text(said.get("model_name"))
    told = "gen_ai.aggregated_usage."
    reading.set_tokens(
        input=said.get(f"{told}input_tokens"),
        output=said.get(f"{told}output_tokens"),
        cached=said.get(f"{told}cache_read.input_tokens"),
        cache_write=said.get(f"{told}cache_creation.input_tokens"),
        reasoning=said.get(f"{told}details.reasoning_tokens"),
    )
    if reading.output is None:
        reading.output = content(said.get("final_result"))
    history: JsonValue = next((said[name] for name in _HISTORIES if name in said), None)
    messages = read_messages(history, "user")
    ends = bool(messages) and messages[-1].get("role") == "assistant"
    if messages and (reading.input is None or "gen_ai.input.messages" not in said):
        before = messages[:-1] if ends else messages
        reading.input = written_messages(before, "user", said.get("gen_ai.system_instructions"))
    if reading.output is None and ends:
        reading.output = written([messages[-1]])


def _read_call(reading: Reading, said: Attributes) -> None:
    usage = parsed(said.get("gen_ai.usage.raw"))
    if isinstance(usage, dict) and reading.reasoning is None:
        details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
        if isinstance(details, dict):
            reading.reasoning = count(details.get("reasoning_tokens"))
    _read_earlier(reading, said)
    if reading.raw.scope.startswith("logfire.") and _only_opened(reading, said):
        # The answer to a stream comes as a separate span, so this one is not counted.
        reading.kind = SpanKind.OTHER


def _only_opened(reading: Reading, said: Attributes) -> bool:
    """Whether a request ended well before anything was answered: a stream began."""
    ended = reading.raw.end_ns is not None and reading.raw.status is not RawStatus.ERROR
    told = reading.output is not None or reading.input_tokens is not None
    return ended and not told and "gen_ai.response.id" not in said


def _read_earlier(reading: Reading, said: Attributes) -> None:
    """The messages of earlier versions: one list of events, or the bodies that were exchanged."""
    events = parsed(said.get("events"))
    if isinstance(events, list):
        choices = [each for each in events if _is_choice(each)]
        others = [each for each in events if not _is_choice(each)]
        if reading.input is None:
            reading.input = written_messages(others, "user")
        if reading.output is None:
            reading.output = written_messages(choices, "assistant")
    for name, role in (("request_data", "user"), ("response_data", "assistant")):
        data = parsed(said.get(name))
        if not isinstance(data, dict):
            continue
        if role == "user" and reading.input is None and "messages" in data:
            reading.input = written_messages(data["messages"], role)
        elif role == "assistant" and reading.output is None:
            reply = data.get("message", data.get("combined_chunk_content"))
            reading.output = written_messages(reply, role)


def _is_choice(event: Any) -> bool:
    return isinstance(event, dict) and event.get("event.name") == "gen_ai.choice"
