"""The texts of spans as people read them: messages without the syntax of JSON."""

import json
from collections.abc import Iterator, Sequence

from treadle.diagnosis.span_messages import Message


def indented(text: str) -> str:
    """Return JSON text with line breaks, and any other text unchanged."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def repeated_messages(earlier: Sequence[Message], messages: Sequence[Message]) -> int:
    """Return how many messages at the start of `messages` are also at the start of `earlier`."""
    for number, (one, other) in enumerate(zip(earlier, messages, strict=False)):
        if one != other:
            return number
    return min(len(earlier), len(messages))


def content_texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message without the arguments of its calls."""
    arguments = {call.path for call in message.calls}
    return (text.text for text in message.texts if text.path not in arguments)


def message_lines(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the lines of messages, each message after a line with its role."""
    for message in messages:
        yield f"[{message.role}]"
        for text in content_texts(message):
            yield from text.splitlines()
        for call in message.calls:
            yield f"calls {call.name}"
            yield from indented(call.arguments or "").splitlines()
