"""Queries of recorded spans: conditions, their language, sort orders and pages."""

from treadle.traces.query.conditions import (
    NEWEST,
    Condition,
    Field,
    GroupBy,
    Operator,
    Query,
    Rows,
    Sort,
    SortKey,
    any_of,
)
from treadle.traces.query.language import QuerySyntaxError, format_query, parse_query
from treadle.traces.query.moments import Period
from treadle.traces.query.pages import Page, Part

__all__ = [
    "NEWEST",
    "Condition",
    "Field",
    "GroupBy",
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
]
