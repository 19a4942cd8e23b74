"""The words of texts equal those of SQLite's full-text index."""

import sqlite3
from contextlib import closing

from hypothesis import example, given
from hypothesis import strategies as st

from treadle.traces.store.text_index import in_word, text_columns, words_of

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LATIN = st.text("aÀé \u0301\u0323ßİĲ_-'\n0٣北\U0010fffd", max_size=40)


def words_in_index(text: str) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            'CREATE VIRTUAL TABLE texts USING fts5(x, tokenize = "unicode61 remove_diacritics 2")'
        )
        connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'instance')")
        connection.execute("INSERT INTO texts VALUES (?)", (text,))
        return [word for (word,) in connection.execute("SELECT term FROM words ORDER BY offset")]


@given(st.one_of(UNICODE, LATIN))
@example("Café au_lait, ANDRÉ's 50% C++ — naïve ZÜRICH Zu\u0308rich")
@example("x" * 40_000)
@example("é" * 20_000)
@example("שלום 北京欢迎你 😀 \u0301a")
def test_words_are_those_of_sqlite(text: str) -> None:
    assert words_of(text) == words_in_index(text)
    assert words_of(" ".join(words_of(text))) == words_of(text)


@given(st.characters(exclude_categories=["Cs"]))
def test_character_of_a_word_does_not_split_it(character: str) -> None:
    assert in_word(character) == (len(words_in_index(f"a{character}b")) == 1)


def test_words_that_do_not_fit_are_marked_as_partial() -> None:
    many = " ".join(f"w{number:06}" for number in range(200_000))

    assert text_columns(("name", "in", "out")).partial == 0
    assert text_columns(("name", many, "out")).partial == 1
