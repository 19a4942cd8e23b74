import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import UsageError
from treadle.traces.query import Sort, SortKey
from treadle.traces.query.pages import Position, read_cursor, write_cursor

NUMBERS = st.integers(-(1 << 63) + 1, (1 << 63) - 1)


@given(st.builds(Position, st.none() | NUMBERS, NUMBERS), st.text())
def test_cursor_has_the_position_in_its_own_list(position: Position, name: str) -> None:
    assert read_cursor(write_cursor(position, name), name) == position


@given(NUMBERS, st.text(), st.text())
def test_a_cursor_of_another_list_is_refused(key: int, name: str, other: str) -> None:
    cursor = write_cursor(Position(None, key), name)

    if name != other:
        with pytest.raises(UsageError, match="another query"):
            read_cursor(cursor, other)


@given(st.text())
def test_a_cursor_that_nobody_wrote_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError):
        read_cursor(cursor, "spans")


@pytest.mark.parametrize(
    "content", ["[1]", "null", "[1, 2, 3, 4]", '{"a": 1}', "[null, true, 1e400]"]
)
def test_a_cursor_of_other_content_is_refused(content: str) -> None:
    import base64

    with pytest.raises(UsageError):
        read_cursor(base64.urlsafe_b64encode(content.encode()).decode().rstrip("="), "spans")


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("-time", Sort()),
        ("time", Sort(ascending=True)),
        ("-cost", Sort(SortKey.COST)),
        ("duration", Sort(SortKey.DURATION, ascending=True)),
        ("-tokens", Sort(SortKey.TOKENS)),
    ],
)
def test_order_is_named_after_its_key(text: str, sort: Sort) -> None:
    assert str(sort) == text
