"""Reads named tuples from SQL rows by the annotations of their fields."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from treadle.traces.store.packed_text import unpacked

T = TypeVar("T")


class From:
    """Marks a field that is read from SQL expressions, as in `Annotated[int, From("s.id")]`.

    `convert` receives one argument for each expression. Without it the value is unchanged.
    """

    def __init__(self, *sql: str, convert: Callable[..., Any] | None = None) -> None:
        self.sql = sql
        self.convert = convert


class Selection(Generic[T]):
    """The SQL that selects the fields of a named tuple, and the tuple read from its rows.

    A field without `From` is the column of `table` with its name. The fields `given` are not read.
    """

    def __init__(self, kind: type[T], table: str, *, given: Sequence[str] = ()) -> None:
        self._make: Callable[[Sequence[Any]], T] = kind._make  # type: ignore[attr-defined]  # a named tuple
        sql: list[str] = []
        columns: list[int] = []
        self._given: list[tuple[int, str]] = []
        self._converted: list[tuple[int, Callable[[Sequence[Any]], Any]]] = []
        for position, (name, hint) in enumerate(kind.__annotations__.items()):
            columns.append(len(sql))
            if name in given:
                self._given.append((position, name))
                continue
            marks = getattr(hint, "__metadata__", ())
            default = From(f"{table}.{name}")
            source = next((each for each in marks if isinstance(each, From)), default)
            if source.convert is not None:
                self._converted.append((position, _converter(source, len(sql))))
            sql += source.sql
        self.sql = ", ".join(sql)
        self._pick = itemgetter(*(min(column, len(sql) - 1) for column in columns))

    def read(self, row: Sequence[Any], **given: Any) -> T:
        """The tuple of a row with the columns of `sql`."""
        values = list(map(plain, row)) if bytes in map(type, row) else row
        found = list(self._pick(values))
        for position, convert in self._converted:
            found[position] = convert(values)
        for position, name in self._given:
            found[position] = given[name]
        return self._make(found)


def _converter(source: From, first: int) -> Callable[[Sequence[Any]], Any]:
    convert, last = source.convert, first + len(source.sql)
    assert convert is not None
    if len(source.sql) == 1:
        return lambda values: convert(values[first])
    return lambda values: convert(*values[first:last])


def plain(value: Any) -> Any:
    """A value of a row, with text that SQLite stores as bytes decoded."""
    return unpacked(value) if isinstance(value, bytes) else value
