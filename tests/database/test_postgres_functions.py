"""The functions and operators of SQL have the same results in PostgreSQL as in SQLite."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.engines import PostgresServer
from treadle.database import Connection, PackedText, PostgresAddress, Schema, open_database
from treadle.traces.query import patterns
from treadle.traces.store.queries.conditions import register_functions

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ANY_TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)
NUMBERS = st.integers(-(1 << 40), 1 << 40)
QUICK = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def engines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connection, Connection]]:
    """A connection to SQLite and one to PostgreSQL."""
    address = PostgresAddress(
        postgres.new_database(), "default", "functions", tmp_path_factory.mktemp("functions")
    )
    schema = Schema.of_migrations("numbers", ("CREATE TABLE numbers (number INTEGER)",))
    with (
        closing(sqlite3.connect(":memory:")) as plain,
        open_database(address, schema).open() as database,
        database.use() as other,
    ):
        register_functions(plain)
        yield plain, other


def check(engines: tuple[Connection, Connection], expression: str, *values: object) -> None:
    found = [one.execute(f"SELECT {expression}", values).fetchone()[0] for one in engines]

    assert found[0] == found[1]


@pytest.mark.parametrize(
    "expression",
    [
        "instr(?, ?)",
        "instr(?1 || ?2, ?2)",
        "lower(?) = lower(?)",
        "lower(CAST(?1 AS TEXT) || ?2)",
        "substr(?1 || ?2, 1, 7)",
        "length(?1 || ?2) = 0",
        "CAST(?1 AS TEXT) < ?2",
        "coalesce(NULLIF(?1, ?2), 'same')",
        "iif(CAST(?1 AS TEXT) = ?2, ?1, ?2)",
    ],
)
def test_functions_of_texts(engines: tuple[Connection, Connection], expression: str) -> None:
    @QUICK
    @given(TEXTS, TEXTS)
    @example("Straße ÀÉ", "É")
    @example("", "")
    @example("it's \\ \" % _", "'")
    @example("x" * 3_000, "xx")
    def compare(one: str, other: str) -> None:
        check(engines, expression, one, other)

    compare()


@QUICK
@given(TEXTS, TEXTS, st.sampled_from(["{}*", "*{}", "?{}", "{}", "*{}*", "[{}]"]))
@example("a.b", "a.", "{}*")
@example("a[b]", "[b", "*{}*")
@example("a\nb", "\n", "*{}*")
@example("(a|b)^$", "|", "*{}*")
def test_patterns(
    engines: tuple[Connection, Connection], text: str, part: str, pattern: str
) -> None:
    glob = patterns.glob(pattern.format(part[:5]))

    check(engines, "lower(CAST(?1 AS TEXT)) GLOB ?2", text, glob)
    check(engines, "lower(CAST(?1 AS TEXT)) NOT GLOB ?2", text, glob)
    check(engines, "lower(CAST(?1 AS TEXT)) GLOB ?2", part, glob)


@pytest.mark.parametrize(
    "expression",
    [
        "max(?, ?)",
        "min(?, ?)",
        "max(-1000, min(1000, coalesce(?, ?)))",
        "?1 - ((?1 % 3600) + 3600) % 3600 + ?2 * 0",
        "total(?1) + total(?2)",
        "total(?1 < ?2)",
        "CAST(?1 < ?2 AS INTEGER)",
        "coalesce(max(NULL, ?), ?)",
    ],
)
def test_functions_of_numbers(engines: tuple[Connection, Connection], expression: str) -> None:
    @QUICK
    @given(NUMBERS, NUMBERS)
    def compare(one: int, other: int) -> None:
        check(engines, expression, one, other)

    compare()


@QUICK
@given(
    st.one_of(
        st.from_regex(r"-?[0-9]{1,5}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?", fullmatch=True), TEXTS
    )
)
@example("9" * 300 + "e99")
@example("-" + "9" * 300 + "e99")
@example("0." + "0" * 299 + "1e-99")
@example("1" * 301)
@example("1\n")
@example("٣")
@example("NaN")
def test_numbers_in_texts(engines: tuple[Connection, Connection], text: str) -> None:
    check(engines, "number_in(?)", text)


@QUICK
@given(st.dictionaries(ANY_TEXTS, ANY_TEXTS, max_size=4))
@example({"nul \0": "\0", "lone \ud800": "\udc00\ud800", "quote \" '": "\\ \\u0000", "": ""})
@example({"private": "\U0010f000\U0010f801", "pair": "😀"})
def test_members_of_objects(
    engines: tuple[Connection, Connection], members: dict[str, str]
) -> None:
    _, other = engines
    rows = other.execute(
        "SELECT e.key, e.value, json_member(?1, e.key) FROM json_each(?1) e",
        (json.dumps(members),),
    )

    assert [tuple(map(_text, row)) for row in rows] == [(k, v, v) for k, v in members.items()]


@QUICK
@given(st.lists(ANY_TEXTS, max_size=4))
def test_elements_of_lists(engines: tuple[Connection, Connection], elements: list[str]) -> None:
    _, other = engines
    rows = other.execute(
        "SELECT e.value FROM json_each(?) e ORDER BY CAST(e.key AS INTEGER)",
        (json.dumps(elements),),
    )

    assert [_text(value) for (value,) in rows] == elements


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, PackedText) else value
