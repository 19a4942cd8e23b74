"""Replies of providers as a session reads them, and the resulting history."""

import asyncio
import json
from collections.abc import AsyncIterator

from tests.fakes.wire_rules import violations
from treadle.clock import SystemClock
from treadle.events.types import CallKey
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage
from treadle.llm.provider_errors import ProviderError
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.reply_stream import IdleWatchdog, ReplyReader
from treadle.llm.strictness import NINE_LETTERS, Reasoning, Strictness
from treadle.llm.valid_history import Dialect
from treadle.llm.wire import encode, encode_flat
from treadle.session.tool_results import split_truncated_calls

_CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHUNKS = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "Hm"}}]},
    {"choices": [{"index": 0, "delta": {"content": "Hi", "tool_calls": [_CALL]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{**_CALL, "index": 1, "id": ""}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
    {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.1}},
)
_DETAIL = {"type": "reasoning.text", "text": "x", "index": 0, "signature": "s"}
_WHOLE = {
    "choices": [
        {
            "message": {"content": None, "tool_calls": [_CALL], "reasoning_details": [_DETAIL]},
            "finish_reason": "tool_calls",
        }
    ],
}

REFUSALS = (ProviderError,)
SEEDS = (
    b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in _CHUNKS) + b"data: [DONE]",
    json.dumps(_WHOLE).encode(),
    json.dumps({"error": {"message": "broken", "code": 500}}).encode(),
    json.dumps({"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]}).encode(),
)
WORDS = (
    *(b"data: ", b"event: error", b"\n\n", b"[DONE]", b'"choices":', b'"delta":', b'"message":'),
    *(b'"content":', b'"tool_calls":', b'"index":', b'"id":', b'"function":', b'"name":'),
    *(b'"arguments":', b'"finish_reason":', b'"length"', b'"reasoning_content":', b"null"),
    *(b'"reasoning_details":', b'"extra_content":', b'"usage":', b"\\ud800", b"NaN", b"1e999"),
)

_ENDPOINT = Endpoint("fake", "m", "http://127.0.0.1:1/v1")
_STRICT = Strictness(NINE_LETTERS, alternating=True, reasoning=Reasoning.REQUIRED)


class _Response:
    """The part of a response that the reader needs: a type, and the bytes in two chunks."""

    def __init__(self, data: bytes, media_type: str) -> None:
        self.headers = {"content-type": media_type}
        self._data = data

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        middle = len(self._data) // 2
        for piece in (self._data[:middle], self._data[middle:]):
            yield piece

    async def read(self) -> bytes:
        return self._data


def parse(data: bytes) -> None:
    refused: ProviderError | None = None
    for media_type in ("application/json", "text/event-stream"):
        try:
            asyncio.run(_read(_Response(data, media_type)))
        except ProviderError as error:
            refused = error
    if refused is not None:
        raise refused


async def _read(response: _Response) -> None:
    async def waiting(_seconds: float) -> None: ...

    assembler = DeltaAssembler(_ENDPOINT, turn=0, tools=frozenset({"f"}))
    reader = ReplyReader(_ENDPOINT, assembler, IdleWatchdog(60, SystemClock(), waiting))
    async for _ in reader.read(response, streamed=True):
        pass
    message = assembler.reply(done=reader.done).message
    whole, cut = split_truncated_calls(message.calls)
    kept = AssistantMessage(
        message.text, (*whole, *cut), message.reasoning, message.opaque, "fake", "m"
    )
    history: list[Message] = [UserMessage("Go"), kept, ToolMessage(CallKey(0, 0), "1")]
    dialect = Dialect("fake", "m", _STRICT)
    for wire in (encode(history, dialect), encode_flat(history, dialect)):
        assert violations({"messages": wire}) == []
        json.dumps(wire, ensure_ascii=False).encode()
