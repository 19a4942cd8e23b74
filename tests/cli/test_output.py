"""Foreign text is shown literally: nothing in it steers the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.cli.output import table
from treadle.display.lines import short_id
from treadle.visible import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[/] [b] [bold]x[/bold]", "[/] [b] [bold]x[/bold]"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("nul \x00 bell \x07", "nul \\x00 bell \\x07"),
        ("a\rb", "a\\x0db"),
        ("line\r\nline", "line\nline"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b31m", "\\x9b31m"),
        ("lone \ud800", "lone \\ud800"),
        ("emoji 👍🏽 עברית", "emoji 👍🏽 עברית"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_no_terminal_control_sequence_remains(text: str) -> None:
    shown = printable(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
    assert not any(0x7F <= ord(char) < 0xA0 for char in shown)
    shown.encode("utf-8")  # no surrogate is left, so it can be written


def test_columns_align_with_their_headers() -> None:
    assert table([("a", "1"), ("long", "2")], ("NAME", "N")) == "NAME  N\na     1\nlong  2"


@pytest.mark.parametrize(
    ("identity", "shown"),
    [
        ("trace-3", "trace-3"),
        ("a-b/c-d", "a-b/c-d"),
        ("user-2024-11-29-session-0042", "user-2024-11-29-session-0042"),
        ("01930000-0000-7000-8000-000000000001", "019300000000700080"),
        ("0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd84"),
    ],
)
def test_shortened_ids_are_accepted_by_commands(identity: str, shown: str) -> None:
    assert short_id(identity) == shown
