"""Replies of a fake provider: scripts of bytes, and builders of OpenAI-style ones."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

JsonObject = dict[str, object]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for `seconds` of real time, or until `event` is set, or forever if both are None."""

    seconds: float | None = None
    event: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection here: by a reset, or cleanly within the body."""

    reset: bool = False


Step = bytes | Pause | Cut


@dataclass(frozen=True, slots=True)
class Script:
    """One HTTP response. Each bytes step is sent as one HTTP chunk, or in chunks of `split` bytes.

    `before` is played before the status line, to simulate a server that does not answer.
    """

    steps: tuple[Step, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    split: int | None = None
    before: tuple[Pause | Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an `Answer`. Arguments that are not text are written as JSON."""

    name: str
    arguments: object = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """A well-formed reply, sent as a stream or as one body, as the request demands."""

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    usage: Mapping[str, object] | None = None
    finish_reason: str | None = None
    piece: int = 12
    """Characters of each text or argument delta."""
    split: int | None = None
    pause: float = 0.0
    """Seconds between the deltas."""

    def script(self, *, stream: bool) -> Script:
        """The response of a well-behaved server."""
        if stream:
            return sse(*self._chunks(), split=self.split, pause=self.pause)
        return body(self._whole(), split=self.split)

    @property
    def _reason(self) -> str:
        return self.finish_reason or ("tool_calls" if self.calls else "stop")

    @property
    def _usage(self) -> Mapping[str, object]:
        return self.usage or usage()

    def _whole(self) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": self.text or None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": _id(call, slot),
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text},
                }
                for slot, call in enumerate(self.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._reason}
        return {**_head("chat.completion"), "choices": [choice], "usage": dict(self._usage)}

    def _chunks(self) -> list[JsonObject]:
        chunks = [delta(role="assistant", content="")]
        chunks += [delta(reasoning_content=part) for part in _parts(self.reasoning, self.piece)]
        chunks += [delta(content=part) for part in _parts(self.text, self.piece)]
        for slot, call in enumerate(self.calls):
            chunks.append(call_delta(slot, id=_id(call, slot), name=call.name, arguments=""))
            chunks += [call_delta(slot, arguments=part) for part in _parts(call.text, self.piece)]
        chunks.append(delta(finish_reason=self._reason))
        chunks.append(usage_chunk(self._usage))
        return chunks


def _id(call: Call, slot: int) -> str:
    return f"call_{slot}" if call.id is None else call.id


def _parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _head(kind: str) -> JsonObject:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "fake-model"}


def usage(prompt: int = 10, completion: int = 5, **more: object) -> JsonObject:
    """The usage object of a reply."""
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **more}


def delta(*, finish_reason: str | None = None, **fields: object) -> JsonObject:
    """A chunk with one choice; `fields` are those of its delta."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {**_head("chat.completion.chunk"), "choices": [choice]}


def call_delta(
    index: int | None = 0,
    *,
    id: str | None = None,  # noqa: A002  (the wire's own name)
    name: str | None = None,
    arguments: str | None = None,
    **more: object,
) -> JsonObject:
    """A chunk with a fragment of one tool call; None is left out."""
    function = {"name": name, "arguments": arguments}
    fragment: JsonObject = {"index": index, "id": id, "type": "function" if id else None, **more}
    fragment["function"] = {key: value for key, value in function.items() if value is not None}
    return delta(tool_calls=[{key: v for key, v in fragment.items() if v is not None}])


def whole(*, finish_reason: str | None = "stop", **message: object) -> JsonObject:
    """The body of an unstreamed reply; `message` has the fields of its message."""
    message = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {**_head("chat.completion"), "choices": [choice], "usage": usage()}


def usage_chunk(values: Mapping[str, object] | None = None) -> JsonObject:
    """The last chunk of a stream with `include_usage`: no choices."""
    return {**_head("chat.completion.chunk"), "choices": [], "usage": dict(values or usage())}


def sse(
    *events: Mapping[str, object] | str | Step,
    done: bool = True,
    split: int | None = None,
    pause: float = 0,
) -> Script:
    """A stream of server-sent events.

    An object becomes a data line, a text is sent unchanged (a comment, a broken line), other steps
    are played. `done` adds `data: [DONE]`.
    """
    steps: list[Step] = []
    for event in events:
        if steps and pause:
            steps.append(Pause(pause))
        if isinstance(event, Mapping):
            event = f"data: {json.dumps(event)}\n\n"  # noqa: PLW2901
        steps.append(event.encode() if isinstance(event, str) else event)
    if done:
        steps.append(b"data: [DONE]\n\n")
    return Script(tuple(steps), headers={"content-type": "text/event-stream"}, split=split)


def comment(text: str = "PROCESSING") -> str:
    """An SSE comment line, as providers send to keep a connection open."""
    return f": {text}\n\n"


def body(
    value: object,
    *,
    status: int = 200,
    split: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Script:
    """One JSON body."""
    named = headers or {}
    content = json.dumps(value).encode()
    return Script((content,), status, {"content-type": "application/json", **named}, split)


def error(
    status: int, message: str = "it failed", *, code: object = None, **headers: str
) -> Script:
    """An error response of the common form. Header names are written with `_` for `-`."""
    headers = {name.replace("_", "-"): text for name, text in headers.items()}
    kind: Literal["error"] = "error"
    value = {"error": {"message": message, "type": kind, "code": code}}
    return body(value, status=status, headers=headers)
