"""Notices a model that makes the same call again and again and learns nothing from it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.events.types import StopReason
from treadle.llm.messages import ToolCall, ToolMessage
from treadle.session.limits import LimitReachedError
from treadle.tools.message_size import with_note


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call may be repeated.

    From reply `hint_at` on a repeated call is told that it is one; reply `stop_at` ends the loop.
    """

    hint_at: int = 3
    stop_at: int = 5


@dataclass(slots=True)
class _Seen:
    content: str
    replies: int = 1


class Repetitions:
    """Counts the replies that made one call, arguments and result the same. Another result is news.

    Twins in one reply count once: they are no loop.
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._most = 1
        """In how many replies the most repeated call of the last reply was made."""

    def note(
        self, calls: Sequence[ToolCall], results: Sequence[ToolMessage], max_tokens: int
    ) -> list[ToolMessage]:
        """The results of one reply's calls, with a hint where a call was made often enough.

        A result stays a JSON object of at most `max_tokens`.
        """
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
            often = seen.replies >= self._patience.hint_at
            hinted.append(_with_hint(result, seen.replies, max_tokens) if often else result)
        return hinted

    def check(self) -> None:
        """Raise LimitReachedError when the last reply repeated a call once too often."""
        if self._most >= self._patience.stop_at:
            said = f"the model made the same call in {self._most} replies, with the same result"
            raise LimitReachedError(StopReason.REPEATED_CALLS, said)


def _with_hint(result: ToolMessage, replies: int, max_tokens: int) -> ToolMessage:
    said = (
        f"You made this same call in {replies} replies, and its result was the same each time. "
        "Use the result, call something else, or answer; otherwise the loop ends soon."
    )
    return replace(result, content=with_note(result.content, "repeated", said, max_tokens))


def _normal(arguments: str) -> str:
    """`arguments` in one form, whatever the order and the spaces of the JSON."""
    try:
        return json.dumps(json.loads(arguments, strict=False), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
