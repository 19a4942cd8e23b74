"""OpenTelemetry's own vocabulary, `gen_ai.…`: the current names and the earlier ones.

The names are from opentelemetry-semantic-conventions 0.66b1 and earlier versions. Messages may be
attributes (JSON text or values), events, or dotted names (`gen_ai.prompt.0.content`).
"""

from collections.abc import Mapping
from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.message_events import INFERENCE_DETAILS
from treadle.spans.vocabularies.message_forms import result_content
from treadle.spans.vocabularies.messages import (
    Message,
    messages_json,
    read_event_messages,
    read_messages,
    tool_call,
)
from treadle.spans.vocabularies.values import (
    as_content,
    as_dollars,
    as_microseconds,
    as_name,
    as_text,
    canonical_provider,
    list_items,
    nest_attributes,
    parse_json,
    to_json,
)

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
_RENAMED = {"embedding": "embeddings", "completion": "text_completion", "responses": "chat"}
"""Operations that have another name in the current version of the vocabulary."""

_EARLIEST = frozenset({"llm.request.type", "llm.usage.total_tokens", "llm.usage.prompt_tokens"})
"""Names that Traceloop used before OpenTelemetry had a vocabulary."""

_FLAT_INPUT, _FLAT_OUTPUT = "gen_ai.prompt.", "gen_ai.completion."
_SECOND = 1_000_000


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    _read_kind(columns, attributes)
    if columns.model is None:
        model = attributes.get("gen_ai.response.model")
        columns.model = as_text(model) or as_text(attributes.get("gen_ai.request.model"))
    if columns.kind is SpanKind.AGENT and columns.name is None:
        columns.name = _agent_name(columns.raw.name, attributes)
    if columns.provider is None:
        provider = attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system")
        columns.provider = canonical_provider(as_text(provider))
    _read_usage(columns, attributes)
    if columns.thread_id is None:
        columns.thread_id = as_name(attributes.get("gen_ai.conversation.id"))
    if columns.kind is SpanKind.TOOL:
        _read_tool(columns, attributes)
    elif columns.kind is SpanKind.RETRIEVAL:
        if columns.input is None:
            columns.input = as_content(attributes.get("gen_ai.retrieval.query.text"))
        if columns.output is None:
            columns.output = as_content(attributes.get("gen_ai.retrieval.documents"))
    elif columns.kind is SpanKind.EMBEDDING:
        _read_embedding(columns, attributes)
    else:
        _read_messages(columns, attributes)


def _read_kind(columns: SpanColumns, attributes: Attributes) -> None:
    operation = attributes.get("gen_ai.operation.name")
    if attributes.get("gen_ai.tool.name") == "(merged tools)":  # of Google's ADK
        columns.set_kind(SpanKind.OTHER, "merge_tool_results")
    elif isinstance(operation, str) and operation:
        columns.set_kind(_KINDS.get(operation, SpanKind.OTHER), _RENAMED.get(operation, operation))
    elif "gen_ai.tool.name" in attributes or "gen_ai.tool.call.id" in attributes:
        columns.set_kind(SpanKind.TOOL)
    elif (kind := str(attributes.get("llm.request.type"))) in _KINDS:  # an early name of Traceloop
        columns.set_kind(_KINDS[kind], _RENAMED.get(kind, kind))
    elif "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes:
        embeds = "gen_ai.embeddings.dimension.count" in attributes or "embed" in str(
            attributes.get("gen_ai.request.model")
        )
        columns.set_kind(SpanKind.EMBEDDING if embeds else SpanKind.MODEL)
    elif "gen_ai.agent.name" in attributes or "gen_ai.agent.id" in attributes:
        columns.set_kind(SpanKind.AGENT)


def _agent_name(name: str, attributes: Attributes) -> str | None:
    """Return the name of an agent to replace the name of its span, or None to keep that name.

    The AI SDK names the span after the model, such as `invoke_agent gpt-5`. Only such a name is
    replaced.
    """
    agent = as_text(attributes.get("gen_ai.agent.name"))
    return agent if name == f"invoke_agent {attributes.get('gen_ai.request.model')}" else None


