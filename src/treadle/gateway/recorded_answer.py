"""The content of an answer as it is recorded, and readers that all formats of answers share."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.events.types import Usage
from treadle.llm.reply_stream import Data, SseReader

Timed = tuple[int, bytes]
"""A part of an answer, with the Unix nanoseconds at which it arrived."""


@dataclass(frozen=True, slots=True)
class Read:
    """The content of an answer.

    A field that the answer does not state is None. `output` is the output as JSON, or the text of
    an answer that is not JSON. `first_ns` is the time of the first token in Unix nanoseconds.
    """

    output: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    finish_reasons: tuple[str, ...] = ()
    response_id: str | None = None
    response_model: str | None = None
    first_ns: int | None = None
    error: str | None = None
    error_type: str | None = None
    dimensions: int | None = None
    """The number of dimensions of each embedding."""
    unreadable: bool = False


def events_of(blocks: Iterable[Timed]) -> Iterator[tuple[int, Data]]:
    """The events of a stream, each with the time at which it arrived completely.

    Some servers omit the blank lines between events, so several events arrive as one. Then each
    line becomes a separate event.
    """
    reader, at = SseReader(), 0
    for at, block in blocks:
        yield from ((at, each) for event in reader.feed(block) for each in _lines(event))
    yield from ((at, each) for event in reader.end() for each in _lines(event))


def _lines(event: object) -> Iterator[Data]:
    if not isinstance(event, Data):
        return
    if "\n" in event.text and object_of(event.text) is None:
        yield from (Data(line, event.event) for line in event.text.split("\n"))
    else:
        yield event


def object_of(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, or None if the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def ids_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The id and the model of the answer."""
    names = {"response_id": body.get("id"), "response_model": body.get("model")}
    return {name: value for name, value in names.items() if isinstance(value, str) and value}


def to_json(value: object) -> str:
    """The value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def texts_of(values: Iterable[object]) -> tuple[str, ...]:
    """The values that are texts and not empty."""
    return tuple(value for value in values if isinstance(value, str) and value)
