"""How much room entries take in an answer, each of them measured once."""

from collections.abc import Callable, Sequence

from treadle.code.model import ContextEntry
from treadle.tokens import estimate

_BORDER = 1
"""Tokens for the signs between two entries."""
_MOST_CHARACTERS = 12
"""Of a token of code; a text of more for each token that is left need not be measured."""


class Room:
    """So many tokens, for entries that are written by `text_of`.

    The sum over entries is a bound of their tokens together, since only signs meet where texts
    are joined. So an answer that grows by one entry costs the reading of that entry alone.
    """

    def __init__(self, tokens: int, text_of: Callable[[ContextEntry], str]) -> None:
        self._tokens = tokens
        self._text_of = text_of
        self._sizes: dict[str, int] = {}

    def holds(self, entries: Sequence[ContextEntry]) -> bool:
        """Whether the entries fit together."""
        left = self._tokens
        new: list[ContextEntry] = []
        for entry in entries:
            if (tokens := self._sizes.get(entry.snippet)) is None:
                new.append(entry)
            else:
                left -= tokens
        for entry in new:
            if len(entry.snippet) > left * _MOST_CHARACTERS:
                return False
            size = estimate(self._text_of(entry)) + _BORDER
            self._sizes[entry.snippet] = size
            left -= size
        return left >= 0
