"""A recorded thread: a search for flights whose tool fails repeatedly."""

from typing import Any

from tests.toolbox.traces.recordings import model_call, tool_call
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus

THREAD = "flights"
ARGUMENTS = '{"to": "Oslo", "date": "2026-10-02"}'
FAILURE = '{"error": "timeout after 3000 ms"}'
ANSWER = "I could not find a flight to Oslo, since the search does not answer."


def call(number: int) -> dict[str, Any]:
    function = {"name": "find_flights", "arguments": ARGUMENTS}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def history(calls: int) -> list[dict[str, Any]]:
    """The messages of the request after so many failed calls."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You book flights."},
        {"role": "user", "content": "Find me a flight to Oslo on Friday."},
    ]
    for number in range(calls):
        messages.append(call(number))
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": FAILURE})
    return messages


def flights(failed: int = 3) -> list[Span]:
    """The run, a model call before each failed call and one after the last, and a booking."""
    where: dict[str, Any] = {"thread_id": THREAD, "labels": ("prod",)}
    end = 2.0 * failed + 1
    root = Span(
        trace_id="t1",
        span_id="run",
        kind=SpanKind.RUN,
        operation="invoke_agent",
        name="invoke_agent booker",
        start_us=model_call("any").start_us,
        end_us=model_call("any", at=end).start_us,
        status=SpanStatus.OK,
        input="Find me a flight to Oslo on Friday.",
        output=ANSWER,
        **where,
    )
    spans = [root]
    for number in range(failed + 1):
        last = number == failed
        reply = {"role": "assistant", "content": ANSWER} if last else call(number)
        spans.append(
            model_call(
                f"m{number}",
                at=2 * number,
                parent_id="run",
                tokens=Usage(input=1_000 * (number + 1), output=50, cached=500),
                cost=0.01 * (number + 1),
                messages=history(number),
                reply=reply,
                **where,
            )
        )
        if not last:
            spans.append(
                tool_call(
                    f"x{number}",
                    at=2 * number + 1,
                    parent_id="run",
                    arguments=ARGUMENTS,
                    result=FAILURE,
                    **where,
                )
            )
    return spans
