"""Cases about sent requests: after any conversation, the next request is valid."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cases.playing import Play, both_ways, call, play, raw
from tests.fakes.clock import FakeClock
from tests.fakes.replies import (
    Answer,
    Call,
    Pause,
    Script,
    call_delta,
    delta,
    error,
    sse,
    usage_chunk,
)
from tests.session.parts import Echo, EchoArguments, EchoResult, Gate, SlowWrite, Stubborn, until
from treadle.events.types import (
    CallKey,
    FallbackApplied,
    PromptConstructed,
    StopReason,
    ToolCallCompleted,
    ToolCallLate,
)
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.session import ConversationStore
from treadle.tools.contract import ToolContext

DONE = Answer("Done.")
REFUSED = "messages.1.content: Input should be a valid string"


def calling(*texts: str) -> Answer:
    return Answer("", [Call("echo", {"text": text}) for text in texts])


def made(number: int, slots: int = 1) -> AssistantMessage:
    calls = [ToolCall(CallKey(number, slot), "id", "echo", "{}") for slot in range(slots)]
    return AssistantMessage(None, tuple(calls))


def remember(at: Play, *messages: Message) -> None:
    for message in messages:
        at.at.conversation.add(message, 0)


def roles(messages: Sequence[dict[str, object]]) -> list[object]:
    return [message["role"] for message in messages]


@both_ways
@pytest.mark.parametrize(
    "between",
    [
        [NoteMessage("By the way.")],
        [NoteMessage("By the way."), NoteMessage("")],
        [SystemMessage("Be brief.")],
        [NoteMessage(" "), SystemMessage("")],
    ],
)
async def test_t10_results_come_first_and_notes_after(stream: bool, between: list[Message]) -> None:
    async with play(DONE, stream=stream) as at:
        first, second = (ToolMessage(CallKey(0, slot), f'"{slot}"') for slot in (0, 1))
        remember(at, UserMessage("Hi"), made(0, 2), *between, second, *between, first)
        await at.ask()
        assert roles(at.sent())[:5] == ["system", "user", "assistant", "tool", "tool"]
        assert at.answers() == ["0", "1"]


@both_ways
async def test_t10_an_empty_turn_of_the_user_between_them(stream: bool) -> None:
    async with play(DONE, stream=stream) as at:
        remember(at, UserMessage("Hi"), made(0), UserMessage(""), ToolMessage(CallKey(0, 0), '"0"'))
        await at.ask()
        assert roles(at.sent()) == ["system", "user", "assistant", "tool", "user"]


@both_ways
async def test_t10_the_note_of_the_last_turn_comes_after_the_results(stream: bool) -> None:
    async with play(calling("a", "b"), DONE, stream=stream) as at:
        outcome = await at.ask(max_turns=2)
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.TURN_LIMIT)
        assert roles(at.sent())[-1] == "user"


@both_ways
async def test_t11_there_is_one_system_message_and_it_is_first(stream: bool) -> None:
    async with play(calling("a"), DONE, stream=stream) as at:
        remember(at, SystemMessage("Other"), UserMessage("Hi"), AssistantMessage("Hello"))
        remember(at, SystemMessage("Third"), NoteMessage("Note"))
        await at.ask()
        for request in at.provider.requests:
            assert roles(request.messages).count("system") == 1
            assert str(request.messages[0]["content"]).startswith("You are Treadle")


@both_ways
@pytest.mark.parametrize(("setting", "forms"), [("null", (None, "")), ("empty", ("", None))])
async def test_t15_a_refused_form_of_missing_text_is_switched_once(
    stream: bool, setting: str, forms: tuple[object, object]
) -> None:
    replies = calling("a"), error(400, REFUSED), calling("b"), DONE
    async with play(*replies, stream=stream, empty_content=setting) as at:
        await at.ask()
        sent = [[m["content"] for m in at.sent(n) if "tool_calls" in m] for n in (1, 2, 3)]
        assert sent == [[forms[0]], [forms[1]], [forms[1]] * 2]
        assert len(at.at.seen(FallbackApplied)) == 1


@both_ways
async def test_t15_a_second_refusal_is_final(stream: bool) -> None:
    replies = calling("a"), error(400, REFUSED), error(400, REFUSED), DONE
    async with play(*replies, stream=stream) as at:
        assert (await at.refused()).status == 400
        assert (await at.ask("Again")).text == "Done."


@both_ways
async def test_t20_a_late_result_is_an_event_and_never_a_message(stream: bool) -> None:
    clock = FakeClock()
    replies = Answer("", [Call("stubborn")]), DONE, DONE
    async with play(*replies, tools=[Stubborn()], stream=stream, clock=clock) as at:
        running = asyncio.ensure_future(at.ask(timeout=3))
        await until(lambda: clock.sleeping)
        while not at.at.seen(ToolCallLate):
            await clock.advance(1)
        await running
        await at.ask("And now?")
        (result,) = at.answers()
        assert (result["kind"], result["effect"]) == ("timeout", "none")
        assert [late.outcome for late in at.at.seen(ToolCallLate)] == ["completed"]


@both_ways
async def test_t20_a_changing_tool_that_is_too_slow_has_an_unknown_effect(stream: bool) -> None:
    clock, tool = FakeClock(), SlowWrite()
    replies = Answer("", [Call("slow_write", {"text": "a"})]), DONE
    async with play(*replies, tools=[tool], stream=stream, clock=clock) as at:
        running = asyncio.ensure_future(at.ask())
        await tool.entered("a")
        await clock.advance(5)
        assert (await running).text == "Done."
        (result,) = at.answers()
        assert (result["kind"], result["effect"]) == ("timeout", "unknown")


@both_ways
async def test_t26_open_calls_of_a_cancelled_turn_are_answered_before_the_next_request(
    stream: bool,
) -> None:
    tool = Gate()
    calls = [Call("gate", {"text": text}, id="same") for text in "abc"]
    replies = Answer("Look:", calls), DONE
    async with play(*replies, tools=[tool], stream=stream) as at:
        running = asyncio.ensure_future(at.ask(max_concurrent=2))
        await tool.entered("a")
        await tool.entered("b")
        tool.open("a")
        await tool.entered("c")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await at.ask("Go on")).text == "Done."
        kinds = [each.get("kind", each.get("text")) for each in at.answers()]
        assert kinds == ["a", "cancelled", "cancelled"]
        assert "Cancelled by the user" in at.answers()[1]["error"]


@both_ways
async def test_t26_cancelled_while_the_provider_is_silent(stream: bool) -> None:
    silent = Script(before=(Pause(),))
    async with play(calling("a"), silent, DONE, stream=stream) as at:
        running = asyncio.ensure_future(at.ask())
        await at.provider.wait_for_requests(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await at.ask("Go on")).text == "Done."
        assert [each["text"] for each in at.answers()] == ["a"]


@both_ways
async def test_t28_a_long_history_is_cut_between_pairs(stream: bool) -> None:
    long = "word " * 200
    turns = [Answer("", [Call("echo", {"text": long + str(n)})] * 3) for n in range(12)]
    async with play(*turns, DONE, DONE, stream=stream, context_window=6_000) as at:
        await at.ask()
        assert (await at.ask("And?")).text == "Done."
        assert any(event.left_out for event in at.at.seen(PromptConstructed))
        assert all(len(r.messages) < 40 for r in at.provider.requests)


@both_ways
async def test_t28_orphans_are_dropped_and_dangling_calls_closed(stream: bool) -> None:
    async with play(DONE, stream=stream) as at:
        orphan = ToolMessage(CallKey(9, 9), '"orphan"')
        remember(at, orphan, UserMessage("Hi"), orphan, made(0, 2))
        remember(at, ToolMessage(CallKey(0, 1), '"kept"'), ToolMessage(CallKey(0, 1), '"twice"'))
        remember(at, AssistantMessage("Hm"), orphan, made(1))
        await at.ask()
        answers = at.answers()
        assert [each if isinstance(each, str) else each["kind"] for each in answers] == [
            "cancelled",
            "kept",
            "cancelled",
        ]


@both_ways
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_t29_reasoning_returns_under_its_name_to_its_model_only(
    stream: bool, field: str
) -> None:
    reply = raw(call("echo", arguments="{}"), **{field: "Think."})
    async with play(reply, DONE, DONE, DONE, stream=stream) as at:
        await at.ask()
        assert at.sent(1)[2][field] == "Think."
        for other in (at.other("another"), at.other("fake-model", echo_reasoning=False)):
            await other.ask("Again")
            await other.model.close()
            assert not {"reasoning", "reasoning_content"} & set(at.sent()[2])


DETAILS = [
    {"type": "reasoning.text", "text": "one", "signature": "s1", "index": 0},
    {"type": "reasoning.encrypted", "data": "xyz", "index": 1, "format": "f"},
    {"type": "reasoning.summary", "summary": "two", "index": 2},
]
SIGNED = {"extra_content": {"google": {"thought_signature": "sig"}}, "vendor": [1, None]}


@both_ways
async def test_t30_opaque_parts_go_back_unchanged_also_from_the_store(
    stream: bool, tmp_path: Path
) -> None:
    calls = call("echo", arguments="{}", **SIGNED), call("echo", arguments="{}", id="d")
    reply = raw(*calls, reasoning_details=DETAILS)
    async with play(reply, DONE, DONE, stream=stream) as at:
        async with await ConversationStore.open(tmp_path / "c.db") as store:
            at.at.conversation = await store.create(tmp_path, "fake-model")
            session = at.at.session(at.model, store=store, stream=stream)
            await session.run("Hi")
            at.at.conversation = await store.load("last", root=tmp_path)
            await at.ask("Again")
        for request in (1, 2):
            assert at.sent(request)[2]["reasoning_details"] == DETAILS
            first, second = at.called(request)
            assert {name: first[name] for name in SIGNED} == SIGNED
            assert set(second) == {"id", "type", "function"}


async def test_t30_fragments_of_details_are_joined_in_order() -> None:
    pieces = [
        {"type": "reasoning.text", "text": "o", "index": 0},
        {"type": "reasoning.text", "text": "ne", "index": 0},
        {"type": "reasoning.text", "signature": "s1", "index": 0},
        *DETAILS[1:],
    ]
    chunks = [delta(reasoning_details=[each]) for each in pieces]
    chunks += [call_delta(0, id="c", name="echo", arguments="{}")]
    end = delta(finish_reason="tool_calls"), usage_chunk()
    async with play(sse(*chunks, *end), DONE) as at:
        await at.ask()
        assert at.sent()[2]["reasoning_details"] == DETAILS


class Huge(Echo):
    """Repeats its text until it fills 1.9 MB."""

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        times = 1_900_000 // len(arguments.text.encode())
        return EchoResult(text=f"begin{arguments.text * times}end")


@both_ways
@pytest.mark.parametrize("text", ["word ", "é", "👩‍👩‍👧", '\\"\n', "x"])
async def test_t33_a_huge_result_keeps_head_and_tail(stream: bool, text: str) -> None:
    replies = Answer("", [Call("echo", {"text": text})]), DONE
    async with play(*replies, tools=[Huge()], stream=stream) as at:
        await at.ask(result_tokens=1_000)
        (content,) = [str(m["content"]) for m in at.sent() if m["role"] == "tool"]
        shown = json.loads(content)
        assert shown["head"].startswith('{"ok":true,"type":"echo","v":1,"text":"begin')
        assert shown["tail"].endswith('end"}')
        assert shown["limit"] == 1_000
        assert len(content) < 10_000
        content.encode()
        (event,) = at.at.seen(ToolCallCompleted)
        assert event.content == content
