from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.code.snippets import claimed_snippets, parse_snippets, write_snippet
from treadle.session.sources import Quote, QuoteVerdict, check_quotes

CODE = "def add(left, right):\n    return left + right\n\n\ndef subtract():\n    pass\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "calc.py").write_text(CODE)
    (tmp_path / ".env").write_text("KEY=1\n")
    return tmp_path


def quoted(root: Path, name: str, start: int, end: int, content: str) -> tuple[Quote, ...]:
    text = f'Here:\n<code="{root / name}" #{start}:{end}>\n{content}\n</code>\nThat is it.'
    return check_quotes(root, text)


def test_a_quote_with_the_bytes_of_the_file_is_exact(root: Path) -> None:
    start = CODE.index("def subtract")
    (quote,) = quoted(root, "calc.py", start, len(CODE) - 1, CODE[start:-1])
    assert quote == Quote("calc.py", start, len(CODE) - 1, 5, 6, QuoteVerdict.EXACT)


def test_a_wrong_range_is_corrected(root: Path) -> None:
    start = CODE.index("def subtract")
    for claimed in ((0, len(CODE) - 1 - start), (0, 7), (5_000, 5_001), (9, 3)):
        (quote,) = quoted(root, "calc.py", *claimed, CODE[start:-1])
        assert quote == Quote("calc.py", start, len(CODE) - 1, 5, 6, QuoteVerdict.MOVED)


def test_a_quote_with_other_bytes_is_different(root: Path) -> None:
    (quote,) = quoted(root, "calc.py", 0, 12, "def add(a, b")
    assert (quote.verdict, quote.start_line) == (QuoteVerdict.DIFFERENT, 0)
    (empty,) = quoted(root, "calc.py", 3, 1, "")
    assert empty.verdict is QuoteVerdict.DIFFERENT


@pytest.mark.parametrize("name", ["none.py", ".env", "../elsewhere.py", "\0", ""])
def test_a_quote_of_an_unreadable_file_is_unreadable(root: Path, name: str) -> None:
    (quote,) = quoted(root, name, 0, 5, "KEY=1")
    assert quote.verdict is QuoteVerdict.UNREADABLE


def test_prose_has_no_quotes(root: Path) -> None:
    assert check_quotes(root, 'Write `<code="a" #1:2>` around it.') == ()
    assert check_quotes(root, '<code="a.py" #0:3>\nnever closed') == ()


@given(
    before=st.text(max_size=30),
    content=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    start=st.integers(0, 99),
)
def test_well_formed_snippets_parse_alike(before: str, content: str, start: int) -> None:
    snippet = write_snippet("/a.py", start, start + len(content.encode()), content)
    text = f"{before}\n{snippet}\n"
    if parse_snippets(before) == claimed_snippets(before) == ():
        assert claimed_snippets(text) == parse_snippets(text)
