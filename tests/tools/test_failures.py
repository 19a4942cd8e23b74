import json

from inline_snapshot import snapshot

from treadle.events.types import Effect, ErrorKind, ToolFailure
from treadle.tools.failures import failure_content, unknown_tool


def test_a_failure_is_a_compact_object_without_unknown_fields() -> None:
    assert failure_content(ToolFailure(ErrorKind.TIMEOUT, "Too slow.")) == snapshot(
        '{"ok":false,"error":"Too slow.","kind":"timeout","effect":"none"}'
    )


def test_a_failure_contains_all_known_fields() -> None:
    failure = ToolFailure(
        ErrorKind.VALIDATION, "Wrong “x”.", "x", "a number", '"é"', "Try 1.", Effect.UNKNOWN
    )
    assert json.loads(failure_content(failure)) == snapshot(
        {
            "ok": False,
            "error": "Wrong “x”.",
            "kind": "validation",
            "field": "x",
            "expected": "a number",
            "received": '"é"',
            "hint": "Try 1.",
            "effect": "unknown",
        }
    )


def test_text_that_cannot_be_sent_is_replaced() -> None:
    content = failure_content(ToolFailure(ErrorKind.NOT_FOUND, "No \udcff here."))
    assert json.loads(content.encode("utf-8"))["error"] == "No ? here."


def test_an_unknown_tool_lists_the_existing_tools() -> None:
    failure = unknown_tool("x" * 5000, ("echo", "needy"))
    assert failure.kind is ErrorKind.UNKNOWN_TOOL
    assert failure.hint == "The tools are: echo, needy."
    assert len(failure.message) < 200
