"""Text conditions for SQLite's full-text index, and the letter by letter check behind it.

The index knows words: runs of letters and digits, whatever their case and accents. It finds the
candidates. A term with anything else in it, such as `foo_bar`, `50%` or `not found`, is then looked
for literally in the text that is kept beside the index.
"""

import re
import sqlite3
import unicodedata
from dataclasses import dataclass

from treadle.traces.query.conditions import Condition, Operator

_ESCAPE = re.compile(r"\\\w\Z")
"""The index has the letter of `\\n` together with the word that follows it in the text."""


@dataclass(frozen=True, slots=True)
class TextTerm:
    """How one text condition is answered."""

    match: str | None
    """For MATCH, or None when the index cannot help: the term holds no word that it knows."""
    literal: str | None
    """What must be in the text, case folded; None when a match is enough."""


def text_term(condition: Condition) -> TextTerm:
    """The term of a condition on the text."""
    text = str(condition.values[0])
    begins = condition.operator is Operator.BEGINS
    known = _ESCAPE.sub(" ", text)
    words = "".join(character if _in_word(character) else " " for character in known).split()
    single = words == [text]
    match = None
    if words and not any(map(_unspaced, text)):
        phrase = " ".join(words)
        # The last word is only the beginning of one where the text goes on without a break.
        match = f'"{phrase}"' + (" *" if begins and _in_word(known[-1]) else "")
    return TextTerm(match, None if single and match else text.casefold())


def add_holds(connection: sqlite3.Connection) -> None:
    """Give the connection `holds(text, literal)`: whether the folded text has the literal."""
    connection.create_function("holds", 2, _holds, deterministic=True)


def _holds(text: str | bytes | None, literal: str) -> bool:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return text is not None and literal in text.casefold()


def _in_word(character: str) -> bool:
    """Whether FTS5's `unicode61` takes the character as part of a word."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category in {"Co", "Mn"}


def _unspaced(character: str) -> bool:
    """Whether words are written without blanks between them, so that the index has whole clauses.

    Chinese, Japanese, Thai, Lao, Khmer and Burmese.
    """
    return (
        "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or "\u1780" <= character <= "\u17ff"
        or "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\U00020000" <= character <= "\U0003ffff"
    )
