"""Any history becomes valid for the strictest endpoint, and only unacceptable content is lost."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import draw
from tests.fakes import strict_endpoint as strict
from tests.fakes.wire_rules import violations
from treadle.events.types import CallKey
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.llm.strictness import (
    NINE_LETTERS,
    PLAIN_IDS,
    IdRule,
    MissingText,
    Reasoning,
    Strictness,
)
from treadle.llm.valid_history import CLOSED, Dialect, valid_history
from treadle.llm.wire import encode

LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
ID_RULES = {
    r"[A-Za-z0-9_.:-]{1,40}": IdRule(),
    r"[A-Za-z0-9_-]{1,40}": PLAIN_IDS,
    r"[A-Za-z0-9]{9}": NINE_LETTERS,
    r"[A-Za-z0-9_-]{1,64}": replace(PLAIN_IDS, most=64),
    r"toolu_[A-Za-z0-9_-]{1,58}": replace(PLAIN_IDS, most=64, prefix="toolu_"),
    r"fc_[A-Za-z0-9_-]{1,61}": replace(PLAIN_IDS, most=64, prefix="fc_"),
    r"[a-z0-9]{8}": IdRule(LOWER, 8, 8),
    r"call_[a-z0-9]{1,25}": IdRule(LOWER + "_", 6, 30, "call_"),
}
FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "extra_content")

ids = st.sampled_from(
    ["", "a", "b", "0", "call_t1", "x" * 50, "call_abc", "toolu_1", "é", "A1b2C3d4E", "fn:0", "\n"]
)
texts = st.sampled_from(["", " ", "text", "é👋", "\udce9", "two\nlines"])
opaques = st.sampled_from(
    [
        None,
        '{"reasoning_content": null}',
        '{"reasoning": null, "reasoning_details": [{"data": "x"}]}',
        '{"thought_signature": "s"}',
    ]
)
call_opaques = st.sampled_from([None, '{"extra_content": {"google": {"s": 1}}}', '{"v": 1}'])
keys = st.builds(CallKey, st.integers(0, 3), st.integers(0, 2))
calls = st.builds(
    ToolCall,
    keys,
    ids,
    st.sampled_from(["grep", "", "bad name", "n" * 80]),
    st.sampled_from(["", "{}", "[", '"{}"', "null", '{"a": "\udce9"}', '{"not_json": "["}']),
    st.just("vendor"),
    call_opaques,
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, texts, texts),
    st.builds(UserMessage, texts, texts, st.booleans()),
    st.builds(NoteMessage, texts, st.integers(0, 3)),
    st.builds(ToolMessage, keys, texts),
    st.builds(
        AssistantMessage,
        st.none() | texts,
        st.lists(calls, max_size=3).map(tuple),
        st.none() | texts,
        opaques,
        st.sampled_from(["fake", "other"]),
        st.sampled_from(["m", "n"]),
    ),
)
histories = st.lists(messages, max_size=14)
strictnesses = st.builds(
    Strictness,
    st.sampled_from(list(ID_RULES.values())),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(MissingText),
    st.sampled_from(Reasoning),
    st.sampled_from(["reasoning_content", "reasoning"]),
    st.sets(st.sampled_from(FIELDS)).map(frozenset),
    st.booleans(),
)


def consistent(strictness: Strictness) -> Strictness:
    """Demands that do not exclude each other: a required field is not refused."""
    required = {strictness.reasoning_field}
    if strictness.call_signatures:
        required.add("extra_content")
    return replace(strictness, refused_fields=strictness.refused_fields - required)


def rules_of(strictness: Strictness) -> list[strict.Rule]:
    """The checks of the strict endpoint."""
    pattern = next(p for p, rule in ID_RULES.items() if rule == strictness.call_ids)
    rules = [strict.one_leading_system, strict.ends_with_question, strict.ids_like(pattern)]
    if strictness.alternating:
        rules += [strict.roles_alternate, strict.reply_after_tool, strict.begins_with_user]
    if not strictness.system_role:
        rules.append(strict.no_system)
    if strictness.single_calls:
        rules.append(strict.single_calls)
    if strictness.named_results:
        rules.append(strict.named_results)
    if not strictness.tools:
        rules.append(strict.no_tools)
    rules.append(
        {
            MissingText.NULL: strict.null_content,
            MissingText.EMPTY: strict.text_content,
            MissingText.FILLER: strict.filled_content,
        }[strictness.missing_text]
    )
    if strictness.tools and strictness.reasoning in (Reasoning.REQUIRED, Reasoning.FILLED):
        filled = strictness.reasoning is Reasoning.FILLED
        rules.append(strict.has_reasoning(strictness.reasoning_field, filled=filled))
    if strictness.reasoning is Reasoning.NEVER:
        rules.append(strict.no_field("reasoning_content", "reasoning", "reasoning_details"))
    if strictness.tools and strictness.call_signatures:
        rules.append(strict.signed_calls)
    return [*rules, strict.no_field(*strictness.refused_fields)]


@draw(times=3)
@given(histories, strictnesses.map(consistent))
def test_any_history_is_valid_for_any_strict_endpoint(
    history: list[Message], strictness: Strictness
) -> None:
    wire = encode(history, Dialect("fake", "m", strictness))
    assert strict.broken(wire, *rules_of(strictness)) == []
    assert violations({"messages": wire}) == [] or strictness.call_ids.most > 40
    assert json.dumps(wire, ensure_ascii=False).encode()


@draw(times=3)
@given(histories, strictnesses.map(consistent))
def test_a_valid_history_does_not_change(history: list[Message], strictness: Strictness) -> None:
    dialect = Dialect("fake", "m", strictness)
    valid = valid_history(history, dialect)
    assert valid_history(valid, dialect) == valid


@draw(times=2)
@given(histories, strictnesses.map(consistent))
def test_only_unacceptable_content_is_lost(history: list[Message], strictness: Strictness) -> None:
    """Check that each text, call and result appears once, in its original order."""
    numbered = [_numbered(message, number) for number, message in enumerate(history)]
    wire = encode(numbered, Dialect("fake", "m", strictness))
    sent = json.dumps(wire, ensure_ascii=False)
    told = [sent.find(text) for text in _texts(numbered, strictness)]
    assert all(place >= 0 for place in told)
    assert told == sorted(told)


def _numbered(message: Message, number: int) -> Message:
    """The message with a text that no other message has."""
    match message:
        case AssistantMessage(text=text):
            return replace(message, text=f"said{number}." if text else text)
        case ToolMessage():
            return replace(message, content=f"result{number}.")
        case UserMessage(context=context):
            context = f"context{number}." if context else ""
            return replace(message, text=f"asked{number}.", context=context)
        case SystemMessage():
            return replace(message, text=f"ordered{number}.", without_tools="")
        case NoteMessage():
            return replace(message, text=f"noted{number}.")


def _texts(history: Sequence[Message], strictness: Strictness) -> list[str]:
    """The expected content in order. Results are with their calls."""
    system = [m for m in history if isinstance(m, SystemMessage)]
    texts = [each.text for each in system[:1]]
    for place, message in enumerate(history):
        match message:
            case UserMessage(text=text, context=context):
                texts += [context, text] if context else [text]
            case NoteMessage(text=text):
                texts.append(text)
            case SystemMessage(text=text) if message is not system[0]:
                texts.append(text)
            case AssistantMessage(text=text, calls=made):
                texts += [text] if text else []
                if not strictness.single_calls and strictness.tools:
                    found: dict[CallKey, str] = {}
                    for later in history[place + 1 :]:
                        if isinstance(later, AssistantMessage) and later.calls:
                            break
                        if isinstance(later, ToolMessage):
                            found.setdefault(later.key, later.content)
                    texts += [found[call.key] for call in made if call.key in found][:1]
            case _:
                pass
    return texts


@pytest.mark.parametrize("rule", ID_RULES.values())
@given(st.lists(ids, min_size=1, max_size=12))
def test_ids_of_earlier_calls_stay_when_the_history_grows_or_is_cut(
    rule: IdRule, named: list[str]
) -> None:
    """The beginning of a request does not change, so that a provider's cache of it stays valid."""
    dialect = Dialect("fake", "m", Strictness(call_ids=rule))
    history: list[Message] = [UserMessage("Go")]
    for turn, call_id in enumerate(dict.fromkeys(named)):
        call = ToolCall(CallKey(turn, 0), call_id, "grep", "{}")
        history += [AssistantMessage(None, (call,)), ToolMessage(call.key, "done")]
    whole = encode(history, dialect)
    assert encode(history[:-2], dialect) == whole[:-2] or len(history) == 3
    if len(history) > 3:
        assert encode([history[0], *history[3:]], dialect) == [whole[0], *whole[3:]]


