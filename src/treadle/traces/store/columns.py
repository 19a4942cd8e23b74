"""The columns of the table `spans`, each declared once in `SpanRow`.

The schema, the migrations and the written rows derive from `SpanRow`. `results.ListedSpan` has the
columns of lists. `counters.COUNTERS` has the counters of sums.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from treadle.spans.same_calls import NO_KEYS, CallKeys, call_keys
from treadle.spans.span import EXCEPTION_EVENT, WAITED, Span, SpanKind, SpanStatus
from treadle.spans.totals import is_call
from treadle.traces.query.amounts import NANO
from treadle.traces.store.properties import own_properties
from treadle.traces.store.search_text import answer_text
from treadle.traces.store.statements import Text, pack_text, packed

PREVIEW_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `spans`: its SQL type with constraints, and the source of its value.

    A column that a later version adds must allow NULL or have a DEFAULT.
    """

    sql: str
    source: str = ""
    """A dotted path of Python attributes of `RowSource`.

    By default, it is the span's attribute with the name of the column.
    """
    convert: Callable[[Any], Any] | None = None
    """Converts the value of the source for SQLite. By default, the value is stored unchanged."""


class RowSource(NamedTuple):
    """A span and its search texts, from which a row is computed."""

    span: Span
    input_text: str
    output_text: str
    call_keys: CallKeys
    unset: int = 0
    """A placeholder for the columns that the writer sets later."""
    nothing: None = None
    """A placeholder for the optional columns that the writer sets later."""

    @property
    def input_preview(self) -> str | None:
        """The beginning of the new text in the input; see `newest_text`."""
        return None if self.span.input is None else self.input_text[:PREVIEW_LENGTH]

    @property
    def output_preview(self) -> str | None:
        """The beginning of the output."""
        return None if self.span.output is None else self.output_text[:PREVIEW_LENGTH]


def _error_type(span: Span) -> Text | None:
    failure = span.attributes.get("error.type")
    if failure is None and span.status is SpanStatus.ERROR:
        raised = [each for each in span.events if each.name == EXCEPTION_EVENT]
        failure = raised[-1].attributes.get("exception.type") if raised else None
    return None if failure is None else packed(str(failure))


def _work_us(span: Span) -> int | None:
    duration = span.duration_us
    if duration is None:
        return None
    waited = span.attributes.get(WAITED)
    return max(0, duration - (waited if isinstance(waited, int) else 0))


def _cost_nano(cost: float | None) -> int | None:
    return None if cost is None or not math.isfinite(cost) else round(cost * NANO)


def _enum_value(member: SpanKind | None) -> str | None:
    return None if member is None else member.value


def _is_call(kind: SpanKind) -> int:
    return int(is_call(kind))


def _is_failed(status: SpanStatus) -> int:
    return int(status is SpanStatus.ERROR)


def _labels(labels: tuple[str, ...]) -> str | None:
    return json.dumps(sorted(set(labels))) if labels else None


