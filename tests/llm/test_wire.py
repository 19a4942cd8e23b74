import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.wire_rules import violations
from treadle.events.types import CallKey
from treadle.fences import verbatim
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.llm.strictness import MissingText, Reasoning, Strictness
from treadle.llm.valid_history import CLOSED, Dialect
from treadle.llm.wire import encode, encode_flat

DIALECT = Dialect("fake", "m")
SYSTEM = SystemMessage("Be exact.")
USER = UserMessage("Where?")


def call(slot: int, call_id: str = "", *, turn: int = 0, **more: Any) -> ToolCall:
    return ToolCall(
        CallKey(turn, slot), call_id, more.pop("name", "grep"), more.pop("arguments", "{}"), **more
    )


def result(slot: int, content: str, *, turn: int = 0) -> ToolMessage:
    return ToolMessage(CallKey(turn, slot), content)


def roles(wire: list[dict[str, Any]]) -> list[str]:
    return [str(message["role"]) for message in wire]


def encoded(*messages: Message, dialect: Dialect = DIALECT) -> list[dict[str, Any]]:
    wire = encode(messages, dialect)
    if wire[-1]["role"] in ("user", "tool"):
        assert violations({"messages": wire}) == []
    return wire


def test_t10_results_come_first_and_notes_after() -> None:
    wire = encoded(
        SYSTEM,
        USER,
        AssistantMessage(calls=(call(0, "a"), call(1, "b"))),
        NoteMessage("hurry"),
        result(1, "second"),
        UserMessage(""),
        result(0, "first"),
    )
    assert roles(wire) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [(m["tool_call_id"], m["content"]) for m in wire[3:5]] == [
        ("a", "first"),
        ("b", "second"),
    ]
    assert wire[-1]["content"] == "hurry"


def test_t11_one_leading_system_message() -> None:
    wire = encoded(USER, SYSTEM, SystemMessage("Later."))
    assert wire == [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "Where?\n\nLater."},
    ]


@pytest.mark.parametrize("call_id", ["", "same", "x" * 41, "with space", "call_t1"])
def test_t3_t4_ids_are_unique_over_the_history(call_id: str) -> None:
    turn = (AssistantMessage(calls=(call(0, call_id), call(1, call_id))),)
    wire = encoded(SYSTEM, USER, *turn, result(0, "one"), result(1, "two"), *turn, result(1, "3"))
    results = [m for m in wire if m["role"] == "tool"]
    assert [m["content"] for m in results] == ["one", "two", CLOSED, "3"]
    assert len({m["tool_call_id"] for m in results}) == 4


def test_ids_of_earlier_calls_stay_when_the_history_grows() -> None:
    history = (SYSTEM, USER, AssistantMessage(calls=(call(0),)), result(0, "one"))
    shorter = encoded(*history)
    longer = encoded(*history, AssistantMessage(calls=(call(0, turn=1),)))
    assert longer[: len(shorter)] == shorter


def test_the_context_precedes_the_text() -> None:
    wire = encoded(UserMessage("Where?", context="<code>"))
    fenced = verbatim("<code>", "context of this message")
    assert wire == [{"role": "user", "content": f"{fenced}\n\nWhere?"}]


@pytest.mark.parametrize(
    ("setting", "content"),
    [(MissingText.NULL, None), (MissingText.EMPTY, ""), (MissingText.FILLER, "(no text)")],
)
def test_t15_the_missing_text_of_a_call_is_a_setting(
    setting: MissingText, content: str | None
) -> None:
    dialect = Dialect("fake", "m", Strictness(missing_text=setting))
    wire = encoded(USER, AssistantMessage(calls=(call(0, "a"),)), dialect=dialect)
    assert wire[1]["content"] == content


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        (json.dumps('{"a": 1}'), '{"a": 1}'),
        ('{"a": ', '{"not_json": "{\\"a\\": "}'),
        ("[1]", '{"not_json": "[1]"}'),
        ('{"a": "b\n\tc"}', '{"a": "b\\n\\tc"}'),
    ],
)
def test_arguments_on_the_wire_are_always_a_json_object(written: str, sent: str) -> None:
    wire = encoded(USER, AssistantMessage(calls=(call(0, "a", arguments=written),)))
    assert wire[1]["tool_calls"][0]["function"]["arguments"] == sent


