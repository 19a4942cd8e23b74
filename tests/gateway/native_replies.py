"""Replies in the forms of Anthropic's and Gemini's APIs, for fake providers."""

from collections.abc import Sequence
from typing import Any

from tests.fakes.replies import Script, body, sse

CITY = "Zürich"
ANSWER = "It rains in Zürich."
THOUGHT = "The user asks about the weather."

_MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5-20260301",
    "stop_sequence": None,
}  # fmt: skip
_CACHED = {
    "input_tokens": 30, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64,
    "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 0},
    "service_tier": "standard",
}  # fmt: skip


def _anthropic(content: list[Any], reason: str, usage: dict[str, Any]) -> Script:
    return body({**_MESSAGE, "content": content, "stop_reason": reason, "usage": usage})


def _text(text: str) -> list[Any]:
    return [{"type": "text", "text": text}]


def _events(*events: dict[str, Any]) -> Script:
    texts = [f"event: {each['type']}\n" for each in events]
    steps = [part for pair in zip(texts, events, strict=True) for part in pair]
    return sse(*steps, done=False)


def _block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


_THINKING = [
    {"type": "thinking_delta", "thinking": THOUGHT},
    {"type": "signature_delta", "signature": "c2lnbmF0dXJl"},
]
_ARGUMENTS = [
    {"type": "input_json_delta", "partial_json": part} for part in ("", '{"city": "Zü', 'rich"}')
]
_TOOL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather"}

ANTHROPIC_STREAM: tuple[dict[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {
            **_MESSAGE,
            "content": [],
            "stop_reason": None,
            "usage": {**_CACHED, "output_tokens": 1},
        },
    },
    {"type": "ping"},
    *_block(0, {"type": "thinking", "thinking": "", "signature": ""}, *_THINKING),
    *_block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."}),
    *_block(2, {**_TOOL, "input": {}}, *_ARGUMENTS),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 20},
    },
    {"type": "message_stop"},
)
ANTHROPIC_RATE_LIMIT = {
    "type": "error", "error": {"type": "rate_limit_error", "message": "rate limited"}
}  # fmt: skip


def anthropic_events(*events: dict[str, Any]) -> Script:
    """A stream of Anthropic's API."""
    return _events(*events)


def anthropic_replies() -> list[Script]:
    """The replies to the calls of the client's program, in order."""
    thinking = {"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmF0dXJl"}
    call = {**_TOOL, "input": {"city": CITY}}
    return [
        _anthropic(_text("Hello"), "end_turn", {"input_tokens": 8, "output_tokens": 3}),
        _anthropic(
            [thinking, {"type": "text", "text": "I look."}, call], "tool_use",
            {**_CACHED, "output_tokens": 20},
        ),
        _anthropic(_text(ANSWER), "end_turn", {"input_tokens": 150, "output_tokens": 12}),
        _events(*ANTHROPIC_STREAM),
        body({"input_tokens": 7}),
        body(ANTHROPIC_RATE_LIMIT, status=429, headers={"retry-after": "1"}),
    ]  # fmt: skip


def _gemini(
    parts: Sequence[dict[str, Any]], usage: dict[str, Any] | None, reason: str | None = "STOP"
) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    reply = {"candidates": [candidate], "responseId": "resp_1", "modelVersion": "gemini-3.5-flash"}
    return {**reply, "usageMetadata": usage} if usage else reply


def _gemini_usage(prompt: int, answer: int, thoughts: int = 0, cached: int = 0) -> dict[str, Any]:
    counts = {
        "promptTokenCount": prompt, "candidatesTokenCount": answer,
        "totalTokenCount": prompt + answer + thoughts,
    }  # fmt: skip
    if thoughts:
        counts["thoughtsTokenCount"] = thoughts
    if cached:
        counts["cachedContentTokenCount"] = cached
    return counts


_GEMINI_CALL = {
    "functionCall": {"name": "get_weather", "args": {"city": CITY}},
    "thoughtSignature": "c2lnbmF0dXJl",
}
_GEMINI_THOUGHT = {"text": THOUGHT, "thought": True}

GEMINI_STREAM = (
    _gemini([_GEMINI_THOUGHT], _gemini_usage(100, 0, 4, 64), None),
    _gemini([{"text": "It rains "}], None, None),
    _gemini([{"text": "in Zürich."}], _gemini_usage(100, 13, 7, 64)),
)


def gemini_replies() -> list[Script]:
    """The replies to the calls of the client's program, in order."""
    limit = {"error": {"code": 429, "message": "rate limited", "status": "RESOURCE_EXHAUSTED"}}
    return [
        body(_gemini([{"text": "Hello"}], _gemini_usage(8, 3))),
        body(_gemini([_GEMINI_THOUGHT, _GEMINI_CALL], _gemini_usage(100, 13, 7, 64))),
        body(_gemini([{"text": ANSWER}], _gemini_usage(150, 12))),
        sse(*GEMINI_STREAM, done=False),
        body({"embeddings": [{"values": [0.5, 0.25, 1.0]}]}),
        body({"totalTokens": 7}),
        body(limit, status=429),
    ]
