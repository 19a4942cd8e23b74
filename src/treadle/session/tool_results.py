"""The tool messages of a reply: results, truncated calls, and hints about repeated calls."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.events import Outcome
from treadle.events.types import (
    ErrorKind,
    StopReason,
    ToolCallCompleted,
    ToolCallFailed,
    ToolFailure,
)
from treadle.llm.messages import ToolCall, ToolMessage
from treadle.session.limits import LimitReachedError
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fitted, with_note

_ILL = frozenset({ErrorKind.PARSING, ErrorKind.VALIDATION, ErrorKind.UNKNOWN_TOOL})
"""The kinds of failure whose cause is the call itself, such as invalid arguments."""


async def result_message(outcome: Outcome, tokens: int) -> ToolMessage:
    """Return the tool message for an outcome. The message has at most `tokens` tokens."""
    if ok := isinstance(outcome, ToolCallCompleted):
        whole, summary = outcome.content, outcome.ui.summary
    else:
        whole, summary = failure_content(outcome.error), outcome.error.message
    return ToolMessage(outcome.key, await fitted(whole, tokens), ok=ok, summary=summary)


_CUT_ARGUMENTS = 400
"""The number of characters that are kept of a truncated call's arguments."""

_CUT_OFF = failure_content(
    ToolFailure(
        ErrorKind.LIMIT,
        "Not run: the reply reached its maximum length in the middle of this call.",
        hint="Send less in one reply: one call at a time, and a long text in several parts.",
    )
)


def split_truncated_calls(
    calls: Sequence[ToolCall],
) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """Split the calls of a truncated reply into complete and incomplete calls.

    Empty arguments count as incomplete. Incomplete arguments are shortened to their beginning, so
    that the model recognizes the call. Incomplete calls without a name are dropped.
    """
    whole = tuple(call for call in calls if _is_whole(call.arguments))
    cut = tuple(
        replace(call, arguments=call.arguments[:_CUT_ARGUMENTS])
        for call in calls
        if call not in whole and call.name
    )
    return whole, cut


def truncated_results(calls: Sequence[ToolCall]) -> list[ToolMessage]:
    """Return the results of truncated calls, with advice to the model."""
    return [ToolMessage(call.key, _CUT_OFF, ok=False, summary="cut off") for call in calls]


def invalid_call_kinds(outcomes: Sequence[Outcome]) -> set[ErrorKind]:
    """Return the kinds of failure if every call of a reply was wrong in itself.

    If any call was correct, the set is empty.
    """
    kinds = {outcome.error.kind for outcome in outcomes if isinstance(outcome, ToolCallFailed)}
    worked = any(isinstance(outcome, ToolCallCompleted) for outcome in outcomes)
    return set() if worked or not kinds <= _ILL else kinds


def _is_whole(arguments: str) -> bool:
    """Whether arguments are complete JSON.

    A number does not count as complete, since it may be the beginning of a longer number.
    """
    try:
        return not isinstance(json.loads(arguments, strict=False), int | float)
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class RepetitionLimits:
    """The limits of repeated calls.

    If `hint_at` replies contain the same call with the same result, the result gets a hint. If
    `stop_at` replies contain it, the session ends.
    """

    hint_at: int = 3
    stop_at: int = 5


@dataclass(slots=True)
class _Seen:
    content: str
    replies: int = 1


class RepeatedCalls:
    """Counts the replies that repeat a call with the same arguments and the same result.

    Equal calls in one reply count once.
    """

    def __init__(self, limits: RepetitionLimits | None = None) -> None:
        self._limits = limits or RepetitionLimits()
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._most = 1
        """The number of replies that contain the most repeated call of the last reply."""

    def note(
        self, calls: Sequence[ToolCall], results: Sequence[ToolMessage], max_tokens: int
    ) -> list[ToolMessage]:
        """Count the calls of one reply, and return their results.

        The result of a call that was repeated too often gets a hint. A result with a hint has at
        most `max_tokens` tokens, and is still a JSON object.
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
            often = seen.replies >= self._limits.hint_at
            hinted.append(_with_hint(result, seen.replies, max_tokens) if often else result)
        return hinted

    def check(self) -> None:
        """Raise LimitReachedError when the last reply repeated a call too often."""
        if self._most >= self._limits.stop_at:
            text = f"the model made the same call in {self._most} replies, with the same result"
            raise LimitReachedError(StopReason.REPEATED_CALLS, text)


def _with_hint(result: ToolMessage, replies: int, max_tokens: int) -> ToolMessage:
    said = (
        f"You made this same call in {replies} replies, and its result was the same each time. "
        "Use the result, call something else, or answer; otherwise the loop ends soon."
    )
    return replace(result, content=with_note(result.content, "repeated", said, max_tokens))


def _normal(arguments: str) -> str:
    """Normalize `arguments`, so that the order and the spaces of the JSON do not matter."""
    try:
        return json.dumps(json.loads(arguments, strict=False), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