def test_an_invalid_tool_name_is_replaced() -> None:
    wire = encoded(USER, AssistantMessage(calls=(call(0, "a", name="functions.grep it"),)))
    assert wire[1]["tool_calls"][0]["function"]["name"] == "functions_grep_it"


REPLY = AssistantMessage(
    text="Here",
    calls=(call(0, "a", opaque='{"extra_content": {"s": 1}, "function": {"sig": 2}}'),),
    reasoning="hm",
    opaque='{"reasoning": null, "reasoning_details": [{"data": "x"}]}',
    provider="fake",
    model="m",
)


def test_t29_t30_reasoning_and_signatures_go_back_to_the_same_model() -> None:
    message = encoded(USER, REPLY)[1]
    assert message["reasoning"] == "hm"
    assert message["reasoning_details"] == [{"data": "x"}]
    assert message["tool_calls"][0]["extra_content"] == {"s": 1}
    assert message["tool_calls"][0]["function"]["sig"] == 2


@pytest.mark.parametrize("other", [Dialect("fake", "other"), Dialect("other", "m")])
def test_t29_t30_another_model_gets_none_of_them(other: Dialect) -> None:
    message = encoded(USER, REPLY, dialect=other)[1]
    assert set(message) == {"role", "content", "tool_calls"}
    assert set(message["tool_calls"][0]) == {"id", "type", "function"}


def test_t29_the_echo_can_be_switched_off() -> None:
    message = encoded(
        USER, REPLY, dialect=Dialect("fake", "m", Strictness(reasoning=Reasoning.NEVER))
    )[1]
    assert "reasoning" not in message
    assert "reasoning_details" not in message


def test_reasoning_without_a_known_field_goes_back_as_reasoning_content() -> None:
    reply = AssistantMessage("Hi", reasoning="hm", provider="fake", model="m")
    assert encoded(USER, reply, USER)[1]["reasoning_content"] == "hm"


def test_t13_the_flat_history_has_calls_and_results_as_text() -> None:
    wire = encode_flat(
        [
            SYSTEM,
            USER,
            AssistantMessage("Let me look.", calls=(call(0, "a", arguments='{"x": 1}'),)),
            result(0, "found it"),
            NoteMessage("two left"),
        ]
    )
    assert violations({"messages": wire}) == []
    assert roles(wire) == ["system", "user", "assistant", "user"]
    fenced = verbatim('{"x": 1}\nfound it', "call and result")
    assert wire[-1]["content"] == f"Result of grep:\n{fenced}\n\ntwo left"


def test_lone_surrogates_can_be_sent() -> None:
    wire = encoded(USER, AssistantMessage(calls=(call(0, "a"),)), result(0, "caf\udce9.py"))
    assert json.dumps(wire, ensure_ascii=False).encode()


keys = st.builds(CallKey, st.integers(0, 2), st.integers(0, 2))
texts = st.sampled_from(["", " ", "text", "é", "\udce9"])
messages = st.lists(
    st.one_of(
        st.builds(SystemMessage, texts),
        st.builds(UserMessage, texts, texts),
        st.builds(NoteMessage, texts),
        st.builds(ToolMessage, keys, texts),
        st.builds(
            AssistantMessage,
            st.none() | texts,
            st.lists(
                st.builds(
                    ToolCall,
                    keys,
                    st.sampled_from(["", "a", "b", "call_t1", "x" * 50]),
                    st.sampled_from(["grep", "", "bad name", "n" * 80]),
                    st.sampled_from(["", "{}", "[", '"{}"', "null", '{"a": "\udce9"}']),
                ),
                max_size=3,
            ).map(tuple),
        ),
    ),
    max_size=12,
)


@given(messages)
def test_any_history_gets_an_order_that_strict_servers_accept(history: list[Message]) -> None:
    history = [*history, USER]
    for wire in (encode(history, DIALECT), encode_flat(history)):
        assert violations({"messages": wire}) == []
        assert str(wire[-1]["content"]).endswith(USER.text)
        assert json.dumps(wire, ensure_ascii=False).encode()
