"""Notices a model that makes the same call again and again and learns nothing from it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.events.types import StopReason
from treadle.llm.messages import ToolCall, ToolMessage
from treadle.session.limits import LimitReachedError

HINT_AT = 3
"""The reply from which on a repeated call is told that it is one."""

STOP_AT = 5
"""The reply whose repetition ends the loop."""


@dataclass(slots=True)
class _Seen:
    content: str
    replies: int = 1


class Repetitions:
    """Counts the replies that made one call, arguments and result the same. Another result is news.

    Twins in one reply count once: they are no loop.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._most = 1
        """In how many replies the most repeated call of the last reply was made."""

    def note(self, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> list[ToolMessage]:
        """The results of one reply's calls, with a hint where a call was made often enough."""
        by_key = {call.key: call for call in calls}
        noted: set[tuple[str, str]] = set()
        hinted: list[ToolMessage] = []
        self._most = 1
        for result in results:
            call = by_key[result.key]
            identity = (call.name, _normal(call.arguments))
            seen = self._seen.get(identity)
            if seen is None or seen.content != result.content:
                seen = self._seen[identity] = _Seen(result.content)
            elif identity not in noted:
                seen.replies += 1
            noted.add(identity)
            self._most = max(self._most, seen.replies)
            hinted.append(result if seen.replies < HINT_AT else _with_hint(result, seen.replies))
        return hinted

    def check(self) -> None:
        """Raise LimitReachedError when the last reply repeated a call once too often."""
        if self._most >= STOP_AT:
            said = f"the model made the same call in {self._most} replies, with the same result"
            raise LimitReachedError(StopReason.REPEATED_CALLS, said)


def _with_hint(result: ToolMessage, replies: int) -> ToolMessage:
    said = (
        f"\n[You made this same call in {replies} replies, and its result was the same each time."
        " Use the result, call something else, or answer; the loop ends soon.]"
    )
    return replace(result, content=result.content + said)


def _normal(arguments: str) -> str:
    """`arguments` in one form, whatever the order and the spaces of the JSON."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
