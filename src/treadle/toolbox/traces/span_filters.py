"""The arguments that select spans, which the tools share, as conditions of a query."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from treadle.errors import UsageError
from treadle.spans.span import SpanStatus
from treadle.tools.contract import Arguments
from treadle.traces.own_spans import without_own
from treadle.traces.query import Condition, Operator, Period, Query, any_of
from treadle.traces.query import Field as About
from treadle.traces.query.moments import period_bounds, read_moment
from treadle.traces.store.span_reader import EVERYTHING


def as_list(value: object) -> object:
    """One name as a list. A comma does not separate: ids and labels may contain it."""
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
Offset = Annotated[int, Field(ge=0, le=10_000, description="Results to skip.")]
Cursor = Annotated[
    str | None,
    Field(description="`next_cursor` of the previous page."),
]
Own = Annotated[
    Literal["include"] | None,
    Field(description="`include`: also calls by the analyst and by experiments."),
]

_OF_ARGUMENTS = {
    "threadIds": About.THREAD,
    "runIds": About.RUN,
    "spanIds": About.SPAN,
    "parentSpanIds": About.PARENT,
    "operationNames": About.OPERATION,
    "labels": About.LABEL,
    "status": About.STATUS,
}


def query_of(arguments: Arguments, now_us: int, also: Query = EVERYTHING) -> Query:
    """The query of the shared arguments and `also`, by default without Treadle's own calls.

    Raises UsageError for an invalid time.
    """
    given = {name: getattr(arguments, name) for name in type(arguments).model_fields}
    conditions = [
        any_of(field, map(str, given[name]))
        for name, field in _OF_ARGUMENTS.items()
        if given.get(name)
    ]
    if given.get("modelName"):
        conditions.append(_named(About.MODEL, given["modelName"]))
    if given.get("own"):
        conditions.append(any_of(About.OWN, [given["own"]]))
    conditions += times(given.get("period"), given.get("since"), given.get("until"), now_us=now_us)
    return without_own(also & Query(tuple(conditions)))


def times(
    period: Period | None, since: str | None, until: str | None, *, now_us: int
) -> Iterable[Condition]:
    """The conditions on the start. Raises UsageError for an invalid time."""
    if period is not None:
        first, behind = period_bounds(period, now_us)
        yield Condition(About.START, Operator.AT_LEAST, (first,))
        if behind is not None:
            yield Condition(About.START, Operator.LESS, (behind,))
    for name, operator, text in (
        ("since", Operator.AT_LEAST, since),
        ("until", Operator.LESS, until),
    ):
        if text is not None:
            try:
                yield Condition(About.START, operator, (read_moment(text, now_us),))
            except ValueError as error:
                what, hint = error.args
                raise UsageError(f"`{name}`: {what}", hint=hint) from error


def _named(field: About, text: str) -> Condition:
    if "*" in text:
        return Condition(field, Operator.LIKE, (text.replace("\\", "\\\\"),))
    return any_of(field, [text])