def test_an_acceptable_id_does_not_change() -> None:
    calls = tuple(
        ToolCall(CallKey(0, slot), call_id, "grep", "{}")
        for slot, call_id in enumerate(["A1b2C3d4E", "call_t1", "A1b2C3d4E"])
    )
    dialect = Dialect("fake", "m", Strictness(call_ids=NINE_LETTERS))
    wire = encode([AssistantMessage(None, calls)], dialect)
    sent = [call["id"] for call in wire[0]["tool_calls"]]  # type: ignore[attr-defined]  # JSON
    assert sent[0] == "A1b2C3d4E"
    assert len(set(sent)) == 3
    assert [m["tool_call_id"] for m in wire if m["role"] == "tool"] == sent


def sent(history: Sequence[Message], **strictness: Any) -> list[Any]:
    return encode(history, Dialect("fake", "m", Strictness(**strictness)))


def calling(*slots: int, turn: int = 0, **more: Any) -> AssistantMessage:
    made = tuple(ToolCall(CallKey(turn, slot), f"c{turn}{slot}", "grep", "{}") for slot in slots)
    return AssistantMessage(more.pop("text", None), made, **more)


def test_a_call_without_a_result_gets_one_and_takes_none_of_a_later_turn() -> None:
    key = CallKey(0, 0)
    history: list[Message] = [UserMessage("Go"), calling(0), calling(0), ToolMessage(key, "second")]
    results = [m["content"] for m in sent(history) if m["role"] == "tool"]
    assert results == [CLOSED, "second"]
    assert json.loads(CLOSED) == {
        "ok": False,
        "error": "The call was cancelled and has no result.",
        "kind": "cancelled",
        "effect": "unknown",
    }


