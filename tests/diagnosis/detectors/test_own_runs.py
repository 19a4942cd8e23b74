"""Detectors on spans of Treadle's own recorder."""

import json

from treadle.diagnosis.detectors import Kind, Severity, detect
from treadle.events import Envelope
from treadle.events.types import (
    CallKey,
    ErrorKind,
    Event,
    ModelRequestFinished,
    ModelRequestStarted,
    SessionStarted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
    Usage,
)
from treadle.ids import new_id
from treadle.spans.event_mapper import EventMapper
from treadle.spans.span import Span
from treadle.tools.failures import failure_content

ARGUMENTS = '{"path": "x.py"}'
FAILURE = ToolFailure(ErrorKind.NOT_FOUND, "There is no file x.py.", hint="The nearest is y.py.")


def recorded(events: list[Event]) -> list[Span]:
    mapper, spans = EventMapper(), {}
    for number, event in enumerate(events):
        for span in mapper.apply(Envelope(seq=number, at_us=1_000 * number, event=event)):
            spans[span.span_id] = span
    return list(spans.values())


def test_failed_call_of_a_session_is_reported_once() -> None:
    request_id, key = new_id(), CallKey(0, 0)
    function = {"name": "read_file", "arguments": ARGUMENTS}
    history: list[dict[str, object]] = [
        {"role": "user", "content": "Is there an error in x.py?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": failure_content(FAILURE)},
    ]
    asked = {"text": None, "tool_calls": [{"id": "c", "name": "read_file", "arguments": ARGUMENTS}]}

    def attempt(turn: int, messages: list[dict[str, object]], reply: object) -> list[Event]:
        operation_id = new_id()
        return [
            ModelRequestStarted(
                request_id=request_id,
                operation_id=operation_id,
                turn=turn,
                attempt=1,
                model="m",
                provider="p",
                messages=len(messages),
                tools=1,
                input_text=json.dumps(messages),
            ),
            ModelRequestFinished(
                request_id=request_id,
                operation_id=operation_id,
                turn=turn,
                attempt=1,
                model="m",
                provider="p",
                usage=Usage(),
                cost=None,
                time_to_first_token=None,
                duration=1.0,
                finish_reason="stop",
                output_text=json.dumps(reply),
            ),
        ]

    events: list[Event] = [
        SessionStarted(
            request_id=request_id,
            session_id=new_id(),
            user_text="Is there an error in x.py?",
            model="m",
            provider="p",
            tools=("read_file",),
        ),
        *attempt(0, history[:1], asked),
        ToolCallRequested(
            request_id=request_id,
            key=key,
            call_id="c",
            vendor="p",
            name="read_file",
            arguments=ARGUMENTS,
        ),
        ToolCallFailed(request_id=request_id, key=key, call_id="c", error=FAILURE, duration=1.0),
        *attempt(1, history, {"text": "There is no such file."}),
        *attempt(2, history, {"text": "No, there is no such file."}),
    ]
    (found,) = detect(recorded(events))
    assert (found.kind, found.severity) == (Kind.STATUS, Severity.MEDIUM)
    assert (found.evidence.field, found.evidence.quote) == ("error", "There is no file x.py.")
    assert found.repeats == "also in 2 later requests"
