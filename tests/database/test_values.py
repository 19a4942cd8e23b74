"""Values that both engines store and return unchanged, and in the same order."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.app.stores import Stores
from treadle.database import Database, PackedText, Schema, open_database
from treadle.errors import StoreError

SCHEMA = Schema.of_migrations(
    "values",
    (
        """CREATE TABLE kept (
            number INTEGER PRIMARY KEY, text TEXT, data BLOB, size INTEGER, weight REAL
        )""",
    ),
)
SPECIAL = ["\0", *map(chr, (0x10F000, 0x10F7FF, 0x10F800, 0x10F801, 0x10FFFF, 0x10EFFF)), "%", "'"]
texts = st.text(st.sampled_from(SPECIAL) | st.characters())
any_texts = st.text(
    st.sampled_from([*SPECIAL, "\ud800", "\udfff"]) | st.characters(exclude_categories=())
)
numbers = st.integers(-(2**63), 2**63 - 1)
weights = st.floats(allow_nan=False)


@pytest.fixture(scope="module")
def databases(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Database, ...]]:
    folder: Path = tmp_path_factory.mktemp("values")
    with ExitStack() as opened:
        yield tuple(
            opened.enter_context(
                open_database(Stores(folder, url, f"p{uuid4().hex[:9]}").ui, SCHEMA)
            )
            for url in (None, postgres_url)
        )


def stored(database: Database, *values: object) -> tuple[object, ...]:
    with database.transaction() as connection:
        connection.execute("DELETE FROM kept")
        connection.execute(
            "INSERT INTO kept (text, data, size, weight) VALUES (?, ?, ?, ?)", values
        )
        row: tuple[object, ...] = connection.execute(
            "SELECT text, data, size, weight FROM kept"
        ).fetchone()
        return row


@given(st.none() | texts, st.none() | st.binary(), st.none() | numbers, st.none() | weights)
def test_every_value_is_returned_unchanged(
    databases: tuple[Database, ...],
    text: str | None,
    data: bytes | None,
    size: int | None,
    weight: float | None,
) -> None:
    values = text, data, size, weight
    for database in databases:
        assert stored(database, *values) == values


@given(any_texts)
def test_a_text_with_a_lone_surrogate_is_returned_as_packed_text(
    databases: tuple[Database, ...], text: str
) -> None:
    packed = text.encode("utf-8", "surrogatepass")
    try:
        expected: str | bytes = packed.decode()
    except UnicodeDecodeError:
        expected = PackedText(packed)
        for database in databases:
            with pytest.raises(StoreError, match="surrogates not allowed"):
                stored(database, text, None, None, None)
    value = expected if isinstance(expected, str) else PackedText(packed)
    for database in databases:
        assert stored(database, value, None, None, None)[0] == expected


@given(st.booleans())
def test_a_boolean_is_returned_as_a_number(databases: tuple[Database, ...], value: bool) -> None:
    for database in databases:
        assert stored(database, None, None, value, None)[2] == int(value)
        with database.use() as connection:
            found = connection.execute("SELECT 1 = ?, number FROM kept LIMIT 1", (value,))
            assert found.fetchone()[0] == int(value)


@given(
    st.lists(st.text(st.characters(codec="utf-8", max_codepoint=0x10EFFF, exclude_characters="\0")))
)
def test_texts_have_the_order_of_their_characters(
    databases: tuple[Database, ...], listed: list[str]
) -> None:
    for database in databases:
        with database.transaction() as connection:
            connection.execute("DELETE FROM kept")
            connection.executemany(
                "INSERT INTO kept (text) VALUES (?)", [(text,) for text in listed]
            )
            found = connection.execute("SELECT text FROM kept ORDER BY text").fetchall()
            assert [text for (text,) in found] == sorted(listed)
            (total,) = connection.execute("SELECT coalesce(sum(number), 0) FROM kept").fetchone()
            assert isinstance(total, int)


def test_a_number_that_is_too_large_is_an_error_and_changes_nothing(
    databases: tuple[Database, ...],
) -> None:
    for database in databases:
        stored(database, "kept", None, None, None)
        with pytest.raises((StoreError, OverflowError)):
            stored(database, "lost", None, 2**63, None)
        with database.use() as connection:
            assert connection.execute("SELECT text FROM kept").fetchall() == [("kept",)]
