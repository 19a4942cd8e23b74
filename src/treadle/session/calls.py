"""The tool messages of a reply: results, and calls that the length limit cut off."""

import json
from collections.abc import Sequence
from dataclasses import replace

from treadle.events import Outcome
from treadle.events.types import ErrorKind, ToolCallCompleted, ToolCallFailed, ToolFailure
from treadle.llm.messages import ToolCall, ToolMessage
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fitted

_ILL = frozenset({ErrorKind.PARSING, ErrorKind.VALIDATION, ErrorKind.UNKNOWN_TOOL})
"""Failures that say that the call itself was wrong."""


async def result_message(outcome: Outcome, tokens: int) -> ToolMessage:
    """The message of a result, within so many tokens whoever answered the call."""
    if ok := isinstance(outcome, ToolCallCompleted):
        whole, summary = outcome.content, outcome.ui.summary
    else:
        whole, summary = failure_content(outcome.error), outcome.error.message
    return ToolMessage(outcome.key, await fitted(whole, tokens), ok=ok, summary=summary)


_CUT_ARGUMENTS = 400
"""Characters that are kept of the arguments of a call that was cut off."""

_CUT_OFF = failure_content(
    ToolFailure(
        ErrorKind.LIMIT,
        "Not run: the reply reached its maximum length in the middle of this call.",
        hint="Send less in one reply: one call at a time, and a long text in several parts.",
    )
)


def split_cut_calls(
    calls: Sequence[ToolCall],
) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """The calls of a cut reply that were finished before the cut, and those that were not.

    Empty arguments may have been about to come. Of arguments that broke off only the beginning is
    kept, so that the model sees which call it was.
    """
    whole = tuple(call for call in calls if _is_whole(call.arguments))
    cut = tuple(
        replace(call, arguments=call.arguments[:_CUT_ARGUMENTS])
        for call in calls
        if call not in whole and call.name
    )
    return whole, cut


def cut_results(calls: Sequence[ToolCall]) -> list[ToolMessage]:
    """The results of calls that were cut off: not run, and what the model should do instead."""
    return [ToolMessage(call.key, _CUT_OFF, ok=False, summary="cut off") for call in calls]


def ill_kinds(outcomes: Sequence[Outcome]) -> set[ErrorKind]:
    """The kinds of failure when every call of a reply was itself wrong, else none."""
    kinds = {outcome.error.kind for outcome in outcomes if isinstance(outcome, ToolCallFailed)}
    worked = any(isinstance(outcome, ToolCallCompleted) for outcome in outcomes)
    return set() if worked or not kinds <= _ILL else kinds


def _is_whole(arguments: str) -> bool:
    """Whether arguments are finished JSON; the beginning of a number is not told from a number."""
    try:
        return not isinstance(json.loads(arguments, strict=False), int | float)
    except (ValueError, RecursionError):
        return False
