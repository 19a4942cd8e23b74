"""The vocabulary of pydantic-ai, including its names without a prefix.

Current versions send model calls and tools in the vocabulary of OpenTelemetry, which `gen_ai`
reads. This module reads runs of agents, embeddings, and the attributes of earlier versions.
"""

from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json, read_messages
from treadle.spans.vocabularies.values import (
    as_content,
    as_text,
    parse_json,
    to_json,
)

_HISTORIES = ("pydantic_ai.all_messages", "all_messages_events")
_REPLIES = ("assistant", "model", "gen_ai.assistant.message", "gen_ai.choice")


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    if "tool_arguments" in attributes or "tool_response" in attributes:
        columns.set_kind(SpanKind.TOOL)
    if "agent_name" in attributes or any(name in attributes for name in _HISTORIES):
        columns.set_kind(SpanKind.AGENT)
    if columns.kind is SpanKind.TOOL:
        if columns.input is None:
            columns.input = as_content(attributes.get("tool_arguments"))
        if columns.output is None:
            columns.output = as_content(attributes.get("tool_response"))
    elif columns.kind is SpanKind.AGENT:
        _read_agent(columns, attributes)
    elif columns.kind is SpanKind.EMBEDDING and columns.input is None:
        given = parse_json(attributes.get("inputs"))
        only = given[0] if isinstance(given, list) and len(given) == 1 else given
        columns.input = as_content(only)


def _read_agent(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.model is None:
        columns.model = as_text(attributes.get("model_name"))
    usage = "gen_ai.aggregated_usage."
    columns.set_tokens(
        input=attributes.get(f"{usage}input_tokens"),
        output=attributes.get(f"{usage}output_tokens"),
        cached=attributes.get(f"{usage}cache_read.input_tokens"),
        cache_write=attributes.get(f"{usage}cache_creation.input_tokens"),
        reasoning=attributes.get(f"{usage}details.reasoning_tokens"),
    )
    if columns.output is None:
        columns.output = as_content(attributes.get("final_result"))
    history: JsonValue = next((attributes[name] for name in _HISTORIES if name in attributes), None)
    messages = parse_json(history)
    if not isinstance(messages, list) or not messages:
        return
    if columns.input is None or "gen_ai.input.messages" not in attributes:
        given = _given(messages, attributes.get("pydantic_ai.new_message_index"))
        system = attributes.get("gen_ai.system_instructions")
        columns.input = messages_json(given, "user", system)
    if columns.output is None and _is_reply(messages[-1]):
        columns.output = to_json(read_messages(messages[-1:], "assistant"))


def _given(messages: list[Any], new: JsonValue) -> list[Any]:
    """Return the messages of the history, and the new messages before the first reply of the run.

    `new` is the number of messages in the history. The messages from the first reply on are steps
    of the run.
    """
    first = new if isinstance(new, int) and 0 < new < len(messages) else 0
    while first < len(messages) and not _is_reply(messages[first]):
        first += 1
    return messages[:first]


def _is_reply(message: Any) -> bool:
    names = ("role", "event.name")
    return isinstance(message, dict) and any(
        isinstance(message.get(name), str) and message[name] in _REPLIES for name in names
    )


VOCABULARY = Vocabulary(
    _read,
    prefixes=frozenset(
        {"pydantic_ai", "all_messages_events", "tool_arguments", "tool_response", "agent_name",
         "inputs"}
    ),
)  # fmt: skip
