"""OpenTelemetry's own vocabulary, `gen_ai.…`: the current names and the earlier ones.

The names are those of opentelemetry-semantic-conventions 0.66b1 and of what came before: messages
as attributes (JSON text or values), as events, and flattened (`gen_ai.prompt.0.content`).
"""

from collections.abc import Mapping
from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import (
    Reading,
    content,
    dollars,
    microseconds,
    name_of,
    text,
    written,
)
from treadle.spans.vocabularies.flattened import items, nested
from treadle.spans.vocabularies.messages import (
    Message,
    messages_of_events,
    read_messages,
    tool_call,
    written_messages,
)
from treadle.spans.vocabularies.providers import canonical

_KINDS = {
    "chat": SpanKind.MODEL,
    "text_completion": SpanKind.MODEL,
    "completion": SpanKind.MODEL,
    "generate_content": SpanKind.MODEL,
    "responses": SpanKind.MODEL,
    "embeddings": SpanKind.EMBEDDING,
    "embedding": SpanKind.EMBEDDING,
    "execute_tool": SpanKind.TOOL,
    "retrieval": SpanKind.RETRIEVAL,
    "invoke_agent": SpanKind.AGENT,
    "create_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.AGENT,
}
_SAME = {"embedding": "embeddings", "completion": "text_completion", "responses": "chat"}
"""Operations that have another name by now."""

EARLIEST = frozenset({"llm.request.type", "llm.usage.total_tokens", "llm.usage.prompt_tokens"})
"""Names that traceloop used before there was a vocabulary."""

_DETAILS = "gen_ai.client.inference.operation.details"
_FLAT_INPUT, _FLAT_OUTPUT = "gen_ai.prompt.", "gen_ai.completion."
_SECOND = 1_000_000


def read(reading: Reading) -> None:
    """Read `gen_ai.…`."""
    said = reading.raw.attributes
    _read_kind(reading, said)
    if reading.model is None:
        model = said.get("gen_ai.response.model")
        reading.model = text(model) or text(said.get("gen_ai.request.model"))
    if reading.provider is None:
        provider = said.get("gen_ai.provider.name") or said.get("gen_ai.system")
        reading.provider = canonical(text(provider))
    _read_usage(reading, said)
    if reading.thread_id is None:
        reading.thread_id = name_of(said.get("gen_ai.conversation.id"))
    if reading.kind is SpanKind.TOOL:
        _read_tool(reading, said)
    elif reading.kind is SpanKind.RETRIEVAL:
        if reading.input is None:
            reading.input = content(said.get("gen_ai.retrieval.query.text"))
        if reading.output is None:
            reading.output = content(said.get("gen_ai.retrieval.documents"))
    elif reading.kind is SpanKind.EMBEDDING:
        _read_embedding(reading, said)
    else:
        _read_messages(reading, said)


def _read_kind(reading: Reading, said: Attributes) -> None:
    operation = said.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation:
        reading.set_kind(_KINDS.get(operation, SpanKind.OTHER), _SAME.get(operation, operation))
    elif "gen_ai.tool.name" in said or "gen_ai.tool.call.id" in said:
        reading.set_kind(SpanKind.TOOL)
    elif (kind := str(said.get("llm.request.type"))) in _KINDS:  # traceloop's, earlier
        reading.set_kind(_KINDS[kind], _SAME.get(kind, kind))
    elif "gen_ai.request.model" in said or "gen_ai.response.model" in said:
        embeds = "gen_ai.embeddings.dimension.count" in said
        reading.set_kind(SpanKind.EMBEDDING if embeds else SpanKind.MODEL)
    elif "gen_ai.agent.name" in said or "gen_ai.agent.id" in said:
        reading.set_kind(SpanKind.AGENT)


