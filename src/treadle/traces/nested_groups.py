"""Groups within groups, such as the sums of each model by day."""

from dataclasses import dataclass
from typing import Annotated

from treadle.json_values import JsonField
from treadle.traces.query import (
    Condition,
    Field,
    Grouping,
    GroupSort,
    MetadataKey,
    Operator,
    Page,
    Query,
)
from treadle.traces.query.pages import Pagination
from treadle.traces.store.results import Group
from treadle.traces.store.span_reader import SpanReader

MAX_OUTER = 50
"""The maximum number of outer groups. Each of them needs a separate query."""
MAX_INNER = 400
"""The maximum number of groups in one outer group."""

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class NestedGroup:
    """A group, and the groups of its spans by a second property.

    `groups` has the first of these inner groups, and `total` is the number of all inner groups. The
    durations of the inner groups measure the same as those of the outer group.
    """

    group: Annotated[Group, JsonField(inline=True)]
    groups: tuple[Group, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Nesting:
    """The two properties by which spans are grouped, and the order of the outer groups.

    Inner groups by time are sorted by time, the newest first. Other inner groups are sorted by
    their number of spans, and the group without a value is last.
    """

    by: Grouping
    then_by: Grouping
    bucket_seconds: int = 3_600
    sort: GroupSort | None = None
    ascending: bool = False


def nested_groups(
    store: SpanReader, nesting: Nesting, query: Query, *, limit: int, offset: int = 0
) -> Page[NestedGroup]:
    """Return a page of the outer groups of the matching spans, with their inner groups."""
    bucket = nesting.bucket_seconds
    page = store.groups(
        nesting.by,
        query,
        sort=nesting.sort,
        ascending=nesting.ascending,
        bucket_seconds=bucket,
        figures=True,
        limit=min(limit, MAX_OUTER),
        offset=offset,
    )
    found = []
    for group in page.data:
        inner = store.groups(
            nesting.then_by,
            query & spans_of_group(nesting.by, group.value, bucket),
            bucket_seconds=bucket,
            figures=True,
            durations_of=group.duration_of,
            limit=MAX_INNER,
        )
        total = inner.pagination.total
        found.append(NestedGroup(group, inner.data, len(inner.data) if total is None else total))
    return Page(tuple(found), Pagination(offset, limit, page.pagination.total, None))


def spans_of_group(by: Grouping, value: str | int, bucket_seconds: int) -> Query:
    """Return the query that matches the spans in the group with this value."""
    if isinstance(value, int):
        end = value + bucket_seconds * _SECOND_US
        return Query(
            (
                Condition(Field.START, Operator.AT_LEAST, (value,)),
                Condition(Field.START, Operator.LESS, (end,)),
            )
        )
    key = by.key if isinstance(by, MetadataKey) else ""
    field = Field.METADATA if isinstance(by, MetadataKey) else Field(by.value)
    if not value:
        return Query((Condition(field, Operator.LIKE, ("*",), negated=True, key=key),))
    return Query((Condition(field, Operator.IS, (value,), key=key),))
