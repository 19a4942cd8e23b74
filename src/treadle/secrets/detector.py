"""What finds one kind of secret, and the pieces that their patterns share."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Finding = tuple[int, int, str]
"""Where a secret begins and ends, and of what kind it is."""

MARK = "[redacted:"
"""What stands in the place of a secret begins so."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern, what of a match is a secret (None: nothing), and literals that a match needs.

    `screen` are patterns for RE2 which let through at least what the detector finds; see
    `screening`.
    """

    pattern: re.Pattern[str]
    find: Callable[[re.Match[str]], Finding | None]
    hints: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    """Patterns for RE2, one of which is near a match; without them, the hints."""
    resumes: bool = False
    """Whether what is no secret is looked at again from behind the group `name`, since another
    name may begin there: in `key="password" value="…"`. Only for patterns of bounded length.
    """

    @property
    def cue(self) -> str:
        """A pattern for RE2 without which the detector need not be tried."""
        return "|".join(self.cues or map(re.escape, self.hints))

    def findings(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """Every secret that begins between these places of the text, in order."""
        at = start
        while (match := self.pattern.search(text, at, end)) is not None:
            if match.end() == end and end < len(text):
                match = self.pattern.match(text, match.start()) or match
            finding = self.find(match)
            at = max(match.end(), match.start() + 1)
            if finding is not None:
                at = max(finding[1], match.start() + 1)
                yield finding
            elif self.resumes:
                at = match.end("name")


def starts_word(literal: str, *, alone: bool = True, dashed: bool = False) -> str:
    r"""A pattern for `literal` where no longer word begins before it.

    An escape of JSON text (`\n`, `\u001b`), of an address (`%20`) or of a terminal (`ESC[31m`)
    before it does not count as a word, nor does `_` (`MY_ghp_…`) unless it is `alone`. Where it is
    `dashed`, `-` before it (`old-ghp_…`) does not count either. The check
    comes after the literal, so that the regex engine can search for the literal first.
    """
    escaped = re.escape(literal)
    word = "A-Za-z0-9_-" if alone else "A-Za-z0-9" if dashed else "A-Za-z0-9-"
    return (
        f"{escaped}(?:(?<![{word}]{escaped})"
        rf"|(?<=\\[nrtbf]{escaped})|(?<=\\u[0-9a-fA-F]{{4}}{escaped})"
        rf"|(?<=%[0-9A-Fa-f]{{2}}{escaped})|(?<=\[[0-9]m{escaped})|(?<=[0-9][0-9]m{escaped}))"
    )


def spellings(*words: str) -> str:
    """Alternatives for the usual cases of words; ignoring case would be ten times slower."""
    return "|".join(f"{word}|{word.capitalize()}|{word.upper()}" for word in words)


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these literals, the longest first, that begins with different letters.

    The regex engine tries alternatives one after another at every place; here few are left, and it
    can skip letters with which none begins.
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
    """The characters before a match, at most so many."""
    return match.string[max(0, match.start() - length) : match.start()]
