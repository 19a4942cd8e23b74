"""Answers of providers that the gateway forwards, including the spans recorded of them."""

import json

from tests.fuzz.targets.gateway_request import TARGETS, asked_for, record
from tests.gateway.native_replies import ANTHROPIC_STREAM, GEMINI_STREAM
from treadle.gateway.request import Body

_USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
_CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHUNKS = (
    {"id": "r", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
    {"choices": [{"index": 0, "delta": {"content": "Hi", "tool_calls": [_CALL]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": _USAGE},
)
_ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "H"}]}
_EVENTS = (
    {"type": "response.output_text.delta", "delta": "H"},
    {"type": "response.output_item.done", "item": _ITEM},
    {"type": "response.completed", "response": {"output": [_ITEM], "usage": {"input_tokens": 3}}},
)
_WHOLE = {
    "id": "r",
    "model": "m",
    "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": _USAGE,
}


def _stream(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


REFUSALS = ()
SEEDS = (
    json.dumps(_WHOLE).encode(),
    json.dumps({"output": [_ITEM], "usage": {"input_tokens": 3}, "status": "completed"}).encode(),
    json.dumps({"data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 2}}).encode(),
    json.dumps({"error": {"message": "broken", "code": 500}}).encode(),
    _stream(*_CHUNKS) + b"data: [DONE]\n\n",
    _stream(*_EVENTS),
    _stream(*ANTHROPIC_STREAM),
    _stream(*GEMINI_STREAM),
    json.dumps(ANTHROPIC_STREAM[0]).encode(),
    json.dumps(GEMINI_STREAM[0]).encode(),
)
WORDS = (
    *(b"data: ", b"event: ", b"\n\n", b"[DONE]", b'"choices":', b'"delta":', b'"message":'),
    *(b'"usage":', b'"prompt_tokens":', b'"completion_tokens":', b'"cost":', b'"error":'),
    *(b'"tool_calls":', b'"index":', b'"function":', b'"output":', b'"response":', b'"type":'),
    *(b'"finish_reason":', b'"data":', b'"embedding":', b"null", b"NaN", b"1e999", b"-1"),
)

_REQUEST = b'{"model": "fake/small", "stream": true, "tools": [{"name": "f"}]}'


def parse(data: bytes) -> None:
    body = Body.read(_REQUEST)
    for target in TARGETS:
        for media_type in ("application/json", "text/event-stream"):
            record(asked_for(target, _REQUEST, body), data, media_type)