class SpanRow(NamedTuple):
    """A row of the table `spans`."""

    id: Annotated[int, Column("INTEGER PRIMARY KEY", "unset")]
    """The key, which orders spans by their start (`SpanKeys`)."""
    trace: Annotated[int, Column("INTEGER NOT NULL", "unset")]
    """The key of the trace, `traces.id`."""
    span_id: Annotated[Text, Column("TEXT NOT NULL", convert=pack_text)]
    parent_id: Annotated[Text | None, Column("TEXT", convert=packed)]
    revision: Annotated[int, Column("INTEGER NOT NULL", "unset")]
    kind: Annotated[str, Column("TEXT NOT NULL", "span.kind.value")]
    operation: Annotated[Text, Column("TEXT NOT NULL", convert=pack_text)]
    name: Annotated[Text, Column("TEXT NOT NULL", convert=pack_text)]
    status: Annotated[str, Column("TEXT NOT NULL", "span.status.value")]
    error: Annotated[Text | None, Column("TEXT", convert=packed)]
    error_type: Annotated[Text | None, Column("TEXT", "span", _error_type)]
    model: Annotated[Text | None, Column("TEXT", convert=packed)]
    provider: Annotated[Text | None, Column("TEXT", convert=packed)]
    own_run: Annotated[Text | None, Column("TEXT", "span.run_id", packed)]
    """The run that the span itself names."""
    own_thread: Annotated[Text | None, Column("TEXT", "span.thread_id", packed)]
    start_us: Annotated[int, Column("INTEGER NOT NULL")]
    end_us: Annotated[int | None, Column("INTEGER")]
    duration_us: Annotated[int | None, Column("INTEGER")]
    """The duration in microseconds.

    It is NULL if the span is unfinished or ended before it started.
    """
    work_us: Annotated[int | None, Column("INTEGER", "span", _work_us)]
    """The duration in microseconds, without the time that the span waited for a person."""
    ttft_us: Annotated[int | None, Column("INTEGER", "span.time_to_first_token_us")]
    input_tokens: Annotated[int | None, Column("INTEGER", "span.tokens.input")]
    output_tokens: Annotated[int | None, Column("INTEGER", "span.tokens.output")]
    cached_tokens: Annotated[int | None, Column("INTEGER", "span.tokens.cached")]
    cache_write_tokens: Annotated[int | None, Column("INTEGER", "span.tokens.cache_write")]
    reasoning_tokens: Annotated[int | None, Column("INTEGER", "span.tokens.reasoning")]
    input_counts_cache: Annotated[int | None, Column("INTEGER")]
    cost_nano: Annotated[int | None, Column("INTEGER", "span.cost", _cost_nano)]
    cost_source: Annotated[str | None, Column("TEXT", convert=_enum_value)]
    counted: Annotated[int, Column("INTEGER NOT NULL", "span.kind", _is_call)]
    """1 if the sums include this call, its tokens and its cost, and otherwise 0."""
    response_key: Annotated[int | None, Column("INTEGER", "call_keys.response")]
    content_key: Annotated[int | None, Column("INTEGER", "call_keys.content")]
    """Both keys serve to find the other record of a call (`spans.same_calls`)."""
    same_as: Annotated[int | None, Column("INTEGER", "nothing")]
    """The key of the span that recorded the same call. It is NULL if there is none."""
    fault: Annotated[int, Column("INTEGER NOT NULL DEFAULT 0", "span.status", _is_failed)]
    """1 if the span counts as a fault (`store.faults`), and otherwise 0."""
    labels: Annotated[str | None, Column("TEXT", convert=_labels)]
    """The labels as a JSON list, with those of the root of the trace. It is NULL without labels."""
    properties: Annotated[str | None, Column("TEXT", "span", own_properties)]
    """The properties of the span, and of the root of its trace (`store.properties`)."""
    inherited: Annotated[str | None, Column("TEXT", "nothing")]
    """The names of the properties that only the root states."""
    inherited_labels: Annotated[str | None, Column("TEXT", "nothing")]
    """The labels that only the root has, as a JSON list. They are in `labels` too."""
    input_preview: Annotated[str | None, Column("TEXT", "input_preview")]
    output_preview: Annotated[str | None, Column("TEXT", "output_preview")]


COLUMNS: Mapping[str, Column] = {
    name: hint.__metadata__[0] for name, hint in SpanRow.__annotations__.items()
}
"""The columns of `spans` by name, in the order of `SpanRow`."""

_read_values = attrgetter(*(column.source or f"span.{name}" for name, column in COLUMNS.items()))
_CONVERTED = [
    (position, column.convert)
    for position, column in enumerate(COLUMNS.values())
    if column.convert is not None
]


def span_row(span: Span, input_text: str, output_text: str) -> SpanRow:
    """Return the row of `span`.

    The writer sets its `id`, `trace` and `revision`, and its inherited properties and labels.
    """
    keys = (
        call_keys(span, input_text, answer_text(span.output, output_text))
        if is_call(span.kind)
        else NO_KEYS
    )
    values = list(_read_values(RowSource(span, input_text, output_text, keys)))
    for position, convert in _CONVERTED:
        values[position] = convert(values[position])
    return SpanRow._make(values)


def last_us(row: SpanRow) -> int:
    """Return the last known moment of the span, in Unix microseconds."""
    return row.start_us if row.end_us is None else max(row.start_us, row.end_us)
