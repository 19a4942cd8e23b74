"""The code snippet format: what is written is read back, byte for byte."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treadle.code.snippets import Snippet, parse_snippets, write_snippet

texts = st.text(st.characters(codec="utf-8"))
paths = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1).map(
    "/".__add__
)


@given(
    prose=texts,
    path=paths,
    start=st.integers(0, 10**9),
    content=st.one_of(texts, st.sampled_from(["\n</code>", '<code="/a" #0:3>\nabc\n</code>'])),
)
@example(prose="x\n", path="/a", start=0, content="")
def test_snippets_round_trip_inside_any_text(
    prose: str, path: str, start: int, content: str
) -> None:
    end = start + len(content.encode())
    try:
        written = write_snippet(path, start, end, content)
    except ValueError:
        assert '"' in path or len(path.encode()) > 4096
        return
    snippet = Snippet(path, start, end, content)
    assert parse_snippets(written) == (snippet,)
    assert parse_snippets(f"{written}\n{written}") == (snippet, snippet)
    assert snippet in parse_snippets(f"{prose.replace('<code=', '')}\n{written}\n{prose}")


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    assert isinstance(parse_snippets(text), tuple)
    assert isinstance(parse_snippets(f'<code="/a" #0:99>\n{text}\n</code>'), tuple)


def test_closing_tag_in_a_snippet_is_content() -> None:
    content = b"a\n</code>\nb"
    written = write_snippet("/x.html", 5, 5 + len(content), content)
    assert written == '<code="/x.html" #5:16>\na\n</code>\nb\n</code>'
    assert parse_snippets(written) == (Snippet("/x.html", 5, 16, content.decode()),)


def test_offsets_count_bytes() -> None:
    written = write_snippet("/x", 0, 4, "\N{SNAKE}")
    assert parse_snippets(written) == (Snippet("/x", 0, 4, "\N{SNAKE}"),)


def test_malformed_snippets_are_skipped() -> None:
    good = write_snippet("/x", 0, 2, "ab")
    for bad in ('<code="/x" #0:3>\nab\n</code>', '<code="/x" #3:1>\n\n</code>', '<code="/x">\n'):
        assert parse_snippets(f"{bad}\n{good}") == (Snippet("/x", 0, 2, "ab"),)


@pytest.mark.parametrize(
    ("path", "start", "end", "content"),
    [
        ("/x", 0, 3, "ab"),
        ("/x", 2, 0, ""),
        ("/x", 0, 1, b"\xe9"),
        ("/new\nline", 0, 1, "a"),
        ("/\udce9", 0, 1, "a"),
        ('/a" #1:2>\n', 0, 1, "a"),
    ],
)
def test_snippets_that_the_format_cannot_carry_are_refused(
    path: str, start: int, end: int, content: str | bytes
) -> None:
    with pytest.raises(ValueError, match=r"."):
        write_snippet(path, start, end, content)


def test_many_openings_on_one_line_take_linear_time() -> None:
    assert parse_snippets('<code="' * 20_000) == ()
