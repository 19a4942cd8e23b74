"""Vercel's AI SDK: `ai.…`, as versions 5 and 6 of the package `ai` write it (and 4, mostly).

A call makes two spans: `ai.generateText`, which may make several requests and runs the tools
between them, and for each request `ai.generateText.doGenerate`. Only the second is a model call.
"""

from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import (
    Reading,
    content,
    microseconds,
    name_of,
    parsed,
    text,
    texts,
    written,
)
from treadle.spans.vocabularies.messages import Message, is_plain_text, read_messages, tool_call
from treadle.spans.vocabularies.providers import canonical

_METADATA = "ai.telemetry.metadata."
_THREADS = ("sessionId", "threadId", "conversationId", "chatId", "session_id", "thread_id")
_MILLISECOND = 1_000


def read(reading: Reading) -> None:
    """Read `ai.…`."""
    said = reading.raw.attributes
    operation = said.get("ai.operationId") or reading.raw.name
    _read_kind(reading, str(operation), said)
    if reading.model is None:
        reading.model = text(said.get("ai.response.model")) or text(said.get("ai.model.id"))
    if reading.provider is None:
        reading.provider = canonical(text(said.get("ai.model.provider")))
    _read_usage(reading, said)
    if reading.kind is SpanKind.TOOL:
        reading.tool = reading.tool or text(said.get("ai.toolCall.name"))
        reading.input = content(said.get("ai.toolCall.args"))
        reading.output = content(said.get("ai.toolCall.result"))
    elif reading.kind is SpanKind.EMBEDDING:
        value = said.get("ai.value")
        reading.input = content(said.get("ai.values") if value is None else _unquoted(value))
    else:
        given = said.get("ai.prompt.messages") or said.get("ai.prompt")
        reading.input = reading.input or _prompt(given)
        reading.output = reading.output or _reply(said)
    _read_metadata(reading, said)


def _read_kind(reading: Reading, operation: str, said: Attributes) -> None:
    if operation.startswith("ai.toolCall") or "ai.toolCall.name" in said:
        reading.set_kind(SpanKind.TOOL)
    elif ".doEmbed" in operation:
        reading.set_kind(SpanKind.EMBEDDING)
    elif ".doRerank" in operation:
        reading.set_kind(SpanKind.RETRIEVAL, "rerank")
    elif ".doGenerate" in operation or ".doStream" in operation:
        reading.set_kind(SpanKind.MODEL)
    elif operation.startswith("ai."):
        reading.set_kind(SpanKind.AGENT)


def _read_usage(reading: Reading, said: Attributes) -> None:
    def first(*names: str) -> JsonValue:
        found = (said[f"ai.usage.{name}"] for name in names if f"ai.usage.{name}" in said)
        return next(found, None)

    reading.set_tokens(
        input=first("inputTokens", "promptTokens", "tokens"),
        output=first("outputTokens", "completionTokens"),
        cached=first("inputTokenDetails.cacheReadTokens", "cachedInputTokens"),
        cache_write=first("inputTokenDetails.cacheWriteTokens"),
        reasoning=first("outputTokenDetails.reasoningTokens", "reasoningTokens"),
        total=first("totalTokens"),
    )
    if reading.beside is None:
        # Version 6 adds up by itself; version 5 hands on what the provider counts.
        adds = any(name.startswith("ai.usage.inputTokenDetails.") for name in said)
        reading.beside = not adds and reading.provider == "anthropic"
    if reading.first_us is None:
        waited = said.get("ai.response.msToFirstChunk", said.get("ai.stream.msToFirstChunk"))
        reading.first_us = microseconds(waited, _MILLISECOND)


def _prompt(given: JsonValue) -> str | None:
    """The messages. Its contents are always parts; one that is only a text becomes the text."""
    messages = read_messages(given, "user")
    for message in messages:
        parts = message.get("content")
        if isinstance(parts, list) and len(parts) == 1 and is_plain_text(parts[0]):
            message["content"] = parts[0]["text"]
    return written(messages) if messages else None


def _reply(said: Attributes) -> str | None:
    """The message that the model answered with, from its parts."""
    shown = said.get("ai.response.text")
    calls = parsed(said.get("ai.response.toolCalls"))
    if shown is None and "ai.response.object" in said:
        shown = said["ai.response.object"]
    if shown is None and not calls:
        return None
    message: Message = {"role": "assistant", "content": shown}
    if thought := said.get("ai.response.reasoning"):
        message["reasoning_content"] = thought
    if isinstance(calls, list) and calls:
        message["content"] = shown or None
        message["tool_calls"] = [_call(each) for each in calls]
    return written(read_messages(message, "assistant"))


def _call(said: Any) -> Any:
    if not isinstance(said, dict):
        return said
    arguments = said.get("input", said.get("args"))
    return tool_call(said.get("toolCallId"), said.get("toolName"), arguments)


def _unquoted(value: JsonValue) -> JsonValue:
    """The text in a JSON string, as which one value is sent."""
    inner = parsed(value)
    return inner if isinstance(inner, str) else value


def _read_metadata(reading: Reading, said: Attributes) -> None:
    """What the application said of the call: its session, and its tags as langfuse takes them."""
    for name in _THREADS:
        if reading.thread_id is None:
            reading.thread_id = name_of(said.get(_METADATA + name))
    for name in ("tags", "labels"):
        if _METADATA + name in said:
            reading.labels += texts(said[_METADATA + name])
