"""Extracts the plain text of a span's input or output, which text search reads."""

import json
import re
from collections.abc import Collection, Iterator
from itertools import islice

from treadle.spans.span import JsonValue
from treadle.traces.store.attachments import is_random, may_hold_base64

LIMIT = 1_000_000
"""The maximum number of characters of an input or output that are searched."""

_PARSED = 4_000_000
_DEEPEST = 60
_NESTED = 4
"""The maximum number of levels of JSON within JSON strings, such as a call's arguments."""

_ESCAPE = re.compile(r"(?<!\\)\\u([0-9a-fA-F]{4})")
# Each pattern matches only at the start of a sequence, so that a long sequence is scanned once.
_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{512,}={0,2}")
_WRAPPED = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{57,}={0,2}\s+){8,}(?:[A-Za-z0-9+/]+={0,2})?"
)
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,[A-Za-z0-9+/=_-]*")
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{40}[A-Za-z0-9+/_-]*={0,2}\Z")
_LEFT_OUT = " … "

_STRUCTURE = frozenset(
    {"role", "type", "id", "index", "call_id", "tool_call_id", "finish_reason", "object"}
)
"""Keys of messages and their parts whose values are not searched."""
_PART = frozenset({"type", "function", "arguments"})
"""Keys that identify a part of a message."""
_REPLY = frozenset({"text", "tool_calls", "reasoning"})
"""Keys of a model's reply in the format of Treadle's sessions."""
_REASONING = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking"})
"""Keys of messages whose values are the reasoning of a model."""
_MEDIA = frozenset({"media_type", "mime_type", "mimeType", "mediaType", "format"})
_MEDIA_TYPES = frozenset({"image", "audio", "video", "file", "blob", "base64", "media"})
_ALWAYS_BINARY = frozenset({"b64_json", "base64"})
_BINARY = frozenset({"data", "content", "file_data", "blob"})


def search_text(content: str | None) -> str:
    """Return the text of `content`, which is text or JSON, without syntax, base64 and escapes.

    For messages, the text contains their words and the names, arguments and results of tools. For
    other JSON, the text contains the keys and values. It has at most `LIMIT` characters and is
    valid Unicode.
    """
    if not content:
        return ""
    parsed = _parse(content)
    if parsed is None:
        text = _plain(_unescaped(content[: 2 * LIMIT]))
    else:
        text = "\n".join(_within_limit(_leaves(parsed, False, _DEEPEST, _NESTED)))
    return _valid(text[:LIMIT])


def newest_text(content: str | None, text: str) -> str:
    """Return the beginning of the new text in `content`, whose search text is `text`.

    A request repeats its instructions and earlier messages. Therefore the new text of messages
    begins at the last message of a user. For any other content, all of `text` is new.
    """
    messages = _parse(content) if content and content.lstrip()[:1] == "[" else None
    if not isinstance(messages, list):
        return text
    for position in range(len(messages) - 1, 0, -1):
        message = messages[position]
        if isinstance(message, dict) and message.get("role") == "user":
            parts = _leaves(messages[position:], False, _DEEPEST, _NESTED)
            return _valid("\n".join(_within_limit(parts))[:LIMIT]) or text
    return text


def answer_text(content: str | None, text: str) -> str:
    """Return the text of a reply without the model's reasoning.

    Replies of two records are compared without it, since some programs do not record the reasoning.
    `text` is the search text of `content`.
    """
    if content is None or not any(name in content for name in _REASONING):
        return text
    messages = _parse(content)
    if not isinstance(messages, list):
        return text
    kept = [
        {name: value for name, value in message.items() if name not in _REASONING}
        for message in messages
        if isinstance(message, dict)
    ]
    return _valid("\n".join(_within_limit(_leaves(kept, False, _DEEPEST, _NESTED)))[:LIMIT])


def _parse(content: str) -> JsonValue | None:
    """Return the list or object in the JSON text `content`, or None for any other text."""
    if len(content) > _PARSED or content.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, list | dict) else None


def _within_limit(parts: Iterator[str]) -> Iterator[str]:
    size = 0
    for part in parts:
        yield part
        size += len(part) + 1
        if size > LIMIT:
            return


def _leaves(value: JsonValue, message: bool, depth: int, nested: int) -> Iterator[str]:
    """Yield the texts in `value`, in order.

    `message` states whether `value` is a part of a message.
    """
    if isinstance(value, str):
        yield from _text_leaves(value, depth, nested)
    elif isinstance(value, list):
        if depth:
            for item in value:
                yield from _leaves(item, message, depth - 1, nested)
    elif isinstance(value, dict):
        if depth:
            yield from _entries(value, message, depth, nested)
    elif value is not None:
        yield json.dumps(value)


def _text_leaves(value: str, depth: int, nested: int) -> Iterator[str]:
    parsed = _parse(value) if nested and len(value) > 2 else None
    if parsed is not None:
        yield from _leaves(parsed, False, depth - 1, nested - 1)
    elif value:
        yield _plain(value)


def _entries(value: dict[str, JsonValue], message: bool, depth: int, nested: int) -> Iterator[str]:
    message = (
        "role" in value
        or (message and not _PART.isdisjoint(value))
        or ("text" in value and value.keys() <= _REPLY)
    )
    binary = _binary_keys(value)
    for key, item in value.items():
        if key in binary:
            continue
        if message and (key in _STRUCTURE or item is None):
            continue
        if message or isinstance(item, list | dict):
            if not message:
                yield key
            within = message and key not in ("arguments", "input", "args", "response", "result")
            yield from _leaves(item, within or key == "messages", depth - 1, nested)
        else:
            texts = list(islice(_leaves(item, False, depth - 1, nested), 1_000))
            yield f"{key}: {' '.join(texts)}"


def _binary_keys(value: dict[str, JsonValue]) -> Collection[str]:
    """Return the keys whose values are encoded bytes, according to the other keys of the object."""
    kind = value.get("type")
    if _MEDIA.isdisjoint(value) and not (isinstance(kind, str) and kind in _MEDIA_TYPES):
        return _ALWAYS_BINARY
    return _ALWAYS_BINARY | {
        key
        for key in _BINARY & value.keys()
        if isinstance(item := value[key], str) and _ENCODED.match(item) and is_random(item)
    }


def _plain(text: str) -> str:
    if ";base64," in text:
        text = _DATA_URL.sub(_LEFT_OUT, text)
    if len(text) >= 512 and may_hold_base64(text):
        text = _RUN.sub(lambda run: _LEFT_OUT if is_random(run.group()) else run.group(), text)
    if len(text) >= 512 and "\n" in text and _may_be_wrapped(text):
        text = _WRAPPED.sub(lambda run: _LEFT_OUT if is_random(run.group()) else run.group(), text)
    return text


def _may_be_wrapped(text: str) -> bool:
    """Return whether `_WRAPPED` may match `text`.

    `_WRAPPED` can match only if there are eight consecutive long lines without a space.
    """
    run = 0
    for line in text.split("\n"):
        if len(line) >= 57 and " " not in line.strip():
            run += 1
            if run == 8:
                return True
        elif line.strip():
            run = 0
    return False


def _unescaped(text: str) -> str:
    if "\\u" not in text:
        return text
    return _ESCAPE.sub(lambda escape: chr(int(escape.group(1), 16)), text)


def _valid(text: str) -> str:
    """Return `text` as valid Unicode: joins surrogate pairs, and replaces lone surrogates."""
    text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
