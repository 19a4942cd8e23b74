"""The code behind an answer: the lines that the model received and the code that it quotes."""

import asyncio
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from uuid import UUID

from treadle.code.files.walk import read_file
from treadle.code.snippets import Snippet, claimed_snippets, parse_snippets
from treadle.errors import PathRefusedError
from treadle.events import Envelope, EventBus, Subscription
from treadle.events.bus import Listener
from treadle.events.changes import EditApplied
from treadle.events.types import RetrievalFinished, SourceRange, ToolCallCompleted
from treadle.json_values import JsonField
from treadle.paths import resolve_readable

_LINES = re.compile(r"(\d{1,9})-(\d{1,9})")

MAX_QUOTES = 100
"""The maximum number of quotes in one text that are compared with the files."""


class SourceCollector(Listener):
    """Collects the sources of one request.

    They are the lines that a retrieval found, that a tool result contains, or that the person
    pasted or attached.
    """

    def __init__(self, bus: EventBus, request_id: UUID) -> None:
        self._bus = bus
        self._request_id = request_id
        self._found: list[SourceRange] = []

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(
            RetrievalFinished, ToolCallCompleted, EditApplied, request_id=self._request_id
        )

    async def _on_event(self, envelope: Envelope) -> None:
        match envelope.event:
            case RetrievalFinished(sources=sources):
                self._found.extend(sources)
            case ToolCallCompleted(content=content):
                self._found.extend(lines_read(content))
            case EditApplied(files=files):
                self._found = [
                    replace(each, stale=True) if each.file in files else each
                    for each in self._found
                ]

    async def add_pasted(self, root: Path, text: str) -> None:
        """Add the lines of code snippets that the person pasted.

        `text` is the message with the snippets. They are compared with the files below `root`.
        """
        if snippets := parse_snippets(text)[:MAX_QUOTES]:
            self._found += await asyncio.to_thread(_exact_lines, root, snippets)

    def add(self, ranges: Iterable[SourceRange]) -> None:
        """Add lines that the person attached or pinned."""
        self._found.extend(ranges)

    def sources(self) -> tuple[SourceRange, ...]:
        """Return all ranges in the order of discovery, without ranges inside another range."""
        return merge_ranges(self._found)


def merge_ranges(ranges: Iterable[SourceRange]) -> tuple[SourceRange, ...]:
    """Return `ranges` without the ranges that are inside another range of the same file.

    The first of equal ranges is kept. A range that is not stale is kept even if it is inside a
    stale range.
    """
    kept: list[SourceRange] = []
    for new in ranges:
        if any(_lies_within(new, old) and old.stale <= new.stale for old in kept):
            continue
        kept = [old for old in kept if not (_lies_within(old, new) and new.stale <= old.stale)]
        kept.append(new)
    return tuple(kept)


def _lies_within(inner: SourceRange, outer: SourceRange) -> bool:
    return (
        inner.file == outer.file
        and outer.start_line <= inner.start_line
        and inner.end_line <= outer.end_line
    )


def lines_read(content: str) -> list[SourceRange]:
    """Return the range of lines that a tool result states, or an empty list if it states none.

    In such a result, `file` is the path and `lines` is a range such as "3-9".
    """
    if '"lines":"' not in content:
        return []
    try:
        result = json.loads(content)
    except (ValueError, RecursionError):
        return []
    match result:
        case {"file": str(file), "lines": str(lines)} if found := _LINES.fullmatch(lines):
            return [SourceRange(file, int(found[1]), int(found[2]))]
    return []


class QuoteVerdict(StrEnum):
    """The result of comparing a quote with its file."""

    EXACT = "exact"
    """The file has these bytes at this range."""
    MOVED = "moved"
    """The file has these bytes at another range. `Quote` has the range in the file."""
    DIFFERENT = "different"
    """The file does not have these bytes."""
    UNREADABLE = "unreadable"
    """The file does not exist or may not be read."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote of the bytes of `file` from `start` to `end`. The byte at `end` is not included.

    `file` is relative to the root if the file is inside the root. `start_line` and `end_line` count
    from 1, and `end_line` is part of the range. Both are 0 if the file does not have the quoted
    bytes.
    """

    file: str
    start: Annotated[int, JsonField("start_byte")]
    end: Annotated[int, JsonField("end_byte")]
    start_line: int
    end_line: int
    verdict: QuoteVerdict


def check_quotes(root: Path, text: str) -> tuple[Quote, ...]:
    """Return the quotes of code in `text`, in order, compared with the files. Reads files."""
    return tuple(_checked(root, snippet) for snippet in claimed_snippets(text)[:MAX_QUOTES])


def _exact_lines(root: Path, snippets: Iterable[Snippet]) -> list[SourceRange]:
    return [
        SourceRange(quote.file, quote.start_line, quote.end_line)
        for quote in (_checked(root, snippet) for snippet in snippets)
        if quote.verdict in {QuoteVerdict.EXACT, QuoteVerdict.MOVED}
    ]


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
