"""Words of texts as SQLite's tokenizer finds them, for the text search of other engines.

Text search compares words without case and accents. SQLite's full-text index (FTS5) splits texts
with its tokenizer `unicode61 remove_diacritics 2`. This module finds the same words, because it
reads the form of each character from FTS5 itself.
"""

import sqlite3
import threading
from collections.abc import Iterable
from typing import NamedTuple

_TOKENIZER = 'tokenize = "unicode61 remove_diacritics 2"'

MAX_WORD = 250
"""The maximum number of characters of a word in the index. Longer words are cut."""

_MAX_INDEX_BYTES = 1_000_000
"""PostgreSQL limits the words of one text to about this many bytes."""
_MAX_TOKEN_BYTES = 32_768
"""The maximum number of bytes of a word in FTS5."""
_UNINDEXED = "-"
"""A word of texts that are not fully indexed. Each query also finds it, and then reads the texts.
"""
_COLUMN_BREAK = "\u2028"
"""Separates the words of two columns. It is in no word."""

POSTGRES_TEXTS: tuple[str, ...] = (
    # `texts` has the words of all columns, without positions. `partial` is 1 if it lacks some of
    # them. `tokens` has all words in order. `folded` has the texts after case folding,
    # for comparisons without case. `tokens` and `folded` are NULL if the texts have only ASCII
    # characters, because PostgreSQL can then compute them from the texts.
    """CREATE TABLE texts (
        rowid bigint PRIMARY KEY, name TEXT, input TEXT, output TEXT,
        texts tsvector NOT NULL, partial bigint NOT NULL, tokens TEXT, folded text[]
    )""",
    # The texts are stored apart from the words, so that a search reads fewer pages.
    "ALTER TABLE texts SET (toast_tuple_target = 128)",
    "ALTER TABLE texts ALTER COLUMN texts SET STORAGE MAIN",
    "CREATE INDEX texts_by_word ON texts USING gin (texts)",
)
"""The statements that create the table `texts` in PostgreSQL."""


class TextColumns(NamedTuple):
    """The columns of `texts` that PostgreSQL has in addition to the texts themselves."""

    texts: str
    """The different words, separated by spaces. The engine sends them as a `tsvector`."""
    partial: int
    tokens: str | None
    folded: list[str] | None


class _Letters(dict[int, str]):
    """Maps each character to its form in a word, to '' for an accent, or to ' ' between words."""

    def __init__(self) -> None:
        ascii_letters = ((code, chr(code)) for code in range(128))
        super().__init__((code, c.lower() if c.isalnum() else " ") for code, c in ascii_letters)
        self._lock = threading.Lock()
        self._index: sqlite3.Connection | None = None

    def __missing__(self, code: int) -> str:
        with self._lock:
            self[code] = letter = self._ask(chr(code))
        return letter

    def _ask(self, character: str) -> str:
        """Return the form of a character. FTS5 finds it between two known letters."""
        if "\ud800" <= character <= "\udfff":
            return " "
        if self._index is None:
            self._index = sqlite3.connect(":memory:", check_same_thread=False)
            self._index.execute(f"CREATE VIRTUAL TABLE texts USING fts5(x, {_TOKENIZER})")
            self._index.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'row')")
        self._index.execute("INSERT INTO texts VALUES (?)", (f"a{character}b",))
        found = [word for (word,) in self._index.execute("SELECT term FROM words")]
        self._index.execute("DELETE FROM texts")
        return found[0][1:-1] if len(found) == 1 else " "


_LETTERS = _Letters()
_ASCII_LETTERS = bytes(ord(_LETTERS[code]) for code in range(128)) + bytes(128)
"""Maps each ASCII character as `_LETTERS` does, for `bytes.translate`."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without accents."""
    found = text.translate(_LETTERS).split()
    if len(text) > _MAX_TOKEN_BYTES // 4:
        return [_cut(word) if len(word) > _MAX_TOKEN_BYTES // 4 else word for word in found]
    return found


def in_word(character: str) -> bool:
    """Return whether a word may contain the character."""
    return character.translate(_LETTERS) != " "


def text_columns(texts: Iterable[str]) -> TextColumns:
    """Return the columns that follow from the name, the input and the output of a span."""
    every = tuple(texts)
    whole = " ".join(every)
    if whole.isascii() and len(whole) * 4 <= _MAX_INDEX_BYTES:
        # A table of bytes is several times faster than a mapping of characters.
        found = set(whole.encode().translate(_ASCII_LETTERS).split())
        if found and max(map(len, found)) > MAX_WORD:
            found = {word[:MAX_WORD] for word in found}
        return TextColumns(b" ".join(found).decode(), 0, None, None)
    words = [words_of(text) for text in every]
    different = {word[:MAX_WORD] for each in words for word in each}
    partial = 0
    if len(whole) * 4 > _MAX_INDEX_BYTES:
        different, partial = _fitting(different)
    if partial:
        different.add(_UNINDEXED)
    if whole.isascii():
        return TextColumns(" ".join(different), partial, None, None)
    tokens = _COLUMN_BREAK.join(f" {' '.join(each)} " for each in words)
    return TextColumns(" ".join(different), partial, tokens, [text.casefold() for text in every])


def _cut(word: str) -> str:
    return word.encode()[:_MAX_TOKEN_BYTES].decode(errors="ignore")


def _fitting(words: set[str]) -> tuple[set[str], int]:
    """Return the words that fit into a `tsvector`, and 1 if some words do not fit, otherwise 0."""
    size, kept = 0, set[str]()
    for word in sorted(words):
        size += len(word.encode()) + 1
        if size > _MAX_INDEX_BYTES:
            return kept, 1
        kept.add(word)
    return kept, 0
