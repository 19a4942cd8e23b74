"""Pages of lists, and the cursors that request the next page."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar

from treadle.errors import UsageError
from treadle.traces.query.conditions import Field, Query, Sort
from treadle.traces.query.language import format_query

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pagination:
    """The position of a page in its list. `total` is None if counting would take long.

    `next_cursor` requests the next page. It is None on the last page. A cursor stays valid while
    spans arrive. When spans arrive, the next page neither repeats nor skips rows.
    """

    offset: int
    limit: int
    total: int | None
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list."""

    data: tuple[T, ...]
    pagination: Pagination


class Part(TypedDict, total=False):
    """The page and the order of a list that a caller requests.

    The page has at most `limit` rows (default: 50). It begins at `offset` (default: 0), or after
    the page that returned `cursor`. The default order is newest first.
    """

    sort: Sort
    limit: int
    offset: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Position:
    """The sort value and the key of the last row of a page. An unknown sort value is None."""

    value: int | None
    key: int


def list_name(rows: str, query: Query, sort: Sort) -> str:
    """Return the name that identifies a list in its cursors.

    The name does not include times, since `since:2h` means another time in each request.
    """
    lasting = Query(tuple(each for each in query.conditions if each.field is not Field.START))
    return f"{rows} {sort} {format_query(lasting)}"


def write_cursor(position: Position, list_name: str) -> str:
    """Return the cursor of a position in a list.

    `list_name` must identify the query and the order.
    """
    content = json.dumps([_mark(list_name), position.value, position.key])
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def read_cursor(cursor: str, list_name: str) -> Position:
    """Return the position in a cursor.

    Raises UsageError if the cursor is invalid or belongs to another list.
    """
    try:
        content = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        mark, value, key = json.loads(content)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        mark, value, key = None, None, None
    numbers = isinstance(key, int) and (value is None or isinstance(value, int))
    if not numbers or not all(abs(number or 0) < 1 << 63 for number in (value, key)):
        raise UsageError(
            "The cursor cannot be read.", hint="Pass `next_cursor` of the previous page unchanged."
        )
    if mark != _mark(list_name):
        raise UsageError(
            "The cursor belongs to another query or another order.",
            hint="Begin without a cursor when the query or the order changes.",
        )
    return Position(value, key)


def _mark(list_name: str) -> str:
    return hashlib.blake2b(list_name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
