"""Assembles a reply from the chunks of a stream, or from one whole body, without I/O.

The module handles faults of real servers. Examples are parallel calls under one index, errors in
the middle of a stream, and ids or names that come late, twice or in parts. The module also keeps
the opaque fields, which the server wants back unchanged.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from treadle.events.types import CallKey, Usage
from treadle.llm import provider_errors
from treadle.llm.call_fragments import CallSlots
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage, ModelReply, ToolCall
from treadle.llm.usage import read_cost, read_usage

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""The fields in which servers send reasoning as text. If a message has both, the first is read."""

_OPAQUE_FIELDS = (
    "reasoning_details",
    "thinking_blocks",
    "extra_content",
    "encrypted_content",
    "signature",
    "reasoning_signature",
    "thought_signature",
)
"""Fields of a message that a server wants back unchanged."""

ECHOED_FIELDS = REASONING_FIELDS + _OPAQUE_FIELDS
"""Fields that are sent back to the model that sent them."""

_JOINED = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Maps the type of a reasoning detail to the field whose text arrives in parts."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Text to show to the person. `reasoning` states whether it is reasoning of the model."""

    text: str
    reasoning: bool = False


class DeltaAssembler:
    """Assembles one reply from its parsed chunks. `reply` returns the complete reply."""

    def __init__(self, endpoint: Endpoint, *, turn: int, tools: frozenset[str]) -> None:
        self._endpoint = endpoint
        self._turn = turn
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._opaque: dict[str, object] = {}
        self._slots = CallSlots(tools)
        self._usage = Usage()
        self._counted: dict[str, object] = {}
        self._cost: float | None = None
        self.finish_reason: str | None = None
        self.grown = 0
        """The number of parts of text, arguments and opaque fields so far."""

    @property
    def reported_usage(self) -> tuple[Usage, float | None]:
        """The reported tokens and the cost in US dollars so far."""
        return self._usage, self._cost

    def feed(self, chunk: object) -> list[Shown]:
        """Add a chunk, and return its text for the person.

        Raises ProviderError for an error object or an invalid chunk.
        """
        if isinstance(chunk, list) and chunk and isinstance(chunk[0], Mapping):
            return [shown for each in chunk for shown in self.feed(each)]
        if not isinstance(chunk, Mapping):
            raise provider_errors.protocol(
                self._endpoint, f"a chunk that is not an object: {str(chunk)[:80]}"
            )
        if chunk.get("error") or chunk.get("object") == "error" or chunk.get("type") == "error":
            raise provider_errors.from_body(self._endpoint, chunk)
        self._read_usage(chunk.get("usage"))
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return []
        shown: list[Shown] = []
        for choice in choices:
            if isinstance(choice, Mapping) and not choice.get("index"):
                shown += self._choice(choice)
        return shown

    def feed_whole(self, body: object) -> list[Shown]:
        """Like `feed`, for a reply in one body. Raises ProviderError if the body has no choices."""
        shown = self.feed(body)
        if not (isinstance(body, Mapping) and body.get("choices")):
            raise provider_errors.protocol(self._endpoint, "a body without choices", retryable=True)
        return shown

    def reply(self, *, done: bool) -> ModelReply:
        """Return the complete reply. `done` means that the server sent the end mark (`[DONE]`).

        Raises ProviderError for an incomplete stream. A stream is incomplete if it has no content,
        or if it has neither the end mark nor a finish reason. Calls that the length limit truncated
        have incomplete arguments.
        """
        if self.finish_reason is None and not done:
            raise provider_errors.broken_off(
                self._endpoint, "the stream ended without a finish reason"
            )
        calls = self._slots.finish()
        text = "".join(self._text) or "".join(self._refusal) or None
        if self.finish_reason is None and text is None and not calls:
            raise provider_errors.broken_off(self._endpoint, "the stream ended without a choice")
        reasoning = "".join(self._reasoning) or None
        message = AssistantMessage(
            text=text,
            calls=tuple(self._call(slot, *call) for slot, call in enumerate(calls)),
            reasoning=reasoning,
            opaque=json.dumps(self._opaque, ensure_ascii=False) if self._opaque else None,
            provider=self._endpoint.provider,
            model=self._endpoint.model,
        )
        return ModelReply(message, self.finish_reason, self._usage, self._cost)

    def _call(
        self, slot: int, call_id: str, name: str, arguments: str, opaque: str | None
    ) -> ToolCall:
        key = CallKey(self._turn, slot)
        return ToolCall(key, call_id, name, arguments, self._endpoint.provider, opaque)

    def _choice(self, choice: Mapping[str, object]) -> list[Shown]:
        self._read_usage(choice.get("usage"))  # Moonshot reports the usage here
        reason = choice.get("finish_reason")
        if reason == "error" or choice.get("error"):
            error = choice.get("error") or {"message": "the reply ended with an error"}
            raise provider_errors.from_body(self._endpoint, {"error": error})
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
        whole = choice.get("message")
        delta = choice.get("delta") or whole
        if not isinstance(delta, Mapping):
            return []
        shown = self._read_text(delta)
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, Mapping):
                self.grown += self._slots.add(fragment, whole=delta is whole)
        for name in _OPAQUE_FIELDS:
            if delta.get(name):
                kept = self._opaque.get(name)
                self._opaque[name] = _join(kept, delta[name], streamed=delta is not whole)
                self.grown += 1
        self.grown += len(shown)
        return shown

    def _read_text(self, delta: Mapping[str, object]) -> list[Shown]:
        shown: list[Shown] = []
        thoughts = {name: _string(delta.get(name)) for name in REASONING_FIELDS}
        thoughts = {name: text for name, text in thoughts.items() if text}
        for name in thoughts:
            self._opaque.setdefault(name, None)  # the reasoning is sent back in this field
        thought = next(iter(thoughts.values()), "")
        text, thought_parts = _parts(delta.get("content"))
        thought += thought_parts
        if thought:
            self._reasoning.append(thought)
            shown.append(Shown(thought, reasoning=True))
        if text:
            self._text.append(text)
            shown.append(Shown(text))
        if refusal := _string(delta.get("refusal")):
            self._refusal.append(refusal)
            shown.append(Shown(refusal))
        return shown

    def _read_usage(self, usage: object) -> None:
        """Update the usage from a chunk. Later counts replace earlier ones.

        Some servers send the counts so far with every chunk. If a usage has no input tokens, it
        does not replace earlier counts that have some.
        """
        if not isinstance(usage, Mapping) or (self._usage.input and not read_usage(usage).input):
            return
        self._counted |= {name: value for name, value in usage.items() if value is not None}
        self._usage = read_usage(self._counted)
        cost = read_cost(usage.get("cost"))
        if cost is not None:
            self._cost = cost


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parts(content: object) -> tuple[str, str]:
    """Return the text and the reasoning of a content: a string, or a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    text, thought = "", ""
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "thinking":
            thought += _parts(part.get("thinking"))[0]
        else:
            text += _string(part.get("text"))
    return text, thought


def _join(kept: object, new: object, *, streamed: bool) -> object:
    """Return the value of an opaque field with a new part.

    Lists are extended, objects are merged, and other values are replaced.
    """
    if not isinstance(new, list):
        return {**kept, **new} if isinstance(kept, dict) and isinstance(new, dict) else new
    joined = list(kept) if isinstance(kept, list) else []
    for entry in new:
        earlier = _same_block(joined, entry) if streamed else None
        if earlier is None:
            joined.append(entry)
        else:
            joined[earlier] = _merged(joined[earlier], entry)
    return joined


def _same_block(entries: list[object], entry: object) -> int | None:
    """Return the position of the block that this fragment continues, or None.

    A fragment continues a block of the same type with the same explicit index. The fragments must
    be joined because a signature is for the whole text of a block. A server would refuse separate
    fragments (agno-agi/agno#8794).
    """
    if not isinstance(entry, Mapping) or _string(entry.get("type")) not in _JOINED:
        return None
    if not isinstance(entry.get("index"), int):
        return None
    for position, other in enumerate(entries):
        if isinstance(other, Mapping) and (other.get("type"), other.get("index")) == (
            entry["type"],
            entry["index"],
        ):
            return position
    return None


def _merged(block: object, fragment: object) -> dict[str, object]:
    assert isinstance(block, Mapping)
    assert isinstance(fragment, Mapping)
    merged = {**block, **{name: value for name, value in fragment.items() if value is not None}}
    text = _JOINED[merged["type"]]
    if block.get(text) and fragment.get(text):
        merged[text] = f"{block[text]}{fragment[text]}"
    return merged
