"""Events as JSON lines."""

import dataclasses
import json
from uuid import UUID

import pytest
from inline_snapshot import snapshot

from treadle.events import Envelope, Event, event_json
from treadle.events import types as event_types
from treadle.events.encoding import plain
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    RetrievalFinished,
    SourceRange,
    ToolCallFailed,
    ToolFailure,
)


def test_a_failed_call_is_an_object_with_plain_values() -> None:
    failure = ToolFailure(ErrorKind.TIMEOUT, "no answer", effect=Effect.UNKNOWN)
    event = ToolCallFailed(
        request_id=UUID(int=1), key=CallKey(2, 0), call_id="c", error=failure, duration=0.5
    )
    assert json.loads(json.dumps(event_json(Envelope(3, 1_700_000_000_000_042, event)))) == (
        snapshot(
            {
                "type": "ToolCallFailed",
                "seq": 3,
                "at": "2023-11-14T22:13:20.000042Z",
                "request_id": "00000000-0000-0000-0000-000000000001",
                "parent_id": None,
                "key": {"turn": 2, "slot": 0},
                "call_id": "c",
                "error": {
                    "kind": "timeout",
                    "message": "no answer",
                    "field": None,
                    "expected": None,
                    "received": None,
                    "hint": None,
                    "effect": "unknown",
                },
                "duration": 0.5,
            }
        )
    )


def test_nested_lists_and_unusual_text_are_encoded() -> None:
    event = RetrievalFinished(
        request_id=UUID(int=1),
        key=CallKey(0, 0),
        query="\ud800 [/] \x00",
        top_k=5,
        sources=(SourceRange("a.py", 1, 2, "f"),),
        omitted=0,
        tokens=10,
        budget=20,
        index_files=1,
        index_items=1,
        started_us=5,
        duration=0.0,
    )
    line = json.loads(json.dumps(event_json(Envelope(1, 0, event))))
    assert line["query"] == "\ud800 [/] \x00"
    assert line["sources"] == [
        {"file": "a.py", "start_line": 1, "end_line": 2, "name": "f", "stale": False}
    ]


def test_no_field_of_an_event_hides_the_header() -> None:
    events = [each for each in vars(event_types).values() if isinstance(each, type)]
    names = {
        field.name
        for each in events
        if issubclass(each, Event)
        for field in dataclasses.fields(each)
    }
    assert names.isdisjoint({"type", "seq", "at"})


def test_a_value_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        plain(object())
