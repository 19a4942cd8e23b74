"""Finds the matches of a text search in the texts of a span. Excerpts mark these matches."""

import re
import unicodedata
from collections.abc import Iterable

from treadle.traces.query.conditions import Condition, Operator

_MARKS = "[\u0300-\u036f]*"
"""Accents that follow their letter as separate characters."""


class _Folded(dict[int, str]):
    """Maps each character to one character in lower case and without accents."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base = unicodedata.normalize("NFD", character)[0].lower()
        self[code] = base if len(base) == 1 else character
        return self[code]


_FOLDED = _Folded()


class Matches:
    """Finds the terms of a query as the index does: without regard to case and accents."""

    def __init__(self, terms: Iterable[Condition]) -> None:
        """Prepare the search for these conditions on the field `TEXT`."""
        given = tuple(terms)
        self._patterns = tuple(
            re.compile("|".join(_regex(term, whole=whole) for term in given))
            for whole in (True, False)
        )

    def ranges(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end of each match in `text`.

        Terms match whole words. If no term matches a whole word, terms match anywhere, since some
        scripts do not separate words.
        """
        folded = text.translate(_FOLDED)
        for pattern in self._patterns:
            if found := [match.span() for match in pattern.finditer(folded) if match.group()]:
                return found
        return []


def _regex(term: Condition, *, whole: bool) -> str:
    text = unicodedata.normalize("NFC", str(term.values[0])).translate(_FOLDED)
    letters = [each for each in text if not unicodedata.combining(each)]
    start = r"(?<![^\W_])" if whole and text[:1].isalnum() else ""
    is_word = whole and text[-1:].isalnum() and term.operator is Operator.CONTAINS
    end = r"(?![^\W_])" if is_word else ""
    return start + "".join(re.escape(each) + _MARKS for each in letters) + end
