"""The parameters with which HTTP requests and tools filter spans."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic import Field as Parameter

from treadle.errors import UsageError
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import (
    METADATA_PREFIX,
    Condition,
    Field,
    GroupBy,
    Operator,
    Query,
    any_of,
)
from treadle.traces.query.language import parse_query
from treadle.traces.query.moments import Period, period_bounds, read_moment


def _listed(value: object) -> object:
    """Split a string at its commas, which separate names in URLs. Return a list unchanged."""
    given = value if isinstance(value, list | tuple) else [value]
    names: list[object] = []
    for each in given:
        names.extend(filter(None, each.split(","))) if isinstance(each, str) else names.append(each)
    return tuple(names)


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Several names. In a URL they are separated by commas, or the parameter is repeated."""


GroupingName = Annotated[
    str,
    Parameter(
        pattern=rf"^({'|'.join(GroupBy)}|{re.escape(METADATA_PREFIX)}.{{1,100}})$",
        description=f"{', '.join(GroupBy)}, or a key of the metadata such as `metadata.tenant`",
    ),
]
"""The name of a grouping; see `read_grouping`."""


class SpanParameters(BaseModel):
    """Filters of spans. A span must match all filters, and one of the values of each list."""

    model_config = ConfigDict(extra="forbid")

    trace_ids: Names = ()
    span_ids: Names = ()
    parent_span_ids: Names = ()
    run_ids: Names = ()
    thread_ids: Names = ()
    kind: Annotated[tuple[SpanKind, ...], BeforeValidator(_listed)] = ()
    operation_names: Names = ()
    labels: Names = Parameter((), description="spans with one of these labels")
    labels_all: Names = Parameter((), description="spans with all of these labels")
    labels_not: Names = Parameter((), description="spans with none of these labels")
    status: Annotated[tuple[SpanStatus, ...], BeforeValidator(_listed)] = ()
    model: Names = ()
    provider: Names = ()
    user: Names = ()
    release: Names = ()
    min_cost: float | None = Parameter(None, ge=0, le=1e9, description="US dollars")
    max_cost: float | None = Parameter(None, ge=0, le=1e9, description="US dollars")
    min_duration_ms: float | None = Parameter(None, ge=0, le=1e12)
    max_duration_ms: float | None = Parameter(None, ge=0, le=1e12)
    min_tokens: int | None = Parameter(None, ge=0, le=1 << 62, description="input and output")
    max_tokens: int | None = Parameter(None, ge=0, le=1 << 62, description="input and output")
    since: str | None = Parameter(None, description="ISO time, or how long ago, such as 2h")
    until: str | None = Parameter(None, description="ISO time, or how long ago; exclusive")
    period: Period | None = None
    text: str | None = Parameter(
        None, min_length=1, description="spans that contain this literal text"
    )
    has_error: bool | None = None
    own: Literal["include"] | None = Parameter(
        None, description="`include` adds calls of Treadle's own analyst and experiments"
    )
    query: str | None = Parameter(None, description="a query in the language of the search bar")

    def to_query(self, now_us: int) -> Query:
        """Return the filters as a query. Raises UsageError for an invalid time or query."""
        query = Query((*self._names(), *self._amounts(), *self._times(now_us)))
        if self.text is not None:
            query &= Query((Condition(Field.TEXT, Operator.CONTAINS, (self.text,)),))
        if self.has_error is not None:
            query &= Query((Condition(Field.ERROR, Operator.IS, negated=not self.has_error),))
        if self.own is not None:
            query &= Query((any_of(Field.OWN, [self.own]),))
        if self.query is not None:
            query &= parse_query(self.query, now_us=now_us)
        return query

    def _names(self) -> list[Condition]:
        conditions = [
            any_of(field, values)
            for field, values in (
                (Field.TRACE, self.trace_ids),
                (Field.SPAN, self.span_ids),
                (Field.PARENT, self.parent_span_ids),
                (Field.RUN, self.run_ids),
                (Field.THREAD, self.thread_ids),
                (Field.KIND, tuple(each.value for each in self.kind)),
                (Field.OPERATION, self.operation_names),
                (Field.LABEL, self.labels),
                (Field.STATUS, tuple(each.value for each in self.status)),
                (Field.MODEL, self.model),
                (Field.PROVIDER, self.provider),
                (Field.USER, self.user),
                (Field.RELEASE, self.release),
            )
            if values
        ]
        conditions += [any_of(Field.LABEL, [label]) for label in self.labels_all]
        if self.labels_not:
            conditions.append(any_of(Field.LABEL, self.labels_not, negated=True))
        return conditions

    def _amounts(self) -> list[Condition]:
        bounds = (
            (Field.COST, Operator.AT_LEAST, self.min_cost, NANO),
            (Field.COST, Operator.AT_MOST, self.max_cost, NANO),
            (Field.DURATION, Operator.AT_LEAST, self.min_duration_ms, 1_000),
            (Field.DURATION, Operator.AT_MOST, self.max_duration_ms, 1_000),
            (Field.TOKENS, Operator.AT_LEAST, self.min_tokens, 1),
            (Field.TOKENS, Operator.AT_MOST, self.max_tokens, 1),
        )
        return [
            Condition(field, operator, (round(bound * scale),))
            for field, operator, bound, scale in bounds
            if bound is not None
        ]

    def _times(self, now_us: int) -> list[Condition]:
        conditions = []
        if self.period is not None:
            since, until = period_bounds(self.period, now_us)
            conditions.append(Condition(Field.START, Operator.AT_LEAST, (since,)))
            if until is not None:
                conditions.append(Condition(Field.START, Operator.LESS, (until,)))
        for name, operator in (("since", Operator.AT_LEAST), ("until", Operator.LESS)):
            given = getattr(self, name)
            if given is not None:
                conditions.append(Condition(Field.START, operator, (_moment(name, given, now_us),)))
        return conditions


def _moment(name: str, given: str, now_us: int) -> int:
    try:
        return read_moment(given, now_us)
    except ValueError as error:
        what, hint = error.args
        raise UsageError(f"{name}: {what}", hint=hint) from error
