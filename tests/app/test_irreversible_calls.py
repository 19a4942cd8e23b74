"""Which tool calls of a conversation have effects that remain after an undo."""

import pytest

from scripts.write_tool_reference import registry
from treadle.app.irreversible_calls import irreversible_calls
from treadle.events.types import CallKey
from treadle.llm.messages import AssistantMessage, Message, ToolCall, ToolMessage
from treadle.session import Entry
from treadle.tools.contract import Registry

KEY = CallKey(0, 0)


@pytest.fixture(scope="module")
def tools() -> Registry:
    return registry()


def remaining(tools: Registry, name: str, arguments: str, result: ToolMessage) -> tuple[str, ...]:
    messages: tuple[Message, ...] = (
        AssistantMessage(None, (ToolCall(KEY, "", name, arguments),)),
        result,
    )
    entries = [Entry(message, 0, number, None) for number, message in enumerate(messages)]
    return irreversible_calls(entries, tools)


DONE = ToolMessage(KEY, "{}")
TIMED_OUT = ToolMessage(KEY, '{"ok":false,"kind":"timeout","effect":"unknown"}', ok=False)
DENIED = ToolMessage(KEY, '{"ok":false,"kind":"denied","effect":"none"}', ok=False)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("run_check", '{"check": "tests"}', DONE),
        ("run_check", '{"check": "tests"}', TIMED_OUT),
        ("run_check", '{"check": "tests"}', ToolMessage(KEY, "cut [", ok=False)),
        ("open_in_browser", "{}", DONE),
    ],
)
def test_call_that_may_have_changed_something_is_named(
    tools: Registry, name: str, arguments: str, result: ToolMessage
) -> None:
    assert remaining(tools, name, arguments, result) == (
        f"{name} ran once. Its effects outside of proposals remain.",
    )


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("run_check", "{}", DONE),
        ("run_check", '{"check": "tests", "proposal": "last"}', DONE),
        ("run_check", '{"check": "tests"}', DENIED),
        ("run_check", '{"check": 3, "what": 1}', DONE),
        ("create_file", '{"path": "a.py", "content": ""}', DONE),
        ("read_file", '{"path": "a.py"}', DONE),
        ("navigate_to", '{"path": "/traces"}', DONE),
    ],
)
def test_call_without_a_lasting_effect_is_not_named(
    tools: Registry, name: str, arguments: str, result: ToolMessage
) -> None:
    assert remaining(tools, name, arguments, result) == ()
