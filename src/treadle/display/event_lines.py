"""Describes events of a turn in words, for every terminal front end."""

from collections.abc import Sequence

from treadle.events import Event
from treadle.events import types as ev

SILENCE = 2.0
"""If this many seconds pass without an event, a front end shows the activity of the turn."""
SLOW_PROVIDER = 10.0
"""If a provider sends no data for this many seconds, a front end reports that it is slow."""

RESOLVED = {
    ev.ApprovalScope.ONCE: "allowed once",
    ev.ApprovalScope.SESSION: "allowed for this session",
    ev.ApprovalScope.ALWAYS: "always allowed in this repository",
    ev.ApprovalScope.DENIED: "denied",
    ev.ApprovalScope.WITHDRAWN: "the request ended without an answer",
}
"""Describes the answer to a question for approval in words."""

LATE = "a result arrived after its call had ended and was ignored"

STEP_MARKS = {
    ev.StepState.OPEN: "○",
    ev.StepState.DOING: "▸",
    ev.StepState.DONE: "✓",
    ev.StepState.DROPPED: "✗",
}
"""A mark for the state of each step of a plan."""

STOPPED = {
    ev.StopReason.LENGTH: "The answer is incomplete: it reached the provider's length limit.",
    ev.StopReason.CONTENT_FILTER: "The answer is incomplete: a content filter truncated it.",
    ev.StopReason.TURN_LIMIT: "The turn ended at the limit of model replies.",
    ev.StopReason.TOOL_CALL_LIMIT: "The turn ended at the limit of tool calls.",
    ev.StopReason.TOKEN_LIMIT: "The turn ended at the token limit.",
    ev.StopReason.COST_LIMIT: "The turn ended at the cost limit.",
    ev.StopReason.TIME_LIMIT: "The turn ended at the time limit.",
    ev.StopReason.REPEATED_CALLS: "The turn ended because the model repeated the same call.",
    ev.StopReason.UNKNOWN_TOOLS: "The turn ended because the model called unknown tools.",
    ev.StopReason.INVALID_CALLS: "The turn ended because the model made invalid calls.",
    ev.StopReason.CANCELLED: "Cancelled.",
    ev.StopReason.FAILED: "The turn failed.",
}
"""Explains why a turn did not end with a complete answer."""


def plan_lines(steps: Sequence[ev.PlanStep]) -> list[str]:
    """Return a plan as lines: a head, and a line for each step."""
    done = sum(step.state is ev.StepState.DONE for step in steps)
    head = f"Plan: {done} of {len(steps)} steps done" if steps else "The plan is empty."
    return [head, *(f"  {STEP_MARKS[step.state]} {step.id} {step.text}" for step in steps)]


def notice(event: Event) -> str | None:  # noqa: PLR0911  (one return for each event)
    """Return a sentence about an event if the person should know about it, otherwise None."""
    match event:
        case ev.RetryScheduled(delay=delay, reason=reason):
            return f"{reason} Trying again in {delay:.1f} s."
        case ev.FallbackApplied(reason=reason, change=change):
            return f"{reason} {change[:1].upper()}{change[1:]}."
        case ev.PromptConstructed(left_out=left_out, reason=reason) if left_out:
            return f"Not included in the prompt: {reason}"
        case ev.ModelWaiting(seconds=seconds, text=text) if seconds >= SLOW_PROVIDER:
            return text
        case ev.HistoryCompacted(messages=messages):
            return f"A summary replaces the first {messages} messages in the prompt."
        case ev.Notice(text=text):
            return text
    return None


def activity(event: Event) -> str | None:  # noqa: PLR0911  (one return for each event)
    """Return what the turn does after an event, or None if the event does not change it."""
    match event:
        case ev.IndexProgress(done=done, total=total):
            return "indexing the repository" if done < total else "connecting to a model"
        case ev.ModelDelta(reasoning=True):
            return "the model is thinking"
        case ev.ModelDelta():
            return "waiting for the rest of the answer"
        case ev.ModelRequestStarted(provider=provider):
            return f"waiting for {provider}"
        case ev.ToolCallRequested(name=name):
            return f"{name} is running"
        case ev.ToolProgress(text=text):
            return text
        case ev.ApprovalRequested():
            return "waiting for your approval"
        case ev.RetryScheduled(delay=delay):
            return f"trying again in {delay:.0f} s"
    return None
