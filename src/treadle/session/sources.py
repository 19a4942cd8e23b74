"""Which lines of which files were given to the model in a session."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from treadle.events import Envelope, EventBus, Subscription
from treadle.events.edits import EditApplied
from treadle.events.listener import Listener
from treadle.events.types import RetrievalFinished, SourceRange, ToolCallCompleted

_LINES = re.compile(r"(\d{1,9})-(\d{1,9})")


class SourceCollector(Listener):
    """Listens to the retrievals and results of one request while it is entered."""

    def __init__(self, bus: EventBus, request_id: UUID) -> None:
        self._bus = bus
        self._request_id = request_id
        self._found: list[SourceRange] = []

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(
            RetrievalFinished, ToolCallCompleted, EditApplied, request_id=self._request_id
        )

    async def _hear(self, envelope: Envelope) -> None:
        match envelope.event:
            case RetrievalFinished(sources=sources):
                self._found.extend(sources)
            case ToolCallCompleted(content=content):
                self._found.extend(_lines_read(content))
            case EditApplied(files=files):
                self._found = [
                    replace(each, stale=True) if each.file in files else each
                    for each in self._found
                ]

    def sources(self) -> tuple[SourceRange, ...]:
        """All ranges, in the order of their coming, without those that lie inside another."""
        return merge(self._found)


def merge(ranges: Iterable[SourceRange]) -> tuple[SourceRange, ...]:
    """`ranges` without those that lie inside another of the same file; of equal ones the first.

    What is stale covers nothing that is not.
    """
    kept: list[SourceRange] = []
    for new in ranges:
        if any(_inside(new, old) and old.stale <= new.stale for old in kept):
            continue
        kept = [old for old in kept if not (_inside(old, new) and new.stale <= old.stale)]
        kept.append(new)
    return tuple(kept)


def _inside(inner: SourceRange, outer: SourceRange) -> bool:
    return (
        inner.file == outer.file
        and outer.start_line <= inner.start_line
        and inner.end_line <= outer.end_line
    )


def _lines_read(content: str) -> list[SourceRange]:
    """The range of a result that shows lines of one file, as read_file's: `file`, `lines` "3-9"."""
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
