import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.traces.store.schema import KEY_BITS
from treadle.traces.store.span_merge import SpanKeys


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = keyed()
    yield opened
    opened.close()


def keyed() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE spans (id INTEGER PRIMARY KEY)")
    return connection


def allot(connection: sqlite3.Connection, keys: SpanKeys, starts: list[int]) -> list[int]:
    allotted = keys.assign(connection, starts)
    connection.executemany("INSERT INTO spans VALUES (?)", [(key,) for key in allotted])
    return allotted


def test_a_key_holds_the_microsecond_of_the_start(connection: sqlite3.Connection) -> None:
    starts = [5, 1_790_000_000_000_000, 5, -7, 0]
    allotted = allot(connection, SpanKeys(), starts)

    assert [key >> KEY_BITS for key in allotted] == starts
    assert allot(connection, SpanKeys(), [5]) == [(5 << KEY_BITS) + 2]


def test_a_hundred_thousand_spans_of_one_moment_cost_few_look_ups(
    connection: sqlite3.Connection,
) -> None:
    looked: list[str] = []
    connection.set_trace_callback(
        lambda statement: looked.append(statement) if "highest" in statement else None
    )
    keys = SpanKeys()
    allotted = [key for _ in range(200) for key in allot(connection, keys, [0] * 500)]

    assert len(set(allotted)) == 100_000
    assert max(allotted) >> KEY_BITS == 100_000 >> KEY_BITS
    assert len(looked) < 300


def test_one_who_comes_new_to_a_full_moment_finds_room(connection: sqlite3.Connection) -> None:
    for _ in range(10):
        allot(connection, SpanKeys(), [0, 1] * 1_500)

    assert connection.execute("SELECT count(*) FROM spans").fetchone() == (30_000,)


EXTREMES = [-(2**63), -(2**51), -1, 0, 1, 2, 2**51, 2**52 - 1, 2**52, 2**63 - 1]


@given(
    st.lists(st.lists(st.integers(-3, 3) | st.sampled_from(EXTREMES), max_size=30), max_size=6),
    st.booleans(),
)
def test_any_starts_get_keys_of_their_own_in_the_order_of_time(
    groups: list[list[int]], remembering: bool
) -> None:
    connection = keyed()
    keys = SpanKeys()
    pairs: list[tuple[int, int]] = []
    for starts in groups:
        keys = keys if remembering else SpanKeys()
        pairs += zip(starts, allot(connection, keys, starts), strict=True)
    connection.close()

    assert all(-(2**63) <= key < 2**63 for _, key in pairs)
    within = sorted((key, start) for start, key in pairs if -(2**51) <= start <= 2**51)
    assert [start for _, start in within] == sorted(start for _, start in within)
