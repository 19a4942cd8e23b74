"""Parses answers for the trace, and removes usage chunks that a client did not request.

A usage chunk is the event of a stream that states the number of used tokens.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from treadle.gateway import anthropic_answers, gemini_answers, media_answers
from treadle.gateway.apis import Api, Operation
from treadle.gateway.attempts import COPY_LIMIT, Attempt
from treadle.gateway.conversion import merge_assistant_messages, messages_of_items
from treadle.gateway.media_notes import base64_size
from treadle.gateway.recorded_answer import (
    Read,
    Timed,
    events_of,
    ids_of,
    object_of,
    texts_of,
    to_json,
)
from treadle.gateway.request import CallRequest
from treadle.llm import provider_errors
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage
from treadle.llm.provider_errors import ProviderError
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.usage import read_cost, read_usage

_NATIVE = {Api.ANTHROPIC: anthropic_answers.read, Api.GEMINI: gemini_answers.read}


def read_answer(request: CallRequest, attempt: Attempt) -> Read:
    """Parse the answer to an attempt. Returns the readable part of a malformed answer."""
    blocks = _decode(attempt.blocks, attempt.headers.get("content-encoding", ""), COPY_LIMIT)
    if attempt.status is None or attempt.status >= 400:
        return _failure(attempt, b"".join(block for _, block in blocks))
    try:
        return _read_success(request, attempt, blocks)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # A malformed answer must not prevent the recording of the call's other values.
        kind = f"unreadable answer ({type(error).__name__})"
        return Read(error=attempt.error, error_type=kind, unreadable=True)


def _read_success(request: CallRequest, attempt: Attempt, blocks: Iterable[Timed]) -> Read:
    streamed = "event-stream" in attempt.headers.get("content-type", "").lower()
    if request.operation.passes_through:
        model_call = request.operation.makes_media
        return media_answers.read(attempt, list(blocks), model_call=model_call)
    if (read := _NATIVE.get(request.target.api)) is not None:
        return read(attempt.endpoint, blocks, streamed=streamed)
    if streamed and request.operation is Operation.RESPONSES:
        return _responses_stream(attempt.endpoint, blocks)
    if streamed:
        return _chat_stream(request, attempt.endpoint, blocks)
    return _read_body(request, attempt.endpoint, b"".join(block for _, block in blocks))


def _failure(attempt: Attempt, content: bytes) -> Read:
    text = content.decode("utf-8", "replace")
    if attempt.status is None or attempt.error is not None:
        return Read(output=text or None)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    error = provider_errors.from_response(attempt.endpoint, attempt.status, body, {}, 0.0)
    return Read(output=text or None, error=error.message, error_type=error.kind.value)


def unpacked(content: bytes, encoding: str, limit: int) -> bytes | None:
    """Decompress an answer to at most `limit` bytes. Returns None if it cannot be decompressed."""
    plain = b"".join(block for _, block in _decode([(0, content)], encoding, limit))
    return plain if plain or not content else None


def _decode(blocks: Iterable[Timed], encoding: str, limit: int) -> Iterator[Timed]:
    """Decompress the parts to at most `limit` bytes in total.

    The result ends before the first malformed part.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        yield from blocks
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        return
    stream = zlib.decompressobj(47 if "gzip" in encoding else 15)
    left = limit  # a few bytes may decompress to gigabytes
    for at, block in blocks:
        try:
            plain = stream.decompress(block, left)
        except zlib.error:
            return
        yield at, plain
        left -= len(plain)
        if left <= 0:  # zlib would read a limit of 0 as no limit
            return


