"""Queries of recorded spans: conditions, their language, sort orders and pages."""

from treadle.traces.query.conditions import (
    NEWEST,
    AnyField,
    Condition,
    Field,
    GroupBy,
    Grouping,
    GroupSort,
    MetadataKey,
    Operator,
    Query,
    Rows,
    Sort,
    SortKey,
    any_of,
    read_grouping,
)
from treadle.traces.query.language import QuerySyntaxError, format_query, parse_query
from treadle.traces.query.moments import Period
from treadle.traces.query.pages import Page, Part

__all__ = [
    "NEWEST",
    "AnyField",
    "Condition",
    "Field",
    "GroupBy",
    "GroupSort",
    "Grouping",
    "MetadataKey",
    "Operator",
    "Page",
    "Part",
    "Period",
    "Query",
    "QuerySyntaxError",
    "Rows",
    "Sort",
    "SortKey",
    "any_of",
    "format_query",
    "parse_query",
    "read_grouping",
]
