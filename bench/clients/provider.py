"""The replies of the fake provider. Each depends on the request alone, not on the order."""

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.clients import scenario
from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Answer, Call, Pause, Script, body, error, usage
from treadle.events.types import Usage

DELAY = 0.02
"""Seconds before every reply."""
FIRST_TOKEN = 0.05
"""Seconds before the first chunk of a stream, after its headers."""
BETWEEN = 0.005
"""Seconds between the chunks of a stream."""

CALL = Usage(input=100, output=20, cached=64)
REPLY = Usage(input=150, output=12, reasoning=7)
STREAM = Usage(input=110, output=14, cached=32)
THOUGHTS = Usage(input=80, output=30, cached=16, reasoning=10)
IMAGE = Usage(input=300, output=6)
FAILING_CALL = Usage(input=60, output=18)
FAILING_REPLY = Usage(input=90, output=9)
EMBEDDING = Usage(input=4, output=0)
IMAGE_ANSWER, FAILING_ANSWER = "A red dot.", "I do not know that city."
REASON = "The user asks about Zürich."


def provider() -> FakeProvider:
    """A provider with more replies than any client needs."""
    return FakeProvider([reply] * 500, models=(scenario.MODEL, scenario.EMBEDDER), strict=False)


def reply(request: RecordedRequest) -> Script:
    """The reply to a request."""
    given = json.dumps(request.body, ensure_ascii=False)
    if request.path.endswith("/embeddings"):
        script = _embedding(request.body)
    elif scenario.REFUSED_QUESTION in given:
        script = error(429, "rate limited", code="rate_limit_exceeded")
    else:
        text, call, used = _content(request, given)
        write = _response if request.path.endswith("/responses") else _chat
        script = write(request.body, text, call, used)
    number = zlib.crc32(given.encode())
    model = str(request.body.get("model", "")).encode()
    steps = [
        each.replace(b'"fake-model"', b'"%b"' % model).replace(b"cmpl-1", b"cmpl-%d" % number)
        if isinstance(each, bytes)
        else each
        for each in script.steps
    ]
    return replace(script, steps=tuple(steps), before=(Pause(DELAY),))


def _content(request: RecordedRequest, given: str) -> tuple[str, Call | None, Usage]:
    answered = '"role": "tool"' in given or "function_call_output" in given
    fails = scenario.FAILING_QUESTION in given
    if "input_image" in given or "image_url" in given:
        return IMAGE_ANSWER, None, IMAGE
    if request.body.get("tools") and not answered:
        city = scenario.FAILING_CITY if fails else scenario.CITY
        name = "call_atlantis" if fails else "call_weather"
        arguments = json.dumps({"city": city}, ensure_ascii=False)
        return "", Call("get_weather", arguments, id=name), FAILING_CALL if fails else CALL
    if answered:
        return (FAILING_ANSWER, None, FAILING_REPLY) if fails else (scenario.ANSWER, None, REPLY)
    if request.path.endswith("/responses"):
        return scenario.ANSWER, None, THOUGHTS
    return scenario.ANSWER, None, STREAM


def _chat(asked: Mapping[str, Any], text: str, call: Call | None, used: Usage) -> Script:
    counts = usage(
        used.input or 0,
        used.output or 0,
        prompt_tokens_details={"cached_tokens": used.cached or 0},
        completion_tokens_details={"reasoning_tokens": used.reasoning or 0},
    )
    calls = [] if call is None else [call]
    answer = Answer(text, calls=calls, usage=counts, pause=BETWEEN, piece=3)
    script = answer.script(stream=bool(asked.get("stream")))
    if not asked.get("stream"):
        return script
    steps = script.steps
    if not (asked.get("stream_options") or {}).get("include_usage"):
        steps = tuple(each for each in steps if b'"usage"' not in bytes_of(each))
    return replace(script, steps=(Pause(FIRST_TOKEN), *steps))


def bytes_of(step: object) -> bytes:
    """The bytes of a step, which are empty for a pause."""
    return step if isinstance(step, bytes) else b""


def _response(asked: Mapping[str, Any], text: str, call: Call | None, used: Usage) -> Script:
    """A reply of the Responses API, which is not streamed."""
    output: list[dict[str, Any]] = []
    if used.reasoning:
        summary = [{"type": "summary_text", "text": REASON}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if call is not None:
        called = {"call_id": call.id, "name": call.name, "arguments": call.text}
        output.append({"type": "function_call", "id": "fc_1", "status": "completed", **called})
    else:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
        output.append({**message, "content": content})
    return body(
        {
            "id": "resp_cmpl-1", "object": "response", "created_at": 1, "status": "completed",
            "model": asked.get("model"), "instructions": asked.get("instructions"),
            "output": output, "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": asked.get("tools") or [],
            "usage": {
                "input_tokens": used.input,
                "input_tokens_details": {"cached_tokens": used.cached or 0},
                "output_tokens": used.output,
                "output_tokens_details": {"reasoning_tokens": used.reasoning or 0},
                "total_tokens": (used.input or 0) + (used.output or 0),
            },
        }
    )  # fmt: skip


def _embedding(asked: Mapping[str, Any]) -> Script:
    vector: Any = [0.25, -0.5]
    if asked.get("encoding_format") == "base64":
        vector = base64.b64encode(struct.pack("<2f", *vector)).decode()
    entry = {"object": "embedding", "index": 0, "embedding": vector}
    counts = {"prompt_tokens": EMBEDDING.input, "total_tokens": EMBEDDING.input}
    return body({"object": "list", "model": "fake-model", "data": [entry], "usage": counts})
