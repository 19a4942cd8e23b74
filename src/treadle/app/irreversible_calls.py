"""Finds tool calls with effects that cannot be undone, such as the commands of checks."""

import json
from collections import Counter
from collections.abc import Collection

from treadle.errors import TreadleError
from treadle.events.types import Effect
from treadle.llm.messages import AssistantMessage, ToolCall, ToolMessage
from treadle.session import Entry
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import SCREEN, Registry


def irreversible_calls(entries: Collection[Entry], registry: Registry) -> tuple[str, ...]:
    """Return a sentence for each tool whose calls in these messages may have changed something.

    Calls that propose edits do not count, because proposals can be undone. Calls that failed
    without an effect do not count either.
    """
    harmless = {
        entry.message.key
        for entry in entries
        if isinstance(entry.message, ToolMessage) and _had_no_effect(entry.message)
    }
    counts = Counter(
        call.name
        for entry in entries
        if isinstance(entry.message, AssistantMessage)
        for call in entry.message.calls
        if call.key not in harmless and _may_change(call, registry)
    )
    return tuple(
        f"{name} ran {'once' if count == 1 else f'{count:,} times'}. Its effects outside of "
        "proposals remain."
        for name, count in counts.items()
    )


def _may_change(call: ToolCall, registry: Registry) -> bool:
    tool = registry.get(call.name)
    if tool is None:
        return True  # a front end ran it, and its effect is unknown
    if tool.proposes:
        return False
    try:
        written = tool.writes(parse_arguments(tool.name, tool.arguments, call.arguments))
    except TreadleError:
        return False  # a call with invalid arguments never runs
    return bool(written - {SCREEN})


def _had_no_effect(result: ToolMessage) -> bool:
    if result.ok:
        return False
    try:
        failure = json.loads(result.content)
    except ValueError:
        return False
    return isinstance(failure, dict) and failure.get("effect") == Effect.NONE