def _read_body(request: CallRequest, endpoint: Endpoint, content: bytes) -> Read:
    if not content.strip():
        return Read()
    body = json.loads(content)
    if not isinstance(body, dict):
        return Read(output=content.decode("utf-8", "replace"))
    if request.operation is Operation.RESPONSES:
        return _response(endpoint, body)
    assembler = _assembler(endpoint, request)
    error = None
    try:
        assembler.feed(body)
    except ProviderError as failed:
        error = failed
    usage, cost = assembler.reported_usage
    found = Read(usage=usage, cost=cost, **ids_of(body))
    if error is not None:
        return replace(found, error=error.message, error_type=error.kind.value)
    if request.operation is Operation.EMBEDDINGS:
        return _embeddings(body, found)
    choices = [choice for choice in body.get("choices") or () if isinstance(choice, dict)]
    messages = [choice["message"] for choice in choices if "message" in choice]
    return replace(
        found,
        output=to_json(messages) if messages else content.decode("utf-8", "replace"),
        finish_reasons=texts_of(choice.get("finish_reason") for choice in choices),
    )


def _embeddings(body: Mapping[str, Any], found: Read) -> Read:
    """Add the values of an embeddings answer to `found`.

    The vectors themselves are left out, since they are large and can be computed again.
    """
    vectors = [each.get("embedding") for each in body.get("data") or () if isinstance(each, dict)]
    usage = found.usage
    if usage.input is not None and usage.output is None:
        usage = replace(usage, output=0)  # an embedding has no output tokens
    sizes = {size for vector in vectors if (size := _dimensions(vector)) is not None}
    summary = {"embeddings": len(vectors), "dimensions": min(sizes, default=None)}
    return replace(found, usage=usage, output=to_json(summary), dimensions=summary["dimensions"])


def _dimensions(vector: object) -> int | None:
    """The number of dimensions of a vector.

    A vector is a list of numbers, or a base64 text that encodes numbers of 4 bytes. The result is
    None for any other value.
    """
    if isinstance(vector, list):
        return len(vector)
    if isinstance(vector, str) and vector:
        return base64_size(vector) // 4
    return None


def _chat_stream(request: CallRequest, endpoint: Endpoint, blocks: Iterable[Timed]) -> Read:
    """Parse a streamed chat answer. Each choice is assembled separately."""
    choices: dict[int, DeltaAssembler] = {}
    base = _assembler(endpoint, request)  # collects the fields outside the choices
    named: dict[str, Any] = {}
    first_ns: int | None = None
    error: ProviderError | None = None
    for at, data in events_of(blocks):
        chunk = object_of(data.text)
        if chunk is None:
            continue
        named = named or ids_of(chunk)
        try:
            if data.event == "error":
                raise provider_errors.from_body(endpoint, chunk)
            base.feed({**chunk, "choices": None})
            for choice in chunk.get("choices") or ():
                base.feed({"usage": choice.get("usage")})
                index = choice.get("index") or 0
                own = choices.setdefault(index, _assembler(endpoint, request))
                shown = own.feed({"choices": [{**choice, "index": 0}]})
                delta = choice.get("delta") or {}
                if first_ns is None and (shown or delta.get("tool_calls")):
                    first_ns = at
        except ProviderError as failed:
            error = error or failed
    messages = []
    for _, own in sorted(choices.items()):
        try:
            messages.append(_message(own.reply(done=True).message))
        except ProviderError:
            continue  # nothing arrived
    usage, cost = base.reported_usage
    return Read(
        output=to_json(messages) if messages else None,
        usage=usage,
        cost=cost,
        finish_reasons=texts_of(own.finish_reason for _, own in sorted(choices.items())),
        first_ns=first_ns,
        error=error.message if error else None,
        error_type=error.kind.value if error else None,
        **named,
    )


def _responses_stream(endpoint: Endpoint, blocks: Iterable[Timed]) -> Read:
    first_ns: int | None = None
    last: dict[str, Any] = {}
    done: list[object] = []
    text: list[str] = []
    error: ProviderError | None = None
    for at, data in events_of(blocks):
        event = object_of(data.text)
        if event is None:
            continue
        kind = str(event.get("type") or data.event)
        if kind.endswith(".delta") and first_ns is None:
            first_ns = at
        if kind == "response.output_text.delta":
            text.append(str(event.get("delta", "")))
        elif kind == "response.output_item.done":
            done.append(event.get("item"))
            text.clear()
        elif kind == "error":
            error = provider_errors.from_body(endpoint, event)
        if isinstance(event.get("response"), dict):
            last = event["response"]
    if not last.get("output"):  # the stream broke off, so the output is built from its events
        partial = [{"type": "message", "role": "assistant", "content": "".join(text)}]
        last = {**last, "output": [*done, *(partial if text else ())]}
    found = replace(_response(endpoint, last), first_ns=first_ns)
    if error is not None:
        found = replace(found, error=error.message, error_type=error.kind.value)
    return found


