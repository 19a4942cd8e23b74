"""Reads answers of Gemini's API, whole and streamed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from treadle.events.types import Usage
from treadle.gateway.native_requests import gemini_messages
from treadle.gateway.recorded_answer import Read, Timed, events_of, object_of, texts_of, to_json
from treadle.llm import provider_errors
from treadle.llm.endpoint import Endpoint
from treadle.llm.usage import MAX_TOKENS

Chunk = Mapping[str, Any]


def read(endpoint: Endpoint, blocks: Iterable[Timed], *, streamed: bool) -> Read:
    """Read an answer. Raises an error such as ValueError for a malformed answer."""
    if streamed:
        events = [(at, object_of(data.text)) for at, data in events_of(blocks)]
        chunks = [(at, chunk) for at, chunk in events if chunk is not None]
        first_ns = next((at for at, chunk in chunks if _shows(chunk)), None)
        found = replace(_read_chunks([chunk for _, chunk in chunks]), first_ns=first_ns)
        failed = next((chunk for _, chunk in chunks if "error" in chunk), None)
        if failed is not None:
            error = provider_errors.from_body(endpoint, failed)
            found = replace(found, error=error.message, error_type=error.kind.value)
        return found
    body = json.loads(b"".join(block for _, block in blocks))
    if isinstance(body, list):  # a stream without `alt=sse` is one JSON list
        return _read_chunks(body)
    vectors = [body["embedding"]] if "embedding" in body else body.get("embeddings")
    if isinstance(vectors, list):
        return _read_vectors(vectors, body)
    return _read_chunks([body])


def _read_vectors(vectors: Sequence[Chunk], body: Chunk) -> Read:
    """Read an answer with embeddings. The vectors themselves are left out."""
    sizes = {len(each["values"]) for each in vectors if isinstance(each.get("values"), list)}
    summary = {"embeddings": len(vectors), "dimensions": min(sizes, default=None)}
    usage = _read_usage(body.get("usageMetadata") or {})
    if usage.input is not None:
        usage = replace(usage, output=0)  # an embedding has no output tokens
    return Read(output=to_json(summary), dimensions=summary["dimensions"], usage=usage)


def _read_chunks(chunks: Sequence[Chunk]) -> Read:
    """Read the parts of an answer. Each candidate is assembled separately."""
    parts: dict[int, list[Chunk]] = {}
    reasons: dict[int, object] = {}
    usage: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for chunk in chunks:
        last |= {name: value for name, value in chunk.items() if value is not None}
        usage |= chunk.get("usageMetadata") or {}
        for candidate in chunk.get("candidates") or ():
            index = candidate.get("index") or 0
            content = candidate.get("content") or {}
            parts.setdefault(index, []).extend(content.get("parts") or ())
            reasons[index] = candidate.get("finishReason") or reasons.get(index)
    blocked = (last.get("promptFeedback") or {}).get("blockReason")
    messages = [
        message
        for _, each in sorted(parts.items())
        if each
        for message in gemini_messages([{"role": "model", "parts": _joined(each)}], images=False)
    ]
    finished = blocked or any(reasons.values())
    counted = {name: last[name] for name in ("totalTokens",) if name in last and not parts}
    return Read(
        output=to_json(messages) if messages else (to_json(counted) if counted else None),
        usage=_read_usage(usage if finished else {**usage, **_UNFINISHED}),
        finish_reasons=texts_of([*(reason for _, reason in sorted(reasons.items())), blocked]),
        response_id=last.get("responseId"),
        response_model=last.get("modelVersion"),
    )


_UNFINISHED = {"candidatesTokenCount": None, "thoughtsTokenCount": None}
"""Replaces the counts of an answer that has no end, since these counts are not final."""


def _joined(parts: Sequence[Chunk]) -> list[dict[str, Any]]:
    """Join consecutive parts with text, since a stream splits a text into several parts."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        before = joined[-1] if joined else {}
        same = "text" in part and "text" in before and _is_thought(part) == _is_thought(before)
        if same:
            before["text"] += part["text"]
        else:
            joined.append(dict(part))
    return joined


def _is_thought(part: Chunk) -> bool:
    return part.get("thought") is True


def _shows(chunk: Chunk) -> bool:
    """Whether a chunk contains a part of the reply."""
    contents = [each.get("content") or {} for each in chunk.get("candidates") or ()]
    return any(part.get("text") != "" for each in contents for part in each.get("parts") or ())


def _read_usage(values: Mapping[str, Any]) -> Usage:
    """The counts of a `usageMetadata` object, which counts thoughts separately from the answer."""

    def count(name: str) -> int | None:
        value = values.get(name)
        return value if type(value) is int and 0 <= value <= MAX_TOKENS else None

    prompt, answer, thoughts = map(
        count, ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )
    generated = [each for each in (answer, thoughts) if each is not None]
    tools = count("toolUsePromptTokenCount") or 0
    return Usage(
        input=None if prompt is None else prompt + tools,
        output=sum(generated) if generated else None,
        cached=count("cachedContentTokenCount"),
        reasoning=thoughts,
    )
