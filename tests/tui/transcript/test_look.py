"""The look of Markdown in a transcript."""

from itertools import pairwise

import pytest
from textual.style import Style

from treadle.events.types import CallKey
from treadle.tui.conversation.answer_parts import TABLE_CELLS, AnswerParts
from treadle.tui.conversation.copies import message_text
from treadle.tui.conversation.items import CallItem, CodeItem, Item, ProseItem
from treadle.tui.transcript.look import Look
from treadle.tui.transcript.renderer import Renderer

LOOK = Look(30, lambda _: Style())


def markdown(text: str) -> list[str]:
    return [strip.text.rstrip() for strip in LOOK.markdown(text)]


def test_headings_are_at_the_left() -> None:
    assert markdown("# One\n\n## Two") == ["One", "", "Two"]


def test_blank_lines_are_single() -> None:
    lines = markdown("Text\n\n- a\n- b\n\n| x |\n|---|\n| 1 |\n\nMore")
    assert "" in lines
    assert all(one or two for one, two in pairwise(lines))
    assert lines[0]
    assert lines[-1]


def test_numbers_of_lists_keep_their_start_and_width() -> None:
    rows = "".join(f"{number}. item\n" for number in range(9, 12))
    assert markdown(rows) == [" 9. item", "10. item", "11. item"]


def test_long_words_and_tables_fit_the_width() -> None:
    for text in ("x" * 100, f"| {'y' * 100} | b |\n|---|---|\n| {'z' * 50} | c |"):
        assert all(len(line) <= 30 for line in markdown(text))
        assert "".join(markdown("x" * 100)) == "x" * 100


def test_a_link_to_a_span_shows_its_id() -> None:
    assert markdown("[it](/traces/a%2Fb?span=0f1) fails") == ["it (span 0f1) fails"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{'  ' * level}- level {level}" for level in range(100)),
        "\n".join(f"{'   ' * level}1. level" for level in range(14)),
        "\n".join(f"{'> ' * level}level {level}\n" for level in range(1, 90)),
        f"| {' | '.join(['name'] * 40)} |\n|{'---|' * 40}\n| {' | '.join(['1'] * 40)} |\n",
        f"| a | b |\n|---|---|\n| {'y' * 100} | {'9' * 100} |\n",
    ],
    ids=["list", "numbered list", "quote", "columns", "long cells"],
)
def test_markdown_that_does_not_fit_loses_no_text(text: str) -> None:
    shown = "".join(markdown(text))
    for character in set(filter(str.isalnum, text)):
        assert shown.count(character) >= text.count(character) - text.count(f"{character}. ")


def heights(*items: Item) -> list[int]:
    renderer = Renderer(LOOK)
    return [
        len(renderer.render(item, items[number - 1] if number else None).strips)
        for number, item in enumerate(items)
    ]


def test_a_blank_line_separates_items_but_not_calls_and_parts_of_code() -> None:
    call, other = (CallItem(key=CallKey(0, slot), name="grep", arguments="") for slot in (0, 1))
    first = CodeItem(label="py", lines=["a"])
    second = CodeItem(label="py", lines=["b"], starts=False, ends=True)
    assert heights(ProseItem(text="x"), call, other, first, second, ProseItem(text="y")) == [
        1, 2, 1, 3, 1, 2,
    ]  # fmt: skip


def test_a_code_block_fills_the_width_and_names_its_language() -> None:
    rendered = Renderer(LOOK).render(CodeItem(label="python", lines=["x = 1"], ends=True))
    assert [strip.text.strip() for strip in rendered.strips] == ["python", "x = 1"]
    assert {strip.cell_length for strip in rendered.strips} == {30}


def parts_of(answer: str) -> list[Item]:
    """The items of an answer."""
    parts = AnswerParts()
    return [*parts.feed(answer), *parts.finish()]


def test_large_table_is_drawn_in_parts_with_its_head() -> None:
    rows = [f"| {row} | {row + 5_000} |\n" for row in range(1_000)]
    answer = "".join(["Look:\n", "| key | value |\n", "|---|---|\n", *rows, "\n"])
    items = parts_of(answer)
    assert len(items) > 4
    assert message_text(items, 0) == answer.strip("\n") + "\n"
    drawn = [[strip.text for strip in Renderer(LOOK).render(item).strips] for item in items]
    assert all(len(lines) * 2 < 2 * TABLE_CELLS for lines in drawn)
    assert all(any("key" in line and "value" in line for line in lines) for lines in drawn)
    texts = [line.split() for lines in drawn for line in lines]
    assert [int(words[0]) for words in texts if words[-1:] and words[0].isdigit()] == [
        *range(1_000)
    ]


def test_string_over_many_lines_keeps_its_colour() -> None:
    look = Look(30, lambda style: Style(bold="$text-success" in style))
    code = ["x = 1", 'text = """', *["inside"] * 60, '"""', "y = 2"]
    items = parts_of("\n".join(["```python", *code, "```", ""]))
    assert len(items) == 2
    bold = {
        strip.text.strip(): {
            bool(part.style and part.style.bold) for part in strip if part.text.strip()
        }
        for item in items
        for strip in Renderer(look).render(item).strips
    }
    assert (bold["inside"], bold["x = 1"], bold["y = 2"]) == ({True}, {False}, {False})
