"""A token budget for the entries of a context. Each entry is measured once."""

from collections.abc import Callable, Sequence

from treadle.code.model import ContextEntry
from treadle.tokens import estimate

_BORDER = 1
"""The number of tokens of the separator between two entries."""
_MAX_CHARACTERS = 12
"""The maximum number of characters in a token of code.

If a text has more characters than the remaining tokens times this number, it cannot fit. Such a
text is not measured.
"""


class ContextBudget:
    """A token budget for entries. `text_of` returns the text of an entry.

    The budget adds the tokens of the single entries. This sum is an upper bound for the joined
    text: a separator is between two entries, so no token can extend over both. Therefore adding an
    entry requires measuring only that entry.
    """

    def __init__(self, tokens: int, text_of: Callable[[ContextEntry], str]) -> None:
        self._tokens = tokens
        self._text_of = text_of
        self._sizes: dict[str, int] = {}

    def holds(self, entries: Sequence[ContextEntry]) -> bool:
        """Whether all entries together fit into the budget."""
        left = self._tokens
        new: list[ContextEntry] = []
        for entry in entries:
            if (tokens := self._sizes.get(entry.snippet)) is None:
                new.append(entry)
            else:
                left -= tokens
        for entry in new:
            if len(entry.snippet) > left * _MAX_CHARACTERS:
                return False
            size = estimate(self._text_of(entry)) + _BORDER
            self._sizes[entry.snippet] = size
            left -= size
        return left >= 0