def _read_usage(columns: SpanColumns, attributes: Attributes) -> None:
    def first(*names: str) -> JsonValue:
        return next((attributes[name] for name in names if name in attributes), None)

    columns.set_tokens(
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
    if columns.cost is None:
        columns.cost = as_dollars(first("gen_ai.usage.cost", "gen_ai.usage.total_cost"))
    if columns.time_to_first_token_us is None:
        seconds = first(
            "gen_ai.response.time_to_first_chunk",
            "gen_ai.client.operation.time_to_first_chunk",
            "gen_ai.server.time_to_first_token",
        )
        columns.time_to_first_token_us = _first_token(columns, seconds)
    if columns.time_to_first_token_us is None and columns.kind is SpanKind.MODEL:
        chunks = ("gen_ai.content.completion.chunk", "llm.content.completion.chunk")
        moments = [event.at_us for event in columns.raw.events if event.name in chunks]
        columns.set_first_token(min(moments, default=None))


def _first_token(columns: SpanColumns, waited: JsonValue) -> int | None:
    """Return the time to the first token in microseconds, or None for a call without a stream.

    OpenTelemetry requires seconds. If the number of seconds exceeds the duration of the span, but
    the same number of milliseconds does not, the number is read as milliseconds.
    """
    if columns.raw.attributes.get("gen_ai.request.stream") is False:
        return None
    microseconds = as_microseconds(waited, _SECOND)
    end_ns = columns.raw.end_ns
    if microseconds is None or end_ns is None:
        return microseconds
    lasted = (end_ns - columns.raw.start_ns) // 1_000
    return microseconds // 1_000 if microseconds > lasted >= microseconds // 1_000 else microseconds


def _read_tool(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.tool is None:
        columns.tool = as_text(attributes.get("gen_ai.tool.name"))
    if columns.input is None:
        columns.input = as_content(attributes.get("gen_ai.tool.call.arguments"))
    if columns.output is None:
        columns.output = as_content(attributes.get("gen_ai.tool.call.result"))
    for event in columns.raw.events:
        if event.name == "gen_ai.tool.message" and columns.input is None:
            columns.input = as_content(event.attributes.get("content"))
        elif event.name == "gen_ai.choice" and columns.output is None:
            columns.output = _tool_result(event.attributes.get("message"))


def _tool_result(message: JsonValue) -> str | None:
    """Return the result of a tool from the message of an event.

    If the message is a list with one text, only the text is returned.
    """
    parts = parse_json(message)
    only = result_content(parts)
    return as_content(message if only is parts else only)


def _read_embedding(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the embedded text or texts. Some programs send them as messages."""
    if columns.input is None:
        messages = read_messages(attributes.get("gen_ai.input.messages"), "user")
        given = [message.get("content") for message in messages]
        if given:
            columns.input = as_content(given[0] if len(given) == 1 else given)


def _read_messages(columns: SpanColumns, attributes: Attributes) -> None:
    events = columns.raw.events
    sources = [
        attributes,
        *(event.attributes for event in events if event.name == INFERENCE_DETAILS),
    ]
    for source in sources:
        if columns.input is None:
            value = _either(source, "gen_ai.input.messages", "gen_ai.prompt")
            system = source.get("gen_ai.system_instructions")
            if value is not None or system is not None:
                columns.input = messages_json(value, "user", system)
        if columns.output is None:
            value = _either(source, "gen_ai.output.messages", "gen_ai.completion")
            reply = None if value == "{}" else messages_json(value, "assistant")
            columns.output = _answer(reply) if columns.kind is SpanKind.AGENT else reply
    if columns.input is None or columns.output is None:
        _read_flat(columns, attributes)
    if events and (columns.input is None or columns.output is None):
        _read_events(columns)


def _answer(reply: str | None) -> str | None:
    """Return the messages of an agent's reply that follow the last message of a user.

    Tool results, and the tool calls that have a result, are left out. Some agents report all
    messages of a run as their reply, but each step also has its own span.
    """
    messages = parse_json(reply)
    if not isinstance(messages, list):
        return reply
    asked = [index for index, each in enumerate(messages) if each.get("role") == "user"]
    messages = messages[asked[-1] + 1 :] if asked else messages
    results = [each for each in messages if each.get("role") == "tool"]
    if not results:
        return to_json(messages) if asked and messages else reply
    answered = {each.get("tool_call_id") for each in results}
    kept: list[Message] = []
    for message in messages:
        calls = [call for call in message.get("tool_calls", ()) if call.get("id") not in answered]
        rest = {name: value for name, value in message.items() if name != "tool_calls"}
        if calls:
            rest["tool_calls"] = calls
        if message.get("role") != "tool" and (rest.get("content") or calls):
            kept.append(rest)
    return to_json(kept) if kept else reply


def _either(source: Attributes, current: str, earlier: str) -> JsonValue:
    value = source.get(current)
    return source.get(earlier) if value is None else value


def _read_flat(columns: SpanColumns, attributes: Attributes) -> None:
    found = nest_attributes(attributes, _FLAT_INPUT, _FLAT_OUTPUT)
    if columns.input is None and _FLAT_INPUT in found:
        columns.input = _flat_messages(found[_FLAT_INPUT], "user")
    if columns.output is None and _FLAT_OUTPUT in found:
        columns.output = _flat_messages(found[_FLAT_OUTPUT], "assistant")


def _flat_messages(found: Mapping[str, Any], role: str) -> str | None:
    messages: list[Message] = []
    for each in list_items(found):
        if not isinstance(each, dict):
            continue
        message: Message = {"role": each.get("role") or role, "content": each.get("content")}
        if isinstance(each.get("tool_call_id"), str):
            message["tool_call_id"] = each["tool_call_id"]
        calls = [call for call in list_items(each.get("tool_calls")) if isinstance(call, dict)]
        if calls:
            message["tool_calls"] = [
                tool_call(call.get("id"), call.get("name"), call.get("arguments")) for call in calls
            ]
            message["content"] = message["content"] or None
        messages += read_messages(message, role)
    return to_json(messages) if messages else None


def _read_events(columns: SpanColumns) -> None:
    for event in columns.raw.events:  # one version sent messages in these events
        if event.name == "gen_ai.content.prompt" and columns.input is None:
            columns.input = messages_json(event.attributes.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion" and columns.output is None:
            completion = event.attributes.get("gen_ai.completion")
            columns.output = messages_json(completion, "assistant")
    named = [(event.name, event.attributes) for event in columns.raw.events]
    choices = [each for each in named if each[0] == "gen_ai.choice"]
    prompts = [each for each in named if each[0] != "gen_ai.choice"]
    if columns.input is None and (messages := read_event_messages(prompts)):
        columns.input = to_json(messages)
    if columns.output is None and (messages := read_event_messages(choices)):
        columns.output = to_json(messages)


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"gen_ai"}), names=_EARLIEST)
