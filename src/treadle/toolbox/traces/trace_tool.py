"""Base classes of the tools that read spans, the arguments that select spans, and conversions."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from treadle.errors import UsageError
from treadle.spans.span import Span, SpanStatus
from treadle.toolbox.answers import written
from treadle.tools.contract import Arguments, Result, Tool, ToolContext
from treadle.traces.fencing import quotable
from treadle.traces.own_spans import without_own
from treadle.traces.query import Condition, Operator, Period, Query, any_of, parse_query
from treadle.traces.query import Field as About
from treadle.traces.query.moments import period_bounds, read_moment, write_moment
from treadle.traces.store.span_reader import EVERYTHING, SpanReader


class TraceReader(SpanReader, Protocol):
    """Reads spans, for example from a `TraceStore`.

    The methods block, so call them in threads.
    """

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return the whole span exactly as it was written, or None if it does not exist."""
        ...


NAME_CHARACTERS = 120


class AnswerPart(BaseModel):
    """Base class of the parts of a result. An unknown figure is null or left out, never 0."""

    model_config = ConfigDict(frozen=True)


class TraceResult(Result):
    """Base class of the results of the tools that read spans."""

    success: Literal[True] = True


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=TraceResult)


class TraceTool(Tool[A, R], Generic[A, R]):
    """A tool that reads spans. Equal calls over equal spans return equal bytes."""

    def __init__(self, reader: TraceReader) -> None:
        self._reader = reader

    async def run(self, arguments: A, context: ToolContext) -> R:
        now_us = context.clock.now_us()
        return await context.in_thread(lambda: self.answer(arguments, now_us))

    @abstractmethod
    def answer(self, arguments: A, now_us: int) -> R:
        """Create the result in a thread.

        Ages and periods count back from `now_us`, in Unix microseconds.
        """

    def content(self, result: R) -> str:
        return written(result)


def short(text: str | None, limit: int) -> str | None:
    """Cut recorded text to `limit` characters. Returns None if it is missing or the limit is 0."""
    return quotable(text, limit=limit) if text and limit else None


def named(text: str) -> str:
    """Cut a recorded name to `NAME_CHARACTERS`."""
    return quotable(text, limit=NAME_CHARACTERS)


def milliseconds(microseconds: int | None) -> float | None:
    """Convert microseconds to milliseconds with decimals."""
    return None if microseconds is None else microseconds / 1_000


def moment(at_us: int | None) -> str | None:
    """Convert Unix microseconds to a UTC time in ISO 8601."""
    return None if at_us is None else write_moment(at_us)


def as_list(value: object) -> object:
    """Put a single text into a tuple.

    The text is not split at commas, since ids and labels may contain commas.
    """
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], Field(max_length=1_000), BeforeValidator(as_list)]
ThreadIds = Annotated[Names, Field(description="Only these threads.")]
RunIds = Annotated[Names, Field(description="Only these runs.")]
SpanIds = Annotated[Names, Field(description="Only these spans.")]
ParentSpanIds = Annotated[Names, Field(description="Only direct children of these spans.")]
OperationNames = Annotated[
    Names, Field(description="Only these operations, such as chat or execute_tool.")
]
Labels = Annotated[Names, Field(description="Only spans with one of these labels.")]
Statuses = Annotated[
    tuple[SpanStatus, ...],
    Field(description="Only spans with one of these outcomes."),
    BeforeValidator(as_list),
]
ModelName = Annotated[
    str | None, Field(min_length=1, description="Only this model; `*` matches any text.")
]
InPeriod = Annotated[Period | None, Field(description="Only spans that began in this period.")]
Since = Annotated[
    str | None,
    Field(description="Only spans that began at or after this ISO time or age (2h)."),
]
Until = Annotated[
    str | None, Field(description="Only spans that began before this ISO time or age.")
]
Where = Annotated[
    str | None,
    Field(
        max_length=1_000,
        description="Further conditions, such as `user:alice release:1.4 metadata.tenant:acme`.",
    ),
]
Offset = Annotated[int, Field(ge=0, le=10_000, description="Results to skip.")]
Cursor = Annotated[
    str | None,
    Field(description="`next_cursor` of the previous page."),
]
Own = Annotated[
    Literal["include"] | None,
    Field(description="`include` adds calls by the analyst and by experiments."),
]

_ARGUMENT_FIELDS = {
    "threadIds": About.THREAD,
    "runIds": About.RUN,
    "spanIds": About.SPAN,
    "parentSpanIds": About.PARENT,
    "operationNames": About.OPERATION,
    "labels": About.LABEL,
    "status": About.STATUS,
}


def query_of(arguments: Arguments, now_us: int, also: Query = EVERYTHING) -> Query:
    """Build the query of the shared arguments, combined with `also`.

    The query leaves out Treadle's own calls, unless the arguments include them. Raises UsageError
    for an invalid time or invalid conditions.
    """
    given = {name: getattr(arguments, name) for name in type(arguments).model_fields}
    conditions = [
        any_of(field, map(str, given[name]))
        for name, field in _ARGUMENT_FIELDS.items()
        if given.get(name)
    ]
    if given.get("modelName"):
        conditions.append(_name_condition(About.MODEL, given["modelName"]))
    if given.get("own"):
        conditions.append(any_of(About.OWN, [given["own"]]))
    if given.get("where"):
        also &= parse_query(given["where"], now_us=now_us)
    conditions += times(given.get("period"), given.get("since"), given.get("until"), now_us=now_us)
    return without_own(also & Query(tuple(conditions)))


def times(
    period: Period | None, since: str | None, until: str | None, *, now_us: int
) -> Iterable[Condition]:
    """Yield the conditions on the start of a span. Raises UsageError for an invalid time."""
    if period is not None:
        start, end = period_bounds(period, now_us)
        yield Condition(About.START, Operator.AT_LEAST, (start,))
        if end is not None:
            yield Condition(About.START, Operator.LESS, (end,))
    for name, operator, text in (
        ("since", Operator.AT_LEAST, since),
        ("until", Operator.LESS, until),
    ):
        if text is not None:
            try:
                yield Condition(About.START, operator, (read_moment(text, now_us),))
            except ValueError as error:
                message, hint = error.args
                raise UsageError(f"`{name}`: {message}", hint=hint) from error


def _name_condition(field: About, text: str) -> Condition:
    if "*" in text:
        return Condition(field, Operator.LIKE, (text.replace("\\", "\\\\"),))
    return any_of(field, [text])
