"""The text objects of vim: words, quoted texts and texts in brackets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from treadle.tui.prompt.key_sets.steps import line_end, line_start, word_kind
from treadle.tui.prompt.key_sets.vim_motions import Origin

_BRACKETS = ("()b", "[]", "{}B", "<>")
"""The two brackets of each pair, and for some pairs a letter that also names the pair."""


@dataclass(frozen=True, slots=True)
class TextRange:
    """The text from `start` to `end`, exclusive."""

    start: int
    end: int


def text_object(origin: Origin, keys: str) -> TextRange | None:
    """The text that keys such as "iw" or "a(" select. None if there is no such text."""
    found = _OBJECTS.get(keys[1:])
    return None if found is None or keys[0] not in "ia" else found(origin, keys[0] == "a")


def _word(origin: Origin, whole: bool) -> TextRange | None:
    """The word at the cursor.

    With `whole`, the range includes the spaces after the word. If there are none, it includes the
    spaces before the word. Spaces at the cursor also count as a word. With `whole`, their range
    includes the word after them.
    """
    text, at = origin.text, origin.at
    first, last = line_start(text, at), line_end(text, at)
    if at >= last:
        return None
    start, end = _same_kind(text, at, first, last)
    if whole and end < last and word_kind(text[at]) == 0:
        end = _same_kind(text, end, end, last)[1]
    elif whole:
        start, end = _with_spaces(text, start, end, first, last)
    return TextRange(start, end)


def _quoted(quote: str, origin: Origin, whole: bool) -> TextRange | None:
    """The quoted text at the cursor, or else the next quoted text in the same line."""
    text, at = origin.text, origin.at
    first, last = line_start(text, at), line_end(text, at)
    quotes = [
        each for each in range(first, last)
        if text[each] == quote and (each == first or text[each - 1] != "\\")
    ]  # fmt: skip
    pairs = zip(quotes[::2], quotes[1::2], strict=False)
    found = next(((start, end) for start, end in pairs if at <= end), None)
    if found is None:
        return None
    start, end = found
    if whole:
        return TextRange(*_with_spaces(text, start, end + 1, first, last))
    return TextRange(start + 1, end)


def _bracketed(brackets: str, origin: Origin, whole: bool) -> TextRange | None:
    """The text in brackets around the cursor: the innermost ones, or outer ones with a count.

    If a line break follows the opening bracket, and the closing bracket is the first character of
    its line except for spaces, then the inner text is the lines between the brackets.
    """
    text, opening, closing = origin.text, brackets[0], brackets[1]
    at = origin.at - (text[origin.at : origin.at + 1] == closing)
    start = end = -1
    for _ in range(origin.number):
        start = _unmatched(text, at, -1, closing, opening)
        end = _unmatched(text, start + 1, 1, opening, closing)
        if start < 0 or end < 0:
            return None
        at = start - 1
    inner = TextRange(start + 1, end)
    if whole:
        return TextRange(inner.start - 1, inner.end + 1)
    last_break = text.rfind("\n", inner.start + 1, inner.end)
    if text[inner.start] == "\n" and last_break > 0 and not text[last_break : inner.end].strip():
        return TextRange(inner.start + 1, last_break + (origin.operator != "c"))
    return inner


def _unmatched(text: str, at: int, step: int, nested: str, wanted: str) -> int:
    """The position of the first `wanted` bracket that does not pair with a `nested` one, or -1.

    The search begins at `at`. It goes forward if `step` is 1, and backward if `step` is -1.
    """
    depth = 0
    while 0 <= at < len(text):
        if text[at] == wanted:
            if not depth:
                return at
            depth -= 1
        elif text[at] == nested:
            depth += 1
        at += step
    return -1


def _same_kind(text: str, at: int, first: int, last: int) -> tuple[int, int]:
    """The longest range around `at` whose characters have the same kind."""
    kind, start, end = word_kind(text[at]), at, at
    while start > first and word_kind(text[start - 1]) == kind:
        start -= 1
    while end < last and word_kind(text[end]) == kind:
        end += 1
    return start, end


def _with_spaces(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Extend a range by the spaces after it, or by the spaces before it if none follow."""
    after = end
    while after < last and text[after].isspace():
        after += 1
    if after == end:
        while start > first and text[start - 1].isspace():
            start -= 1
    return start, after


_OBJECTS: Mapping[str, Callable[[Origin, bool], TextRange | None]] = {
    "w": _word,
    **{quote: partial(_quoted, quote) for quote in "\"'`"},
    **{name: partial(_bracketed, each) for each in _BRACKETS for name in each},
}