@pytest.mark.parametrize("blank", ["", " \n"])
def test_an_empty_result_is_replaced_by_a_text(blank: str) -> None:
    history: list[Message] = [calling(0), ToolMessage(CallKey(0, 0), blank)]
    assert sent(history)[1]["content"] == "(no output)"


def test_separated_calls_repeat_no_text_and_no_reasoning() -> None:
    reply = calling(0, 1, text="I look.", reasoning="Hm", provider="fake", model="m")
    wire = sent([UserMessage("Go"), reply], single_calls=True)
    assert [m["role"] for m in wire] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [m["content"] for m in wire if m["role"] == "assistant"] == ["I look.", None]
    assert [m.get("reasoning_content") for m in wire if m["role"] == "assistant"] == ["Hm", None]


@pytest.mark.parametrize(
    ("wants", "told"),
    [
        (Reasoning.OWN, ["Hm", None, None]),
        (Reasoning.NEVER, [None, None, None]),
        (Reasoning.REQUIRED, ["Hm", "", ""]),
        (Reasoning.FILLED, ["Hm", "(not recorded)", "(not recorded)"]),
    ],
)
def test_reasoning_goes_back_as_the_endpoint_needs_it(
    wants: Reasoning, told: list[str | None]
) -> None:
    own: Message = AssistantMessage("A", reasoning="Hm", provider="fake", model="m")
    blank = AssistantMessage("B", reasoning=" ", provider="fake", model="m")
    other = AssistantMessage("C", reasoning="Of another", provider="other", model="m")
    question = UserMessage("?")
    wire = sent([own, question, blank, question, other, question], reasoning=wants)
    replies = [m.get("reasoning_content") for m in wire if m["role"] == "assistant"]
    assert [each if each != " " else None for each in replies] == told


def test_only_the_first_call_of_a_reply_is_signed() -> None:
    wire = sent([calling(0, 1)], call_signatures=True)
    signed = ["extra_content" in call for call in wire[0]["tool_calls"]]
    assert signed == [True, False]


def test_without_tools_the_prompt_without_tools_is_sent() -> None:
    system = SystemMessage("Call the tools.", "Answer.")
    assert sent([system, UserMessage("Go")])[0]["content"] == "Call the tools."
    assert sent([system, UserMessage("Go")], tools=False)[0]["content"] == "Answer."
    alone = sent([SystemMessage("Say it."), UserMessage("Go")], tools=False)
    assert alone[0]["content"] == "Say it."


def test_a_question_after_a_result_follows_a_reply_where_roles_alternate() -> None:
    history: list[Message] = [
        UserMessage("Go"),
        calling(0),
        UserMessage("Stop"),
        AssistantMessage("Well."),
    ]
    wire = sent(history, alternating=True)
    assert [(m["role"], m["content"]) for m in wire if m["role"] != "tool"] == [
        ("user", "Go"),
        ("assistant", None),
        ("assistant", "Noted."),
        ("user", "Stop"),
        ("assistant", "Well."),
        ("user", "Continue."),
    ]
    assert [m["role"] for m in sent(history)].count("assistant") == 2


@pytest.mark.parametrize(
    "rule", [*ID_RULES.values(), replace(NINE_LETTERS, least=4, most=5), IdRule("01", 12, 12)]
)
def test_new_ids_follow_their_rule_and_differ(rule: IdRule) -> None:
    new = {rule.new(str(number)) for number in range(20)}
    assert len(new) == 20
    assert all(rule.accepts(each) for each in new)
    assert rule.new("a") == rule.new("a")
