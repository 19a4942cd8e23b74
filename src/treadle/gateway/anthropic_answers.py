"""Reads answers of Anthropic's Messages API, whole and streamed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from treadle.events.types import Usage
from treadle.gateway.media_notes import without_media
from treadle.gateway.native_requests import plain_blocks
from treadle.gateway.recorded_answer import (
    Read,
    Timed,
    events_of,
    ids_of,
    object_of,
    texts_of,
    to_json,
)
from treadle.llm import provider_errors
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import ProviderError
from treadle.llm.usage import read_usage
from treadle.spans.vocabularies.messages import read_messages

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking"}
"""Maps the type of a delta to the field of the block that it extends."""


def read(endpoint: Endpoint, blocks: Iterable[Timed], *, streamed: bool) -> Read:
    """Read an answer. Raises an error such as ValueError for a malformed answer."""
    if streamed:
        return _read_stream(endpoint, blocks)
    body = json.loads(b"".join(block for _, block in blocks))
    if isinstance(body.get("input_tokens"), int):  # an answer of `count_tokens`
        return Read(output=to_json(body), usage=Usage())
    return _read_message(body)


def _read_message(message: Mapping[str, Any]) -> Read:
    content = message.get("content")
    plain = plain_blocks(without_media(content, images=False))
    reply = {"role": "assistant", "content": plain}
    return Read(
        output=to_json(read_messages(reply, "assistant")) if content else None,
        usage=read_usage(message.get("usage") or {}),
        finish_reasons=texts_of([message.get("stop_reason")]),
        **ids_of(message),
    )


def _read_stream(endpoint: Endpoint, blocks: Iterable[Timed]) -> Read:
    message = _PartialMessage()
    first_ns: int | None = None
    error: ProviderError | None = None
    for at, data in events_of(blocks):
        event = object_of(data.text)
        if event is None:
            continue
        if event.get("type") == "error":
            error = error or provider_errors.from_body(endpoint, event)
        elif message.add(event) and first_ns is None:
            first_ns = at
    found = replace(_read_message(message.complete()), first_ns=first_ns)
    if error is not None:
        found = replace(found, error=error.message, error_type=error.kind.value)
    return found


class _PartialMessage:
    """Assembles a message from the events of its stream."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, str] = {}
        self._counted = False

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add an event, and return whether it contains a part of the reply."""
        kind = event.get("type")
        if kind == "message_start":
            self._head = dict(event["message"])
        elif kind == "message_delta":
            self._head |= {k: v for k, v in (event.get("delta") or {}).items() if v is not None}
            self._counted = True
            counts = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
            self._head["usage"] = {**(self._head.get("usage") or {}), **counts}
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
            return self._blocks[event["index"]].get("type") == "tool_use"
        elif kind == "content_block_delta":
            return self._extend(event["index"], event["delta"])
        return False

    def _extend(self, index: int, delta: Mapping[str, Any]) -> bool:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._arguments[index] = self._arguments.get(index, "") + delta["partial_json"]
        elif (name := _TEXTS.get(str(kind))) is not None:
            block[name] = (block.get(name) or "") + delta[name]
        else:
            return False  # a signature or a citation
        return True

    def complete(self) -> dict[str, Any]:
        """The message with the blocks that have arrived. Arguments are texts, as they arrived."""
        for index, text in self._arguments.items():
            if text:
                self._blocks[index]["input"] = text
        if not self._counted and isinstance(self._head.get("usage"), Mapping):
            # The first event has a count of output tokens that is not final.
            known = {k: v for k, v in self._head["usage"].items() if k != "output_tokens"}
            self._head["usage"] = known
        return {**self._head, "content": [block for _, block in sorted(self._blocks.items())]}
