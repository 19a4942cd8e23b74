"""The texts that a person copies from a transcript."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.events.types import CallKey, StopReason
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.copies import code_text, command_text, message_text
from treadle.tui.conversation.items import CallItem, Item, OutcomeItem, PromptItem

ANSWER = "First:\n\n```python\nx = 1\n```\n\n```sh\n$ make\n$ make test\n```\n\nDone.\n"


def answer(text: str) -> Sequence[Item]:
    parts = AnswerParts()
    return [*parts.feed(text), *parts.finish()]


def turn(text: str) -> list[Item]:
    call = CallItem(key=CallKey(0, 0), name="run", arguments='{"command": "ls -l"}', content="a b")
    end = OutcomeItem(stop_reason=StopReason.COMPLETED)
    return [PromptItem(text="How?"), call, *answer(text), end]


def test_each_item_copies_its_own_message() -> None:
    items = turn(ANSWER)
    assert message_text(items, 0) == "How?"
    assert message_text(items, 1) == "a b"
    for position in range(2, len(items)):
        assert message_text(items, position) == ANSWER


@pytest.mark.parametrize(
    ("position", "code", "command"),
    [(0, "x = 1\n", "make\nmake test"), (1, "x = 1\n", "ls -l"), (3, "x = 1\n", "make\nmake test"),
     (4, "$ make\n$ make test\n", "make\nmake test")],
)  # fmt: skip
def test_the_nearest_code_and_command_are_copied(position: int, code: str, command: str) -> None:
    items = turn(ANSWER)
    assert code_text(items, position) == code
    assert command_text(items, position) == command


def test_code_of_another_turn_is_not_copied() -> None:
    items = [*turn(ANSWER), PromptItem(text="And?"), *answer("No code.")]
    assert code_text(items, len(items) - 1) is None
    assert command_text(items, len(items) - 1) is None


@given(st.lists(st.text(alphabet="abc `~\t"), min_size=1, max_size=120))
def test_a_long_code_block_is_copied_whole(lines: list[str]) -> None:
    lines = [line.replace("~~~", "~").replace("`", "'") for line in lines]
    items = [
        PromptItem(text="x"),
        *answer("```\n" + "".join(f"{line}\n" for line in lines) + "```\n"),
    ]
    for position in range(1, len(items)):
        assert code_text(items, position) == "".join(f"{line}\n" for line in lines)
