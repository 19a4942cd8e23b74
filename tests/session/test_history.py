"""The content of a request: complete pairs in order, within the budget, with the newest message."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import draw
from treadle.events.types import CallKey
from treadle.llm.messages import (
    AssistantMessage,
    Image,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.session.history import (
    ContextWindowError,
    Omission,
    Prompt,
    build_prompt,
    output_reserve,
    repair,
)
from treadle.session.message_tokens import TokenCounts, tools_tokens

TOOL = ToolSpec("echo", "Say it.", {"type": "object", "properties": {"text": {"type": "string"}}})


def call(turn: int, slot: int, arguments: str = "{}") -> ToolCall:
    return ToolCall(CallKey(turn, slot), f"id{turn}{slot}", "echo", arguments)


words = st.integers(0, 400).map(lambda count: "word 0x3f, " * count)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Histories with lost, duplicate and misplaced results, and notes between them."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["user", "note", "reply", "reply", "reply"]))
        if kind == "user":
            images = draw(st.integers(0, 2)) * (Image("i.png", "image/png", b"i"),)
            messages.append(UserMessage(draw(words), draw(words), images=images))
        elif kind == "note":
            messages.append(NoteMessage(draw(words)))
        else:
            calls = tuple(call(turn, slot) for slot in range(draw(st.integers(0, 3))))
            messages.append(AssistantMessage(draw(words), calls))
            results: list[Message] = [ToolMessage(each.key, draw(words)) for each in calls]
            results += [ToolMessage(CallKey(turn, 9), "of no call"), NoteMessage("between")]
            messages += draw(st.lists(st.sampled_from(results), max_size=5))
    return messages


def pairs_are_whole(messages: tuple[Message, ...]) -> bool:
    """Check that exactly its results follow each reply, in slot order."""
    expected: list[CallKey] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not expected or message.key != expected.pop(0):
                return False
        elif expected:
            return False
        elif isinstance(message, AssistantMessage):
            expected = [each.key for each in message.calls]
    return not expected


def heads(messages: tuple[Message, ...]) -> list[Message]:
    return [m for m in messages if not isinstance(m, ToolMessage | SystemMessage)]


@draw(times=2)
@given(
    history=histories(),
    user=words,
    context=words,
    after=histories(),
    window=st.integers(256, 20_000),
)
def test_every_prompt_is_valid_within_its_budget_and_keeps_the_newest_message(
    history: list[Message], user: str, context: str, after: list[Message], window: int
) -> None:
    run = [m for m in after if not isinstance(m, UserMessage)]
    whole: list[Message] = [*history, UserMessage(user, context), *run]
    try:
        prompt = build_prompt("Be brief.", whole, [TOOL], context_window=window)
    except ContextWindowError:
        alone: list[Message] = [SystemMessage("Be brief."), UserMessage(user)]
        newest = [m for m in run if isinstance(m, AssistantMessage)][-1:]
        # The error is right only if the newest message, the newest reply with shortened results and
        # the notes after it exceed the budget.
        least = TokenCounts().of([*alone, *newest]) + tools_tokens([TOOL])
        notes = sum(TokenCounts().of([m]) for m in run if isinstance(m, NoteMessage))
        results = 90 * sum(len(m.calls) for m in newest)
        assert least + notes + results > window - output_reserve(window)
        return
    assert prompt.estimated_tokens <= prompt.budget_tokens == window - output_reserve(window)
    counted = TokenCounts().of(prompt.messages) + tools_tokens([TOOL])
    assert prompt.estimated_tokens == counted
    assert_decisions_describe(prompt, whole)
    assert prompt.messages[0] == SystemMessage("Be brief.")
    assert [m.text for m in prompt.messages if isinstance(m, UserMessage)][-1] == user
    assert pairs_are_whole(prompt.messages)
    repaired = [m for unit in repair(whole) for m in unit]
    assert prompt.left_out == len(repaired) + 1 - len(prompt.messages)
    assert (prompt.reason is None) == (prompt.messages[1:] == tuple(repaired))
    kept = iter(heads(tuple(repaired)))
    for message in heads(prompt.messages):  # a subsequence: the order stays
        assert any(_same(message, each) for each in kept)


def assert_decisions_describe(prompt: Prompt, history: list[Message]) -> None:
    """Each message has one decision, and the sent messages are those of the prompt."""
    positions = [d.position for d in prompt.decisions if d.position is not None]
    assert sorted(positions) == list(range(len(history)))
    sent = tuple(d.sent for d in prompt.decisions if d.sent is not None)
    assert sent == prompt.messages[1:]
    counts = TokenCounts()
    parts = [part.tokens for message in prompt.messages for part in counts.parts(message)]
    assert sum(parts) + tools_tokens([TOOL]) == prompt.unscaled_tokens
    for decision in prompt.decisions:
        if decision.position is not None:
            assert decision.original == history[decision.position]
        assert (decision.sent == decision.original) == (decision.omission is None)


def _same(kept: Message, original: Message) -> bool:
    if isinstance(kept, UserMessage) and isinstance(original, UserMessage):
        return kept.text == original.text
    return kept == original


@given(history=histories())
def test_repairing_twice_changes_nothing_more(history: list[Message]) -> None:
    once = [message for unit in repair(history) for message in unit]
    assert [message for unit in repair(once) for message in unit] == once
    assert pairs_are_whole(tuple(once))


def test_a_call_left_open_by_a_crash_gets_an_unknown_result() -> None:
    history: list[Message] = [UserMessage("Go"), AssistantMessage(None, (call(0, 0), call(0, 1)))]
    results = [ToolMessage(CallKey(0, 1), "second")]
    prompt = build_prompt("S", [*history, *results], [], context_window=4_000)
    first, second = prompt.messages[3:]
    assert isinstance(first, ToolMessage)
    assert not first.ok
    assert '"effect":"unknown"' in first.content
    assert second == results[0]


def exchange(number: int, size: int = 1) -> list[Message]:
    return [
        UserMessage(f"question {number}"),
        AssistantMessage(None, (call(number, 0),)),
        ToolMessage(CallKey(number, 0), "some words " * 100 * size),
        AssistantMessage(f"answer {number}"),
    ]


def test_the_oldest_exchanges_go_first_and_whole() -> None:
    history = [message for number in range(5) for message in exchange(number)]
    prompt = build_prompt("S", [*history, UserMessage("now")], [], context_window=1_200)
    users = [m.text for m in prompt.messages if isinstance(m, UserMessage)]
    assert users == ["question 2", "question 3", "question 4", "now"][-len(users) :]
    assert 1 < len(users) < 5
    assert isinstance(prompt.messages[1], UserMessage)
    assert prompt.left_out == (6 - len(users)) * 4
    assert prompt.reason == (
        f"{prompt.left_out} messages of earlier exchanges left out, to fit 900 tokens"
    )


class Counted(TokenCounts):
    """Counts how many messages are counted."""

    messages = 0

    def of(self, messages: Sequence[Message]) -> int:
        self.messages += len(messages)
        return super().of(messages)


def test_work_for_a_prompt_is_proportional_to_the_history() -> None:
    history = [message for number in range(500) for message in exchange(number)]
    counts = Counted()
    prompt = build_prompt(
        "S", [*history, UserMessage("now")], [], context_window=9_000, counts=counts
    )
    assert prompt.left_out > 1_500
    assert counts.messages < 10 * len(history)


def test_older_images_go_before_whole_exchanges() -> None:
    image = Image("screen.png", "image/png", b"pixels")
    history: list[Message] = [
        UserMessage("first", images=(image, image)),
        AssistantMessage("answer"),
        UserMessage("second", images=(image,)),
    ]
    prompt = build_prompt("S", history, [], context_window=3_000)
    first, _, second = prompt.messages[1:]
    assert isinstance(first, UserMessage)
    assert isinstance(second, UserMessage)
    assert (first.text, first.images, second.images) == ("first", (), (image,))
    assert [each.name for each in first.attached] == ["screen.png", "screen.png"]
    assert prompt.reason == "2 images left out, to fit 2,250 tokens"
    assert prompt.decisions[0].omission is Omission.SPACE


def test_older_results_of_the_run_are_shortened_before_the_newest_and_before_replies_go() -> None:
    run: list[Message] = [UserMessage("Go", context="context")]
    for turn in range(4):
        run += [
            AssistantMessage(None, (call(turn, 0),)),
            ToolMessage(CallKey(turn, 0), f"result {turn} " + "some words " * 250),
        ]
    prompt = build_prompt("S", run, [], context_window=2_400)
    lengths = [len(m.content) for m in prompt.messages if isinstance(m, ToolMessage)]
    assert len(lengths) == 4
    assert lengths[0] < lengths[3] == len(run[-1].content)  # type: ignore[union-attr]  # a result
    assert all(before <= after for before, after in pairwise(lengths))
    assert prompt.left_out == 0
    assert prompt.reason is not None
    assert "older tool results shortened" in prompt.reason


def test_a_note_at_the_end_does_not_age_the_newest_results() -> None:
    run: list[Message] = [
        UserMessage("Go"),
        AssistantMessage(None, (call(0, 0),)),
        ToolMessage(CallKey(0, 0), "old " * 2_000),
        AssistantMessage(None, (call(1, 0),)),
        ToolMessage(CallKey(1, 0), "new " * 300),
        NoteMessage("last turn"),
    ]
    prompt = build_prompt("S", run, [], context_window=1_600)
    assert prompt.messages[-2:] == (run[-2], run[-1])


def test_a_message_that_cannot_fit_is_a_clear_error() -> None:
    with pytest.raises(ContextWindowError, match=r"tokens; the model's window of 300"):
        build_prompt("S", [UserMessage("word " * 1_000)], [TOOL], context_window=300)


def test_results_are_cut_further_if_the_notice_takes_up_the_gain() -> None:
    calls = tuple(ToolCall(CallKey(0, slot), "a", "echo", "{}") for slot in range(3))
    results = [ToolMessage(call.key, "word 0x3f, " * 69) for call in calls]
    question = UserMessage("word " * 2_500)
    run: list[Message] = [question, AssistantMessage(None, calls), *results]
    whole = TokenCounts().of([SystemMessage("S"), *run])
    for short in range(1, 60):
        window = (whole - short) * 4 // 3
        prompt = build_prompt("S", run, [], context_window=window)
        assert prompt.estimated_tokens <= prompt.budget_tokens
