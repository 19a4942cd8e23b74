"""Keys and pastes are read exactly from what a terminal sends."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.events import Key, Paste
from textual.message import Message

from treadle.tui.input_parser import InputParser

END = "\x1b[201~"
TEXTS = st.text() | st.text("\x1b[201~\r\nab\uffff\0", max_size=40)


def parsed(data: Sequence[str]) -> list[Message]:
    """The messages of parts of what a terminal sends."""
    parser = InputParser()
    return [message for part in data if part for message in parser.feed(part)]


@example("\x1b[31mred\rand a text that is longer than any key\r", [])
@given(TEXTS.filter(lambda text: END not in text), st.lists(st.integers(0, 60), max_size=5))
def test_any_paste_is_exact_wherever_it_is_split(text: str, cuts: list[int]) -> None:
    whole = f"a\x1b[200~{text}{END}b"
    at = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    messages = parsed([whole[start:end] for start, end in pairwise(at)])
    first, paste, last = messages
    assert isinstance(first, Key)
    assert first.key == "a"
    assert isinstance(paste, Paste)
    assert paste.text == text
    assert isinstance(last, Key)
    assert last.key == "b"


@pytest.mark.parametrize(
    ("sequence", "key"),
    [("\x1b\r", "alt+enter"), ("\x1b[13;2u", "shift+enter"), ("\n", "ctrl+j"), ("\x1b[A", "up")],
)
def test_keys_that_break_a_line_differ_from_enter(sequence: str, key: str) -> None:
    (message,) = parsed([sequence])
    assert isinstance(message, Key)
    assert message.key == key
