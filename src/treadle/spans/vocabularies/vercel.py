"""The vocabulary of Vercel's AI SDK, `ai.…`, in versions 5 and 6 and most of version 4.

Version 7 uses the vocabulary of OpenTelemetry and adds few names of its own.

A call has spans of two kinds. `ai.generateText` contains all requests and the tool calls between
them. Each request is a span `ai.generateText.doGenerate`. Only such a span is a model call.
"""

from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import Message, is_plain_text, read_messages, tool_call
from treadle.spans.vocabularies.values import (
    as_content,
    as_microseconds,
    as_name,
    as_text,
    as_texts,
    canonical_provider,
    parse_json,
    summarize_vectors,
    to_json,
)

_METADATA = ("ai.telemetry.metadata.", "ai.settings.context.")
"""The prefixes of metadata: the first in versions up to 6, and the second in version 7."""

_THREADS = ("sessionId", "threadId", "conversationId", "chatId", "session_id", "thread_id")
_MILLISECOND = 1_000


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    operation = attributes.get("ai.operationId") or columns.raw.name
    _read_kind(columns, str(operation), attributes)
    if columns.name is None and columns.kind in (SpanKind.AGENT, SpanKind.OTHER):
        columns.name = as_text(attributes.get("ai.telemetry.functionId"))
    if columns.model is None:
        columns.model = as_text(attributes.get("ai.response.model")) or as_text(
            attributes.get("ai.model.id")
        )
    if columns.provider is None:
        columns.provider = canonical_provider(as_text(attributes.get("ai.model.provider")))
    _read_usage(columns, attributes)
    if columns.kind is SpanKind.TOOL:
        columns.tool = columns.tool or as_text(attributes.get("ai.toolCall.name"))
        columns.input = as_content(attributes.get("ai.toolCall.args"))
        columns.output = as_content(attributes.get("ai.toolCall.result"))
    elif "ai.value" in attributes or "ai.values" in attributes:
        _read_embedding(columns, attributes)
    else:
        given = attributes.get("ai.prompt.messages") or attributes.get("ai.prompt")
        columns.input = columns.input or _prompt(given)
        columns.output = columns.output or _reply(attributes)
    _read_metadata(columns, attributes)


def _read_kind(columns: SpanColumns, operation: str, attributes: Attributes) -> None:
    if operation.startswith("ai.toolCall") or "ai.toolCall.name" in attributes:
        columns.set_kind(SpanKind.TOOL)
    elif ".doEmbed" in operation:
        columns.set_kind(SpanKind.EMBEDDING)
    elif ".doRerank" in operation:
        columns.set_kind(SpanKind.RETRIEVAL, "rerank")
    elif ".doGenerate" in operation or ".doStream" in operation:
        columns.set_kind(SpanKind.MODEL)
    elif attributes.get("gen_ai.operation.name") == "embeddings":  # version 7
        if "gen_ai.usage.input_tokens" not in attributes:
            columns.set_kind(SpanKind.OTHER, "embed")
    elif operation.startswith("ai.embed"):
        columns.set_kind(SpanKind.OTHER, "embed")  # it contains the calls and repeats their tokens
    elif operation.startswith("ai."):
        columns.set_kind(SpanKind.AGENT)


def _read_usage(columns: SpanColumns, attributes: Attributes) -> None:
    def first(*names: str) -> JsonValue:
        found = (
            attributes[f"ai.usage.{name}"] for name in names if f"ai.usage.{name}" in attributes
        )
        return next(found, None)

    columns.set_tokens(
        input=first("inputTokens", "promptTokens", "tokens"),
        output=first("outputTokens", "completionTokens"),
        cached=first("inputTokenDetails.cacheReadTokens", "cachedInputTokens"),
        cache_write=first("inputTokenDetails.cacheWriteTokens"),
        reasoning=first("outputTokenDetails.reasoningTokens", "reasoningTokens"),
        total=first("totalTokens"),
    )
    if columns.cache_outside_input is None:
        # Version 6 adds cached tokens to the input. Version 5 forwards the provider's counts.
        adds = any(name.startswith("ai.usage.inputTokenDetails.") for name in attributes)
        columns.cache_outside_input = not adds and columns.provider == "anthropic"
    if columns.time_to_first_token_us is None:
        waited = attributes.get(
            "ai.response.msToFirstChunk", attributes.get("ai.stream.msToFirstChunk")
        )
        columns.time_to_first_token_us = as_microseconds(waited, _MILLISECOND)


def _read_embedding(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the embedded texts, each of which is JSON text, and summarize the vectors."""
    values = attributes.get("ai.values")
    texts = [_unquoted(each) for each in (values if isinstance(values, list) else [])]
    if "ai.value" in attributes:
        texts = [_unquoted(attributes["ai.value"])]
    columns.input = as_content(texts[0] if len(texts) == 1 else texts)
    vectors = attributes.get("ai.embeddings")
    if "ai.embedding" in attributes:
        vectors = [attributes["ai.embedding"]]
    columns.output = summarize_vectors(vectors if isinstance(vectors, list) else [])


def _prompt(given: JsonValue) -> str | None:
    """Return the messages of a prompt as JSON text, or None.

    A content that consists of one text part becomes the text.
    """
    messages = read_messages(given, "user")
    for message in messages:
        parts = message.get("content")
        if isinstance(parts, list) and len(parts) == 1 and is_plain_text(parts[0]):
            message["content"] = parts[0]["text"]
    return to_json(messages) if messages else None


def _reply(attributes: Attributes) -> str | None:
    """Return the model's reply as JSON text, built from its text, reasoning and tool calls."""
    shown = attributes.get("ai.response.text")
    calls = parse_json(attributes.get("ai.response.toolCalls"))
    if shown is None and "ai.response.object" in attributes:
        shown = attributes["ai.response.object"]
    if shown is None and not calls:
        return None
    message: Message = {"role": "assistant", "content": shown}
    if thought := attributes.get("ai.response.reasoning"):
        message["reasoning_content"] = thought
    if isinstance(calls, list) and calls:
        message["content"] = shown or None
        message["tool_calls"] = [_call(each) for each in calls]
    return to_json(read_messages(message, "assistant"))


def _call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    arguments = call.get("input", call.get("args"))
    return tool_call(call.get("toolCallId"), call.get("toolName"), arguments)


def _unquoted(value: JsonValue) -> JsonValue:
    """Return the text in a JSON string, and any other value unchanged.

    Vercel encodes a single value as JSON.
    """
    inner = parse_json(value)
    return inner if isinstance(inner, str) else value


def _read_metadata(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the session and the tags that the application attached."""
    for prefix in _METADATA:
        for name in _THREADS:
            if columns.thread_id is None:
                columns.thread_id = as_name(attributes.get(prefix + name))
        for name in ("tags", "labels"):
            if prefix + name in attributes:
                columns.labels += as_texts(attributes[prefix + name])


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"ai"}))
