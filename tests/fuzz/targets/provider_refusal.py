"""Error bodies of providers: the message for the person, and what Treadle learns."""

import json

from tests.fakes.wire_rules import violations
from treadle.events.types import CallKey
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from treadle.llm.model_probe import parse_models
from treadle.llm.provider_errors import from_body, from_response
from treadle.llm.refusals import Refusal, changes
from treadle.llm.strictness import Strictness
from treadle.llm.valid_history import Dialect
from treadle.llm.wire import encode

_SAID = (
    "Tool call id was call_t1 but must be a-z, A-Z, 0-9, with a length of 9.",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected maximum length 40.",
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    "Expected an ID that begins with 'fc_'.",
    "Unexpected role 'user' after role 'tool'",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "property 'messages.2.assistant.reasoning_content' is unsupported",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "Only user and assistant roles are supported!",
    "Function call is missing a thought_signature in functionCall parts.",
    "messages: text content blocks must be non-empty",
)
REFUSALS = (ValueError,)
"""For the list of models only."""
SEEDS = (
    *(json.dumps({"error": {"message": said, "code": 400}}).encode() for said in _SAID),
    b'{"object": "error", "message": {"detail": [{"type": "missing", "loc": ["body", 1]}]}}',
    b"<html><title>413 Request Entity Too Large</title></html>",
    b'{"data": [{"id": "m", "meta": {"n_ctx": 4096}}]}',
)
WORDS = (
    *(b'"error":', b'"message":', b'"code":', b'"param":', b'"detail":', b'"metadata":', b'"raw":'),
    *(b"tool_call_id", b"length", b"maximum", b"at most", b"[a-z", b"]{", b"role", b"alternate"),
    *(b"reasoning_content", b"missing", b"not permitted", b"tokens", b"context", b"exceeds"),
)

_CALL = ToolCall(CallKey(0, 0), "call_t1", "f", "{}")
_HISTORY: tuple[Message, ...] = (
    UserMessage("Go"),
    AssistantMessage(None, (_CALL, _CALL), "Hm", None, "fake", "m"),
    ToolMessage(_CALL.key, "1"),
    UserMessage("And?"),
)
_ENDPOINT = Endpoint("fake", "m", "http://127.0.0.1:1/v1")


def parse(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    sent = encode(_HISTORY, Dialect("fake", "m"))
    for status in (307, 400, 413, 429, 500):
        error = from_response(_ENDPOINT, status, body, {"location": text[:200]}, 0.0)
        assert len(error.message) < 2_000
        for strictness, change in changes(Refusal(error.body, Strictness(), sent)):
            assert change
            wire = encode(_HISTORY, Dialect("fake", "m", strictness))
            broken = violations({"messages": wire})
            assert not broken or strictness.call_ids.most > 40, (broken, strictness)
    from_body(_ENDPOINT, body)
    parse_models(body)