def _read_usage(reading: Reading, said: Attributes) -> None:
    def first(*names: str) -> JsonValue:
        return next((said[name] for name in names if name in said), None)

    reading.set_tokens(
        input=first(
            "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"
        ),
        output=first(
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.usage.completion_tokens",
        ),
        cached=first(
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.input_tokens.cached",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.details.cache_read_input_tokens",
            "gen_ai.usage.details.cached_tokens",
        ),
        cache_write=first(
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.details.cache_write_tokens",
            "gen_ai.usage.details.cache_creation_input_tokens",
        ),
        reasoning=first(
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.output_tokens.reasoning",
            "gen_ai.usage.details.reasoning_tokens",
            "llm.usage.reasoning_tokens",
        ),
        total=first("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
    )
    if reading.cost is None:
        reading.cost = dollars(first("gen_ai.usage.cost", "gen_ai.usage.total_cost"))
    if reading.first_us is None:
        seconds = first("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token")
        reading.first_us = microseconds(seconds, _SECOND)
    if reading.first_us is None and "gen_ai.usage.output_tokens" in said:
        chunks = ("gen_ai.content.completion.chunk", "llm.content.completion.chunk")
        moments = [event.at_us for event in reading.raw.events if event.name in chunks]
        reading.set_first(min(moments, default=None))


def _read_tool(reading: Reading, said: Attributes) -> None:
    if reading.tool is None:
        reading.tool = text(said.get("gen_ai.tool.name"))
    if reading.input is None:
        reading.input = content(said.get("gen_ai.tool.call.arguments"))
    if reading.output is None:
        reading.output = content(said.get("gen_ai.tool.call.result"))


def _read_embedding(reading: Reading, said: Attributes) -> None:
    """What was embedded, which some send as a message: a text, or a list of them."""
    if reading.input is None:
        messages = read_messages(said.get("gen_ai.input.messages"), "user")
        given = [message.get("content") for message in messages]
        if given:
            reading.input = content(given[0] if len(given) == 1 else given)


def _read_messages(reading: Reading, said: Attributes) -> None:
    events = reading.raw.events
    sources = [said, *(event.attributes for event in events if event.name == _DETAILS)]
    for source in sources:
        if reading.input is None:
            value = _either(source, "gen_ai.input.messages", "gen_ai.prompt")
            system = source.get("gen_ai.system_instructions")
            if value is not None or system is not None:
                reading.input = written_messages(value, "user", system)
        if reading.output is None:
            value = _either(source, "gen_ai.output.messages", "gen_ai.completion")
            reading.output = written_messages(value, "assistant")
    if reading.input is None or reading.output is None:
        _read_flat(reading, said)
    if events and (reading.input is None or reading.output is None):
        _read_events(reading)


def _either(source: Attributes, current: str, earlier: str) -> JsonValue:
    value = source.get(current)
    return source.get(earlier) if value is None else value


def _read_flat(reading: Reading, said: Attributes) -> None:
    found = nested(said, _FLAT_INPUT, _FLAT_OUTPUT)
    if reading.input is None and _FLAT_INPUT in found:
        reading.input = _flat_messages(found[_FLAT_INPUT], "user")
    if reading.output is None and _FLAT_OUTPUT in found:
        reading.output = _flat_messages(found[_FLAT_OUTPUT], "assistant")


def _flat_messages(found: Mapping[str, Any], role: str) -> str | None:
    messages: list[Message] = []
    for each in items(found):
        if not isinstance(each, dict):
            continue
        message: Message = {"role": each.get("role") or role, "content": each.get("content")}
        if isinstance(each.get("tool_call_id"), str):
            message["tool_call_id"] = each["tool_call_id"]
        calls = [call for call in items(each.get("tool_calls")) if isinstance(call, dict)]
        if calls:
            message["tool_calls"] = [
                tool_call(call.get("id"), call.get("name"), call.get("arguments")) for call in calls
            ]
            message["content"] = message["content"] or None
        messages += read_messages(message, role)
    return written(messages) if messages else None


def _read_events(reading: Reading) -> None:
    for event in reading.raw.events:  # the names of one short-lived version
        if event.name == "gen_ai.content.prompt" and reading.input is None:
            reading.input = written_messages(event.attributes.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion" and reading.output is None:
            completion = event.attributes.get("gen_ai.completion")
            reading.output = written_messages(completion, "assistant")
    told = [(event.name, event.attributes) for event in reading.raw.events]
    choices = [each for each in told if each[0] == "gen_ai.choice"]
    others = [each for each in told if each[0] != "gen_ai.choice"]
    if reading.input is None and (messages := messages_of_events(others)):
        reading.input = written(messages)
    if reading.output is None and (messages := messages_of_events(choices)):
        reading.output = written(messages)
