"""Any string of a model, a tool or a file is shown literally in a transcript."""

import json
from collections.abc import Callable
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from textual.style import Style

from treadle.events.types import CallKey, ErrorKind, SourceRange, StopReason, ToolFailure
from treadle.session.sources import Quote, QuoteVerdict
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.items import (
    CallItem,
    CodeItem,
    Item,
    NoticeItem,
    OutcomeItem,
    PromptItem,
    ProseItem,
    ReasoningItem,
)
from treadle.tui.transcript.look import Look
from treadle.tui.transcript.renderer import Renderer
from treadle.visible import in_line, printable

HOSTILE = (
    "[/]",
    "[b",
    "[bold]x",
    "\x1b[31m\x1b]0;t\x07",
    "a\0b",
    "\u202egnp",
    "x" * 10_000,
    "|\n|-|",
)
WIDTH = 60


def lines_of(*items: Item) -> list[str]:
    renderer = Renderer(Look(WIDTH, lambda _: Style()))
    rows = [strip for item in items for strip in renderer.render(item).strips]
    assert all(strip.cell_length <= WIDTH for strip in rows)
    return [strip.text for strip in rows]


def packed(text: str) -> str:
    """The text without white space, which wrapping may change."""
    return "".join(text.split())


def is_clean(lines: list[str]) -> bool:
    """Whether no character is left that a terminal would obey or hide."""
    return all(in_line(line) == line for line in lines)


def with_examples(test: Callable[[], None]) -> Callable[[], None]:
    """Run a test for each known hostile string."""
    for text in HOSTILE:
        test = example(text=text)(test)
    return test


@with_examples
@given(text=st.text())
def test_texts_of_prompts_notices_and_reasoning_are_literal(text: str) -> None:
    for item in (
        PromptItem(text=text, unfolded=True),
        NoticeItem(text=text, level="error"),
        ReasoningItem(parts=[text], unfolded=True),
        OutcomeItem(stop_reason=StopReason.FAILED, error=text, hint=text),
    ):
        lines = lines_of(item)
        assert is_clean(lines)
        shown = packed("".join(lines))
        expected = packed(printable(text).expandtabs(4))
        assert expected in shown


@with_examples
@given(text=st.text())
def test_code_is_literal(text: str) -> None:
    rows = text.split("\n")
    for label in ("", "python", text, "src/main.rs"):
        lines = lines_of(CodeItem(label=label, lines=rows))
        assert is_clean(lines)
        assert packed(printable("\n".join(rows)).expandtabs(4)) in packed("".join(lines))


@with_examples
@given(text=st.text())
def test_names_and_results_of_tools_are_literal(text: str) -> None:
    source = SourceRange(text, 1, 2, name=text)
    for arguments in (text, json.dumps({"path": text}), json.dumps({text: [text]})):
        item = CallItem(
            key=CallKey(0, 0), name=text, arguments=arguments, summary=text, details=text,
            failure=ToolFailure(ErrorKind.INTERNAL, text, expected=text, hint=text),
            duration=1.0, sources=(source,), notes=[text], unfolded=True,
            excerpts={source: text},
        )  # fmt: skip
        lines = lines_of(item)
        assert is_clean(lines)
        assert lines[0].rstrip().endswith("1.00 s")


@with_examples
@given(text=st.text())
def test_paths_of_sources_are_literal(text: str) -> None:
    source = SourceRange(text, 1, 2)
    quote = Quote(text, 0, 1, 1, 2, QuoteVerdict.EXACT)
    item = OutcomeItem(
        stop_reason=StopReason.COMPLETED, sources=(source,), quotes=(quote,), unfolded=True
    )
    lines = lines_of(item, PromptItem(text="x", sources=(source,), unfolded=True))
    assert is_clean(lines)
    assert packed("".join(lines)).count(packed(f"{in_line(text)}:1-2")) >= 3


@with_examples
@given(text=st.text())
def test_any_stream_of_deltas_is_shown(text: str) -> None:
    parts = AnswerParts()
    step = max(1, len(text) // 7)
    edges = [*range(0, len(text), step), len(text)]
    items: list[Item] = []
    for start, end in pairwise(edges):
        items += parts.feed(text[start:end])
        assert is_clean(lines_of(*items))
    items += parts.finish()
    assert is_clean(lines_of(*items))


MARKDOWN = st.sampled_from([
    *"[]()<>*_`~#-+|\\!:.=\"'ab1 \n\t\0\x1b\u202e", "&#27;", "&#x202e;", "&ZeroWidthSpace;", "\n\n",
    "](/traces/t?span=%1b%00)", "![", "1. ", "> ", "    ", "|-|-|\n", "<https://a.b/&#x202e;>",
])  # fmt: skip


@given(parts=st.lists(MARKDOWN, max_size=40))
@example(parts=["[a](/traces/t?span=%1b%00%0a)"])
@example(parts=["a &#x202e;b ![&#x202e;](x) [&#x202e;](&#x202e;) `&#x202e;`"])
def test_any_markdown_is_shown(parts: list[str]) -> None:
    assert is_clean(lines_of(ProseItem(text="".join(parts))))
