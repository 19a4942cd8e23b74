"""The cutter never loses or changes a character, and gives out no more than it must hold back."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.display.markdown_stream import Block, Kind, MarkdownSplitter

REPLY = """# Title

Some prose
in two lines.

```python
def f():

    return 1
```
After.
"""


def cut(parts: list[str]) -> list[Block]:
    cutter = MarkdownSplitter()
    blocks = [piece for part in parts for piece in cutter.feed(part)]
    return blocks + cutter.finish()


def test_prose_is_split_into_blocks_and_code_into_lines() -> None:
    assert [(piece.kind, piece.text) for piece in cut([REPLY])] == [
        (Kind.PROSE, "# Title\n\n"),
        (Kind.PROSE, "Some prose\nin two lines.\n\n"),
        (Kind.FENCE, "```python\n"),
        (Kind.CODE, "def f():\n"),
        (Kind.CODE, "\n"),
        (Kind.CODE, "    return 1\n"),
        (Kind.FENCE, "```\n"),
        (Kind.PROSE, "After.\n"),
    ]


def test_code_snippet_format_is_code() -> None:
    kinds = [piece.kind for piece in cut(['<code="/a/b.py" #0:4>\nx=[1\n</code>\nend'])]
    assert kinds == [Kind.FENCE, Kind.CODE, Kind.FENCE, Kind.PROSE]


def test_fence_is_closed_only_by_its_own_kind() -> None:
    blocks = cut(["````\n```\n~~~~\n````\n"])
    assert [piece.kind for piece in blocks] == [Kind.FENCE, Kind.CODE, Kind.CODE, Kind.FENCE]


def test_long_list_is_split_at_items() -> None:
    cutter = MarkdownSplitter()
    given_out = [piece for n in range(1000) for piece in cutter.feed(f"- item {n}\n")]
    assert sum(piece.text.count("\n") for piece in given_out) > 900


@given(st.lists(st.text(alphabet='a `~\n-<code=">/#\\[', max_size=12), max_size=30))
def test_blocks_do_not_depend_on_the_chunks(parts: list[str]) -> None:
    whole = "".join(parts)
    blocks = cut(parts)
    assert "".join(piece.text for piece in blocks) == whole
    assert blocks == cut([whole]) == cut(list(whole))


@given(st.lists(st.text(alphabet="ab\n ", max_size=9), max_size=20), st.integers(1, 12))
def test_unfinished_text_is_the_end_of_the_pending_text(parts: list[str], length: int) -> None:
    cutter = MarkdownSplitter()
    given_out = "".join(piece.text for part in parts for piece in cutter.feed(part))
    held_back = "".join(parts)[len(given_out) :]
    assert cutter.unfinished(length) == held_back[-length:]
