"""Reads dataclasses from SQL rows by the annotations of their fields."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar

from treadle.traces.store.packed_text import unpacked

T = TypeVar("T")


class From:
    """Marks a field that is read from SQL expressions, as in `Annotated[int, From("s.id")]`.

    `convert` receives one argument for each expression; without it the value is used as it is.
    """

    def __init__(self, *sql: str, convert: Callable[..., Any] | None = None) -> None:
        self.sql = sql
        self.convert = convert


class Selection(Generic[T]):
    """The SQL that selects the fields of a dataclass, and the dataclass read from its rows.

    A field without `From` is the column of `table` with its name. The fields `given` are not read.
    """

    def __init__(self, kind: type[T], table: str, *, given: Sequence[str] = ()) -> None:
        self._kind = kind
        self._plan: list[tuple[str, int, int, Callable[..., Any] | None]] = []
        sql: list[str] = []
        for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
            if field.name in given:
                continue
            source = next(
                (
                    each
                    for each in getattr(field.type, "__metadata__", ())
                    if isinstance(each, From)
                ),
                From(f"{table}.{field.name}"),
            )
            self._plan.append((field.name, len(sql), len(sql) + len(source.sql), source.convert))
            sql += source.sql
        self.sql = ", ".join(sql)

    def read(self, row: Sequence[Any], **given: Any) -> T:
        """The dataclass of a row that holds the columns of `sql`."""
        values = [unpacked(value) if type(value) is bytes else value for value in row]
        for name, begin, end, convert in self._plan:
            given[name] = values[begin] if convert is None else convert(*values[begin:end])
        return self._kind(**given)


def plain(value: Any) -> Any:
    """A value of a row, with text that SQLite stores as bytes decoded."""
    return unpacked(value) if isinstance(value, bytes) else value
