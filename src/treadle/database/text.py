"""Texts in SQL: texts that a database can store, and look-ups by the beginning of an id."""

from collections.abc import Sequence

from treadle.database.connection import Connection


class PackedText(bytes):
    """A text with a lone surrogate, as UTF-8 with encoded surrogates.

    SQLite stores it as bytes. PostgreSQL stores it as text (`postgres_values`).
    """

    __slots__ = ()


def storable_text(text: str) -> str:
    """Escape the lone surrogates in `text`, since SQLite cannot store them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def ids_with_prefix(
    connection: Connection,
    table: str,
    prefix: str,
    limit: int,
    *,
    where: str = "TRUE",
    values: Sequence[object] = (),
) -> list[str]:
    """Return at most `limit` ids of a table that begin with `prefix`, in order.

    `where` is a further SQL condition on the rows.
    """
    rows = connection.execute(
        f"SELECT id FROM {table} WHERE id >= ? AND id < ? || char(0x10FFFF) AND {where}"  # noqa: S608  (constants)
        " ORDER BY id LIMIT ?",
        (storable_text(prefix), storable_text(prefix), *values, limit),
    )
    return [identity for (identity,) in rows]
