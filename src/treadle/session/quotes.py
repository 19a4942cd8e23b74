"""Code that a model quotes in the code snippet format, held against the files on disk."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from treadle.code.files import read_file
from treadle.code.snippets import Snippet, claimed_snippets
from treadle.errors import PathRefusedError
from treadle.paths import resolve_readable

MOST_QUOTES = 100
"""Of one answer; more are not looked at."""


class QuoteVerdict(StrEnum):
    """What the disk says of a quote."""

    EXACT = "exact"
    """The file holds these bytes at this range."""
    MOVED = "moved"
    """It holds them elsewhere: the range of the quote is the true one, not the one claimed."""
    DIFFERENT = "different"
    """It does not hold them."""
    UNREADABLE = "unreadable"
    """There is no such file, or it is none that may be read."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote of the bytes `start` to `end` of `file` (relative to the root where it is inside).

    Lines count from 1 and include the last; both are 0 where the file does not hold the quote.
    """

    file: str
    start: int
    end: int
    start_line: int
    end_line: int
    verdict: QuoteVerdict


def check_quotes(root: Path, text: str) -> tuple[Quote, ...]:
    """The code quoted in `text`, in order. Reads files: call it in a thread."""
    return tuple(_checked(root, snippet) for snippet in claimed_snippets(text)[:MOST_QUOTES])


def _checked(root: Path, snippet: Snippet) -> Quote:
    try:
        path = resolve_readable(root, snippet.path)
        real_root = os.path.realpath(root)
        data, _ = read_file(real_root, path.relative_to(real_root).as_posix())
    except (PathRefusedError, OSError, ValueError):
        data, path = None, Path(snippet.path)
    real_root = os.path.realpath(root)
    file = path.relative_to(real_root).as_posix() if path.is_relative_to(real_root) else str(path)
    if data is None:
        return Quote(file, snippet.start, snippet.end, 0, 0, QuoteVerdict.UNREADABLE)
    content = snippet.content.encode()
    verdict, start = QuoteVerdict.EXACT, snippet.start
    if not content or data[start : snippet.end] != content:
        verdict, start = QuoteVerdict.MOVED, data.find(content) if content else -1
    if start < 0:
        return Quote(file, snippet.start, snippet.end, 0, 0, QuoteVerdict.DIFFERENT)
    end = start + len(content)
    first = data.count(b"\n", 0, start) + 1
    last = first + data.count(b"\n", start, max(start, end - 1))
    return Quote(file, start, end, first, last, verdict)
