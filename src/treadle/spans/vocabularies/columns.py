"""What the vocabularies fill in, and how single values are read."""

import json
from dataclasses import dataclass, field
from typing import Any

from treadle.llm.usage import MOST_TOKENS, read_cost
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import JsonValue, SpanKind

_LONGEST_SECONDS = 1_000_000_000


@dataclass(slots=True)
class Reading:
    """What is understood of one span so far. Each vocabulary fills in what is still None."""

    raw: RawSpan
    kind: SpanKind | None = None
    operation: str | None = None
    name: str | None = None
    tool: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total_tokens: int | None = None
    beside: bool | None = None
    """Whether the source is known to count cached tokens outside of its input (or else inside)."""
    cost: float | None = None
    priceable: bool = True
    """Whether every count that prices depend on was understood."""
    first_us: int | None = None
    """Microseconds until the first token."""
    labels: list[str] = field(default_factory=list)
    thread_id: str | None = None
    run_id: str | None = None
    input: str | None = None
    output: str | None = None
    failed: bool = False
    error: str | None = None

    def set_kind(self, kind: SpanKind | None, operation: str | None = None) -> None:
        """Say what the span is; who says it first is right."""
        if self.kind is None and kind is not None:
            self.kind, self.operation = kind, operation or OPERATIONS[kind]

    def set_tokens(
        self,
        *,
        input: JsonValue = None,  # noqa: A002  (a kind of token, as everywhere)
        output: JsonValue = None,
        cached: JsonValue = None,
        cache_write: JsonValue = None,
        reasoning: JsonValue = None,
        total: JsonValue = None,
    ) -> None:
        """Take what one vocabulary counted, as a whole: counts of two would not fit together."""
        if self.input_tokens is None and self.output_tokens is None:
            self.input_tokens, self.output_tokens = count(input), count(output)
            self.cached, self.cache_write = count(cached), count(cache_write)
            self.reasoning, self.total_tokens = count(reasoning), count(total)

    def set_first(self, at_us: int | None) -> None:
        """Take the moment of the first token, in microseconds since the epoch."""
        if self.first_us is None and at_us is not None:
            after = at_us - self.raw.start_ns // 1_000
            self.first_us = after if after >= 0 else None


OPERATIONS = {
    SpanKind.RUN: "invoke_agent",
    SpanKind.MODEL: "chat",
    SpanKind.TOOL: "execute_tool",
    SpanKind.RETRIEVAL: "retrieval",
    SpanKind.EMBEDDING: "embeddings",
    SpanKind.AGENT: "invoke_agent",
    SpanKind.APPROVAL: "approval",
    SpanKind.OTHER: "span",
}
"""The operation of a kind if no attribute is more specific."""


def text(value: JsonValue) -> str | None:
    """A text that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def name_of(value: JsonValue) -> str | None:
    """An id or a name: a text, or a number as text; a double that is whole is a whole number."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def content(value: JsonValue) -> str | None:
    """Something that was said or given, as text: JSON text when it is none."""
    if value is None or isinstance(value, str):
        return value
    return written(value)


def count(value: JsonValue) -> int | None:
    """A number of tokens; None for what cannot be one."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and 0 <= value <= MOST_TOKENS:
        return value
    return None


def dollars(value: JsonValue) -> float | None:
    """A cost; None for what cannot be one."""
    return read_cost(_number(value))


def microseconds(value: JsonValue, unit_us: int) -> int | None:
    """A duration in units of so many microseconds."""
    number = _number(value)
    if number is None or not 0 <= number <= _LONGEST_SECONDS:  # which NaN is not
        return None
    return round(number * unit_us)


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None if isinstance(value, bool) or not isinstance(value, int | float) else value


def parsed(value: JsonValue) -> Any:
    """The value of a JSON text; anything else is returned unchanged."""
    if not isinstance(value, str) or value[:1] not in _BEGINS:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


_BEGINS = frozenset('[{"')


def written(value: Any) -> str | None:
    """JSON text, readable in every language; None when it is nested too deeply to be written."""
    try:
        return _WRITER.encode(value)
    except RecursionError:
        return None


_WRITER = json.JSONEncoder(ensure_ascii=False)


def texts(value: JsonValue, *, separator: str | None = None) -> list[str]:
    """Several short texts: a list, a JSON list, or one text with a separator in it."""
    value = parsed(value)
    if isinstance(value, str):
        return [each.strip() for each in (value.split(separator) if separator else [value])]
    if isinstance(value, list | tuple):
        return [each.strip() for each in value if isinstance(each, str)]
    return []
