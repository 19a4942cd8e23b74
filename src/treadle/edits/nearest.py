"""Finds the lines most similar to a text that is not in a file, so that its author can fix it."""

import re
from collections import Counter
from collections.abc import Sequence

from treadle.edits.text import Source

_SHOWN = 160
"""Characters of a line that are shown."""

_WORD = re.compile(rb"\w+")

_COMMON = 50
"""Places up to which a line says anything about where a text is."""


def nearest(source: Source, wanted: Sequence[bytes]) -> str:
    """A sentence with the line of the file at which the text differs, and the line of the text."""
    lines = source.plain.split(b"\n")
    offset = _offset(lines, wanted)
    if offset is None:
        return _alike(lines, wanted)
    for place, line in enumerate(wanted):
        at = offset + place
        if not 0 <= at < len(lines):
            return f"The file has no line {at + 1}; the text extends beyond its end."
        if lines[at].strip() != line.strip():
            begin = f"It begins like line {offset + 1}, but " if place else ""
            return (
                f"{begin}line {at + 1} of the file is {shown(lines[at])}, and the text has "
                f"{shown(line)}. Read the file again and give the exact lines."
            )
    return (
        f"Its words are in lines {offset + 1} to {offset + len(wanted)}, but with a different "
        "indentation that no single shift explains. Give the lines with the indentation of the "
        "file."
    )


def _offset(lines: Sequence[bytes], wanted: Sequence[bytes]) -> int | None:
    """The line, from 0, at which most lines of the text would be where they are in the file."""
    places: dict[bytes, list[int]] = {line.strip(): [] for line in wanted if line.strip()}
    for at, line in enumerate(lines):
        if (stripped := line.strip()) in places:
            places[stripped].append(at)
    votes: Counter[int] = Counter()
    for place, line in enumerate(wanted):
        found = places.get(line.strip(), [])
        if len(found) <= _COMMON:
            votes.update(at - place for at in found if at >= place)
    return max(votes, key=lambda at: (votes[at], -at)) if votes else None


def _alike(lines: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    """The line that shares most words with the longest one of the text."""
    line = max(wanted, key=lambda each: len(each.strip()), default=b"")
    words = set(_WORD.findall(line))
    best, most = 0, 0
    for at, candidate in enumerate(lines):
        if len(candidate) < 10 * len(line) + _SHOWN:
            shared = len(words.intersection(_WORD.findall(candidate)))
            if shared > most:
                best, most = at, shared
    if not words or most < (len(words) + 1) // 2:
        return "No line of the text is in the file. Read the file again and give its exact text."
    return (
        f"The nearest line is {best + 1}: {shown(lines[best])}, and the text has {shown(line)}. "
        "Read the file again and give the exact lines."
    )


def shown(line: bytes) -> str:
    """A line in quotes, cut when it is long, what cannot be printed escaped."""
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
