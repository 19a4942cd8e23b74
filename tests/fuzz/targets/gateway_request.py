"""Bodies of calls to the gateway, including the spans recorded of them."""

import json

from tests.fuzz.spans import check_whole
from treadle.gateway.apis import Target, find_target
from treadle.gateway.attempts import Attempt, GatewayCall
from treadle.gateway.call_spans import spans_of
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import Body, CallRequest, read_context
from treadle.llm.endpoint import Endpoint

_CHAT = {
    "model": "fake/small",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi 😀"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
    "stream": True,
    "stop": "x",
    "temperature": 0.5,
}
_RESPONSES = {
    "model": "fake/small",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So"}]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "there"},
        {"type": "item_reference", "id": "b"},
    ],
    "conversation": {"id": "c"},
    "max_output_tokens": 5,
}
_EMBEDDINGS = {"model": "fake/small", "input": ["a", "b"], "dimensions": 3}
_MESSAGES = {
    "model": "fake/small",
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": []}],
        },
    ],
    "tools": [{"name": "look", "input_schema": {}}],
    "metadata": {"user_id": "user_0_account_1_session_2"},
}
_CONTENTS = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"parts": [{"functionResponse": {"name": "look", "response": {}}}]},
        {"parts": [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "look"}]}],
    "generationConfig": {"topP": 0.5},
    "requests": [{"content": {"parts": [{"text": "a"}]}}],
}

REFUSALS = (RefusalError,)
SEEDS = tuple(
    json.dumps(each).encode() for each in (_CHAT, _RESPONSES, _EMBEDDINGS, _MESSAGES, _CONTENTS)
)
WORDS = (
    *(b'"model":', b'"messages":', b'"role":', b'"content":', b'"tool_calls":', b'"tools":'),
    *(b'"input":', b'"instructions":', b'"type":', b'"function_call"', b'"function_call_output"'),
    *(b'"reasoning"', b'"item_reference"', b'"stream":', b'"stop":', b'"conversation":', b'"id":'),
    *(b'"image_url"', b'"summary":', b"null", b"NaN", b"1e999"),
)

PATHS = (
    "/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/messages",
    "/v1/messages/count_tokens", "/v1beta/models/small:generateContent",
    "/v1beta/models/small:embedContent",
)  # fmt: skip
TARGETS = tuple(target for path in PATHS if (target := find_target("POST", path)) is not None)
ENDPOINT = Endpoint("fake", "small", "http://127.0.0.1:1/v1")
ANSWER = b'{"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}'


def parse(data: bytes) -> None:
    body = Body.read(data)
    body.encode("other", ask_for_usage=True)
    for target in TARGETS:
        asked = asked_for(target, data, body)
        assert asked.stream in (True, False)
        assert asked.images in (True, False)
        record(asked, ANSWER, "application/json")
    assert asked_for(TARGETS[0], data, body).model


def asked_for(target: Target, data: bytes, body: Body) -> CallRequest:
    """A call with that body."""
    return CallRequest(target, data, body, (), "", read_context({}), key="key-of-the-client")


def record(asked: CallRequest, answer: bytes, media_type: str) -> None:
    """Record the spans of a call with that answer."""
    attempt = Attempt(
        ENDPOINT, asked.content, "0" * 15 + "1", status=200, headers={"content-type": media_type}
    )
    attempt.add(answer)
    attempt.end()
    spans, _ = spans_of(GatewayCall(asked, start_ns=attempt.start_ns, attempts=[attempt]))
    check_whole(spans)
