"""Statements in the dialect of SQLite that have the same result in PostgreSQL."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.database.notes import NOTES
from treadle.database import Database, PostgresAddress, open_database
from treadle.database.dialect import translated


@pytest.fixture(scope="module")
def postgres_database(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("dialect")
    with open_database(PostgresAddress(postgres_url, "dialect", "ui", folder), NOTES) as opened:
        yield opened


STATEMENTS: list[tuple[str, tuple[object, ...], object]] = [
    ("SELECT 'a?b%c''d', ?", (1,), ("a?b%c'd", 1)),
    ("SELECT ?2 || ?1 || ?2", ("a", "b"), "bab"),
    ("SELECT 'x' -- what? 100 %\n", (), "x"),
    ("SELECT 7 % 4, 5 - 3", (), (3, 2)),
    ("SELECT ?1 IS NULL, ?1 IS NOT NULL", (None,), (1, 0)),
    ("SELECT ?1 IS NULL OR 2 = ?1", (2,), 1),
    ("SELECT 1 IS ?, 1 IS NOT ?, 1 IS ?", (None, None, 1), (0, 1, 1)),
    ("SELECT iif(1 = 1, 'a', 'b')", (), "a"),
    ("SELECT max(1, 2), min(1, 2)", (), (2, 1)),
    ("SELECT instr('abc', 'c'), instr('abc', 'x')", (), (3, 0)),
    ("SELECT CAST(1 = 2 AS INTEGER)", (), 0),
    ("SELECT 'NOT INDEXED', 'AS BLOB)'", (), ("NOT INDEXED", "AS BLOB)")),
    ("SELECT sum(number) FROM (SELECT 1 AS number UNION ALL SELECT 2) AS n", (), 3),
]


@pytest.mark.parametrize(("sql", "parameters", "expected"), STATEMENTS)
def test_a_statement_has_the_same_result(
    database: Database, sql: str, parameters: tuple[object, ...], expected: object
) -> None:
    with database.use() as connection:
        row = connection.execute(sql, parameters).fetchone()
    assert (row if isinstance(expected, tuple) else row[0]) == expected


def test_an_insertion_that_conflicts_is_ignored(database: Database) -> None:
    with database.use() as connection:
        insert = "INSERT OR IGNORE INTO notes VALUES (?2, ?1)"
        assert connection.execute(insert, ("INSERT OR IGNORE", 1)).rowcount == 1
        assert connection.execute(insert, ("other", 1)).rowcount == 0
        connection.executemany(insert, [("a", 2), ("b", 2), ("c", 3)])
        rows = connection.execute("SELECT * FROM notes ORDER BY number").fetchall()
    assert rows == [(1, "INSERT OR IGNORE"), (2, "a"), (3, "c")]


words = st.text(st.sampled_from("ab'\"%?1-\n;$\\ "), max_size=12)


@given(st.lists(words, min_size=1, max_size=4))
def test_literals_and_comments_are_not_translated(
    postgres_database: Database, literals: list[str]
) -> None:
    """A text in quotation marks keeps every character, next to parameters and comments."""
    listed = ", ".join("'" + text.replace("'", "''") + "' -- ? ' %\n, ?" for text in literals)
    values = [f"value {number}" for number in range(len(literals))]
    with postgres_database.use() as connection:
        row = connection.execute(f"SELECT {listed}", values).fetchone()
    assert list(row) == [each for pair in zip(literals, values, strict=True) for each in pair]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_numbered_parameters_keep_their_positions(numbers: list[int]) -> None:
    sql = ", ".join(f"?{number}" for number in numbers)
    found = translated(f"SELECT {sql}")
    positions = found.positions or tuple(range(len(numbers)))
    assert positions == tuple(number - 1 for number in numbers)
    assert found.sql == "SELECT " + ", ".join(["%s"] * len(numbers))
