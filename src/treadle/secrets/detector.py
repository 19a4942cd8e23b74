"""The type of detectors, and helpers for their patterns."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

Finding = tuple[int, int, str]
"""The start and the end of a secret, and its kind."""

MARK = "[redacted:"
"""The beginning of each text that replaces a secret."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A regular expression for one kind of secret, and a function that finds the secret in a match.

    The function returns None if the match is not a secret. `hints` are literals, and each match
    contains one of them. `screen` contains RE2 patterns that match at least everything that the
    detector finds. See `screen.py`.
    """

    expression: str
    find: Callable[[re.Match[str]], Finding | None]
    hints: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    """RE2 patterns that show where a match may be.

    One of them matches near every match of `pattern`. By default, the hints are used.
    """
    resumes: bool = False
    """Whether the search continues inside a match that is not a secret, after its group `name`.

    Another name may begin there, as in `key="password" value="…"`. Only patterns of bounded length
    may set this. Otherwise the run time would not be linear.
    """

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression. The first use compiles it."""
        return _compiled(self.expression)

    @property
    def cue(self) -> str:
        """An RE2 pattern. If it does not match a text, the detector finds nothing there."""
        return "|".join(self.cues or map(re.escape, self.hints))

    def findings(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """Yield every secret that begins between these positions, in order."""
        pattern = self.pattern
        at = start
        while (match := pattern.search(text, at, end)) is not None:
            if match.end() == end and end < len(text):
                match = pattern.match(text, match.start()) or match
            finding = self.find(match)
            at = max(match.end(), match.start() + 1)
            if finding is not None:
                at = max(finding[1], match.start() + 1)
                yield finding
            elif self.resumes:
                at = match.end("name")


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    # Compiling all expressions takes 350 ms, and a text rarely needs more than a few of them.
    return re.compile(expression)


def starts_word(literal: str, *, alone: bool = True, dashed: bool = False) -> str:
    r"""Return a pattern for `literal` at the beginning of a word.

    An escape of JSON (`\n`, `\u001b`), of a URL (`%20`) or of a terminal (`ESC[31m`) is not part of
    a word. A `_` before the literal (`MY_ghp_…`) is part of a word only if `alone` is True. A `-`
    before the literal (`old-ghp_…`) is part of a word unless `dashed` is True. The check of the
    text before the literal is at the end of the pattern, so that the regex engine can search for
    the literal first.
    """
    escaped = re.escape(literal)
    word = "A-Za-z0-9_-" if alone else "A-Za-z0-9" if dashed else "A-Za-z0-9-"
    return (
        f"{escaped}(?:(?<![{word}]{escaped})"
        rf"|(?<=\\[nrtbf]{escaped})|(?<=\\u[0-9a-fA-F]{{4}}{escaped})"
        rf"|(?<=%[0-9A-Fa-f]{{2}}{escaped})|(?<=\[[0-9]m{escaped})|(?<=[0-9][0-9]m{escaped}))"
    )


def spellings(*words: str) -> str:
    """Return a pattern for the words in lower case, capitalized and in upper case.

    A search that ignores case would take ten times as long.
    """
    return "|".join(f"{word}|{word.capitalize()}|{word.upper()}" for word in words)


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of these literals, the longest first, as a tree of their letters.

    The regex engine tries alternatives in turn at every position. In the tree few alternatives
    remain, and the engine skips letters that do not begin a literal.
    """
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[:1], []).append(word[1:])
    ends = "" in by_letter
    by_letter.pop("", None)
    parts = [re.escape(letter) + any_of(rests) for letter, rests in by_letter.items()]
    joined = parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})" if parts else ""
    return f"(?:{joined})?" if ends and joined else joined


def before(match: re.Match[str], length: int) -> str:
    """Return at most `length` characters before a match."""
    return match.string[max(0, match.start() - length) : match.start()]