def _response(endpoint: Endpoint, body: Mapping[str, Any]) -> Read:
    usage = body.get("usage") or {}
    failed = provider_errors.from_body(endpoint, body) if body.get("error") else None
    messages = merge_assistant_messages(messages_of_items(body.get("output") or ()))
    incomplete = body.get("incomplete_details")
    reason = incomplete.get("reason") if isinstance(incomplete, dict) else body.get("status")
    return Read(
        output=to_json(messages) if messages else None,
        usage=read_usage(usage),
        cost=read_cost(usage.get("cost")),
        finish_reasons=texts_of([reason]),
        error=failed.message if failed else None,
        error_type=failed.kind.value if failed else None,
        **ids_of(body),
    )


def _assembler(endpoint: Endpoint, request: CallRequest) -> DeltaAssembler:
    names = (tool.get("function", tool) for tool in request.tools)
    offered = frozenset(
        str(tool["name"]) for tool in names if isinstance(tool, Mapping) and "name" in tool
    )
    return DeltaAssembler(endpoint, turn=0, tools=offered)


def _message(message: AssistantMessage) -> dict[str, object]:
    """The message in the format of an answer that is not streamed."""
    written: dict[str, object] = {"role": "assistant", "content": message.text}
    if message.reasoning is not None:
        written["reasoning_content"] = message.reasoning
    if message.calls:
        written["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return written


_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
"""Matches a complete line with its line end."""

_LONGEST = 65_536
"""The maximum size in bytes of an incomplete line that is held back.

A usage chunk has only a few hundred bytes.
"""


class UsageFilter:
    """Removes the usage chunk from a stream of bytes.

    The filter holds back an incomplete line until it is complete. This delays no client, since a
    client cannot parse an incomplete line. A line that is too long for a usage chunk is forwarded
    as it arrives.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._dropped = False
        self._overlong = False

    def feed(self, chunk: bytes) -> bytes:
        """Add `chunk` to the stream, and return the bytes that may be forwarded now."""
        passed = b""
        if self._overlong:
            line = _LINE.match(chunk)
            end = line.end() if line else len(chunk)
            passed, chunk = chunk[:end], chunk[end:]
            self._overlong = line is None
        data = self._rest + chunk
        end = _last_end(data)
        self._rest = data[end:]
        whole = data[:end]
        if self._dropped or b'"usage"' in whole:
            whole = b"".join(line for line in _LINE.findall(whole) if self._stays(line))
        if len(self._rest) > _LONGEST:
            whole, self._rest = whole + self._rest, b""
            self._dropped, self._overlong = False, True
        return passed + whole

    def end(self) -> bytes:
        """Return the bytes that were held back. Call this method when the stream has ended."""
        rest, self._rest = self._rest, b""
        return rest if self._stays(rest) else b""

    def _stays(self, line: bytes) -> bool:
        if self._dropped and not line.strip():  # the empty line after the usage chunk
            self._dropped = False
            return False
        self._dropped = _is_usage(line)
        return not self._dropped


def _last_end(data: bytes) -> int:
    """The position after the last complete line.

    A CR at the end of `data` does not count as a line end, since it may be the first half of CRLF.
    """
    end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1))
    return end + 1


def _is_usage(line: bytes) -> bool:
    if not (line.startswith(b"data:") and b'"usage"' in line):
        return False
    try:
        chunk = json.loads(line[5:])
    except (ValueError, RecursionError):
        return False
    return isinstance(chunk, dict) and chunk.get("choices") == [] and bool(chunk.get("usage"))
