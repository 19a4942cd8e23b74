"""Writes whole lists of threads, runs, spans or groups as CSV or JSON lines.

A row has the same members as its JSON object in the lists of the server. In CSV, each member is a
column. The name of the column is the path of the member in the JSON object, such as
`sums.tokens.input`. Lists and metadata are JSON text.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from treadle.json_values import is_record, json_members, to_json
from treadle.traces.query import Grouping, GroupSort, Page, Query, Sort
from treadle.traces.store.results import Group, ListedSpan, RunSummary, ThreadSummary
from treadle.traces.store.span_reader import SpanReader

_PAGE = 1_000
"""The maximum number of rows that are in memory at once."""

_GROUPS = 10_000
"""The maximum number of groups that are in memory at once.

It is larger than `_PAGE`, since each page of groups reads all matching spans again.
"""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""If a text begins with one of these characters, a spreadsheet takes it for a formula."""


class ListFormat(StrEnum):
    """The format of an exported list."""

    CSV = "csv"
    JSONL = "jsonl"

    @property
    def media_type(self) -> str:
        """The media type of the format."""
        return "text/csv; charset=utf-8" if self is ListFormat.CSV else "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class ExportedList:
    """The rows of a list. `kind` is their class. Iterating `rows` reads the store page by page."""

    kind: type
    rows: Iterator[Any]

    def limited(self, limit: int | None) -> "ExportedList":
        """Return the list with at most `limit` rows. None means all rows."""
        return self if limit is None else ExportedList(self.kind, islice(self.rows, limit))


def all_threads(
    store: SpanReader, query: Query, sort: Sort, cursor: str | None = None
) -> ExportedList:
    """Return the threads with matching spans, after the page that returned `cursor`."""
    return ExportedList(ThreadSummary, _paged(partial(store.threads, query, sort=sort), cursor))


def all_runs(
    store: SpanReader, query: Query, sort: Sort, cursor: str | None = None
) -> ExportedList:
    """Return the runs with matching spans, after the page that returned `cursor`."""
    return ExportedList(RunSummary, _paged(partial(store.runs, query, sort=sort), cursor))


def all_spans(
    store: SpanReader, query: Query, sort: Sort, cursor: str | None = None
) -> ExportedList:
    """Return the matching spans, after the page that returned `cursor`."""
    return ExportedList(ListedSpan, _paged(partial(store.spans, query, sort=sort), cursor))


def all_groups(
    store: SpanReader,
    by: Grouping,
    query: Query,
    bucket_seconds: int,
    sort: GroupSort | None = None,
    *,
    ascending: bool = False,
) -> ExportedList:
    """Return the groups of the matching spans."""

    def rows() -> Iterator[Group]:
        offset = 0
        while True:
            page = store.groups(
                by,
                query,
                sort=sort,
                ascending=ascending,
                bucket_seconds=bucket_seconds,
                figures=True,
                limit=_GROUPS,
                offset=offset,
            )
            yield from page.data
            offset += len(page.data)
            if len(page.data) < _GROUPS:
                return

    return ExportedList(Group, rows())


def _paged(read: Callable[..., Page[Any]], cursor: str | None) -> Iterator[Any]:
    while True:
        page = read(limit=_PAGE, cursor=cursor)
        yield from page.data
        cursor = page.pagination.next_cursor
        if cursor is None:
            return


def encoded(exported: ExportedList, form: ListFormat) -> Iterator[bytes]:
    """Yield the lines of the list in UTF-8. In CSV, the first line has the names of the columns."""
    if form is ListFormat.JSONL:
        for row in exported.rows:
            yield json.dumps(to_json(row), separators=(",", ":")).encode() + b"\n"
        return
    names = columns(exported.kind)
    paths = [name.split(".") for name in names]
    yield _csv_line(names)
    for row in exported.rows:
        values = to_json(row)
        yield _csv_line([_cell(_value_at(values, path)) for path in paths])


def columns(kind: type) -> tuple[str, ...]:
    """Return the names of the columns of rows of the class `kind`, in the order of its fields."""
    return tuple(path for path, _ in _leaves(kind, ""))


def _leaves(kind: type, prefix: str) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(kind)
    for member in json_members(kind):
        hint = _plain_type(hints.get(member.attribute, member.hint))
        if isinstance(hint, type) and is_record(hint):
            inner = prefix if member.form.inline else f"{prefix}{member.key}."
            yield from _leaves(hint, inner)
        else:
            yield f"{prefix}{member.key}", hint


def _plain_type(hint: Any) -> Any:
    """Return the type without its annotations and without None."""
    if get_origin(hint) is Annotated:
        return _plain_type(get_args(hint)[0])
    if get_origin(hint) in {Union, UnionType}:
        known = [each for each in get_args(hint) if each is not NoneType]
        return _plain_type(known[0]) if len(known) == 1 else hint
    return hint


def _value_at(row: Any, path: Sequence[str]) -> Any:
    for key in path:
        if row is None:
            return None
        row = row[key]
    return row


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return json.dumps(value, ensure_ascii=False)


def harmless(text: str) -> str:
    """Return `text` so that a spreadsheet does not take it for a formula.

    A text that begins like a formula gets an apostrophe at its start.
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _csv_line(cells: Sequence[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode("utf-8", "backslashreplace")
