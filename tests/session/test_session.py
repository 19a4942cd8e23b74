"""The loop of a request session, through the real bus and the real executor."""

import asyncio
import json
from uuid import UUID

import pytest
from inline_snapshot import snapshot

from tests.fakes.clock import FakeClock, settle
from tests.fakes.model import FakeModel, Hang, Say, calls, texts
from tests.session.parts import (
    Echo,
    EchoResult,
    Gate,
    SlowWrite,
    Stubborn,
    conversation,
    results,
    stage,
    until,
)
from treadle.config.model import ToolSettings
from treadle.errors import TreadleError
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    ModelRequestStarted,
    Notice,
    PromptConstructed,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    Usage,
)
from treadle.llm.messages import (
    AssistantMessage,
    NoteMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from treadle.session import SessionOutcome
from treadle.session.conversation import MessageState
from treadle.session.role import Role
from treadle.session.tool_results import RepetitionLimits
from treadle.tokens import estimate


def gate(*names: str, tool: str = "gate") -> Say:
    return Say(calls=tuple((tool, json.dumps({"text": name})) for name in names))


def said(content: str) -> object:
    return json.loads(content)["text"]


async def test_an_answer_without_calls_ends_the_session() -> None:
    async with stage(Echo()) as at:
        outcome = await at.session(FakeModel(Say("Hello."))).run("Hi")
        assert outcome == SessionOutcome(
            "Hello.", StopReason.COMPLETED, Usage(10, 5, 0, 0), 0.25, 0, ()
        )
        await settle()
        assert [type(event).__name__ for event in at.events] == snapshot(
            [
                "SessionStarted",
                "PromptConstructed",
                "ModelRequestStarted",
                "ModelDelta",
                "ModelRequestFinished",
                "SessionFinished",
            ]
        )
        assert at.conversation.messages == (
            UserMessage("Hi"),
            AssistantMessage("Hello.", provider="fake", model="fake-model"),
        )
        assert at.conversation.entries[0].stop_reason is StopReason.COMPLETED


async def test_three_parallel_calls_keep_their_order_whatever_the_order_of_their_results() -> None:
    tool = Gate()
    async with stage(tool) as at:
        model = FakeModel(gate("a", "b", "c"), Say("Done."))
        running = asyncio.ensure_future(at.session(model).run("Go"))
        await until(lambda: len(tool.running) == 3)
        for name in ("c", "a", "b"):
            tool.open(name)
            await tool.left(name)
            await settle()
        outcome = await running
        completed = at.seen(ToolCallCompleted)
        assert [said(event.content) for event in completed] == ["c", "a", "b"]
        assert [said(content) for content in results(model.requests[1].messages)] == ["a", "b", "c"]
        assert outcome.tool_calls == 3
        assert outcome.usage == Usage(20, 10, 0, 0)
        assert outcome.cost == 0.5
        operation = at.seen(ModelRequestStarted)[0].operation_id
        assert {event.parent_id for event in at.seen(ToolCallRequested)} == {operation}


async def test_the_setting_limits_concurrent_calls() -> None:
    tool = Gate()
    async with stage(tool) as at:
        model = FakeModel(gate("a", "b", "c", "d"), Say("Done."))
        session = at.session(model, settings=ToolSettings(max_concurrent=2))
        running = asyncio.ensure_future(session.run("Go"))
        most = 0
        for name in ("a", "b", "c", "d"):
            await tool.entered(name)
            await settle()
            most = max(most, len(tool.running))
            tool.open(name)
        await running
        assert most == 2


async def test_a_call_that_times_out_fails_alone_and_ends_its_tool() -> None:
    tool, clock = Gate(), FakeClock()
    async with stage(tool, clock=clock) as at:
        model = FakeModel(gate("slow", "quick"), Say("Done."))
        session = at.session(model, settings=ToolSettings(timeout=2))
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: len(tool.running) == 2)
        tool.open("quick")
        await clock.advance(2)
        await running
        slow, quick = map(json.loads, results(model.requests[1].messages))
        assert slow == snapshot(
            {
                "ok": False,
                "error": "gate did not answer within 2 seconds.",
                "kind": "timeout",
                "effect": "none",
            }
        )
        assert quick["text"] == "quick"
        await settle()
        assert tool.ended == ["slow"]
        assert at.seen(ToolCallFailed)[0].duration == 2
        assert not at.seen(ToolCallLate)


async def test_a_time_limit_begins_with_publication_and_tools_may_set_it() -> None:
    tool, clock = SlowWrite(), FakeClock()
    async with stage(tool, clock=clock) as at:
        model = FakeModel(gate("a", "b", tool="slow_write"), Say("Done."))
        session = at.session(model, settings=ToolSettings(timeout=1, max_concurrent=1))
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: tool.running == ["a"])
        await clock.advance(5)
        await until(lambda: tool.running == ["b"])
        await clock.advance(4.5)
        tool.open("b")
        await running
        first, second = map(json.loads, results(model.requests[1].messages))
        assert (first["kind"], first["effect"]) == ("timeout", "unknown")
        assert second["ok"]


async def test_a_result_after_the_time_out_is_late_and_never_a_second_message() -> None:
    clock = FakeClock()
    async with stage(Stubborn(), clock=clock) as at:
        model = FakeModel(Say(calls=calls("stubborn")), Say("Done."))
        running = asyncio.ensure_future(at.session(model).run("Go"))
        await until(lambda: at.seen(ToolCallRequested))
        await clock.advance(30)
        await running
        await settle()
        late = at.seen(ToolCallLate)
        assert [(event.key, event.outcome) for event in late] == [(CallKey(0, 0), "completed")]
        assert len(results(at.conversation.messages)) == 1


async def test_cancelling_answers_every_open_call_and_the_next_message_works() -> None:
    tool, write = Gate(), SlowWrite()
    async with stage(tool, write) as at:
        three = Say(calls=(*gate("a", "b").calls, *gate("c", tool="slow_write").calls))
        model = FakeModel(three, Say("Fine."))
        session = at.session(model)
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: len(tool.running) == 2 and write.running)
        tool.open("a")
        await until(lambda: tool.running == ["b"] and at.seen(ToolCallCompleted))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        assert (tool.ended, write.ended) == (["b"], ["c"])
        assert [(e.key.slot, e.error.kind, e.error.effect) for e in at.seen(ToolCallFailed)] == [
            (1, ErrorKind.CANCELLED, Effect.NONE),
            (2, ErrorKind.CANCELLED, Effect.UNKNOWN),
        ]
        assert isinstance(at.events[-1], SessionCancelled)
        assert at.conversation.entries[0].stop_reason is StopReason.CANCELLED

        assert (await at.session(model).run("And now?")).text == "Fine."
        assert texts(model.requests)[1] == [
            "system", "user", "assistant", "tool", "tool", "tool", "user"
        ]  # fmt: skip
        assert "Cancelled by the user." in results(model.requests[1].messages)[1]


@pytest.mark.parametrize("rounds", range(8))
async def test_cancelling_twice_still_answers_the_calls_and_reports_the_end(rounds: int) -> None:
    tool = Gate()
    async with stage(tool) as at:
        running = asyncio.ensure_future(at.session(FakeModel(gate("a", "b"))).run("Go"))
        await until(lambda: len(tool.running) == 2)
        running.cancel()
        await settle(rounds)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        assert len(at.seen(SessionCancelled)) == 1
        assert not tool.running
        assert (await at.session(FakeModel(Say("Fine."))).run("And now?")).text == "Fine."


async def test_calls_that_wait_for_a_lane_are_answered_when_cancelled() -> None:
    tool = SlowWrite()
    async with stage(tool) as at:
        session = at.session(
            FakeModel(gate("a", "b", tool="slow_write")), settings=ToolSettings(max_concurrent=1)
        )
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: tool.running == ["a"])
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        effects = [event.error.effect for event in at.seen(ToolCallFailed)]
        assert effects == [Effect.UNKNOWN, Effect.NONE]
        assert len(at.seen(ToolCallRequested)) == 1


async def test_cancelling_while_the_model_replies_makes_the_usage_unknown() -> None:
    async with stage() as at:
        running = asyncio.ensure_future(at.session(FakeModel(Hang())).run("Go"))
        await until(lambda: at.seen(ModelRequestStarted))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        assert at.seen(SessionCancelled)[0].usage == Usage()
        question, reply = at.conversation.entries
        assert question.message == UserMessage("Go")
        assert reply.message == AssistantMessage("Well", provider="fake", model="fake-model")
        assert reply.state is MessageState.CANCELLED


async def test_a_failing_provider_ends_the_session_and_leaves_the_conversation_usable() -> None:
    async with stage() as at:
        model = FakeModel(TreadleError("No such key.", hint="Set one."), Say("Better."))
        with pytest.raises(TreadleError, match="No such key"):
            await at.session(model).run("Go")
        await settle()
        failed = at.seen(SessionFailed)[0]
        assert (failed.message, failed.hint) == ("No such key.", "Set one.")
        assert at.conversation.entries[0].stop_reason is StopReason.FAILED
        assert (await at.session(model).run("Again")).text == "Better."


async def test_an_unexpected_error_is_reported_without_secrets_and_raised() -> None:
    async with stage() as at:
        key = "sk-" + "a1B2" * 12
        with pytest.raises(RuntimeError):
            await at.session(FakeModel(RuntimeError(f"with {key}"))).run("Go")
        await settle()
        assert at.seen(SessionFailed)[0].message.startswith("Unexpected RuntimeError: with ")
        assert key not in at.seen(SessionFailed)[0].message


async def test_an_unknown_tool_is_answered_with_the_tools_and_the_loop_continues() -> None:
    async with stage(Echo()) as at:
        model = FakeModel(Say(calls=calls("sing")), Say(calls=calls("echo")), Say("Done."))
        outcome = await at.session(model).run("Go")
        assert outcome.stop_reason is StopReason.COMPLETED
        unknown, right = results(at.conversation.messages)
        assert json.loads(unknown)["kind"] == "unknown_tool"
        assert "echo" in json.loads(unknown)["hint"]
        assert said(right) == "Go"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (("sing", "{}"), StopReason.UNKNOWN_TOOLS),
        (("echo", '{"no": 1}'), StopReason.INVALID_CALLS),
        (("echo", "{"), StopReason.INVALID_CALLS),
    ],
)
async def test_invalid_calls_several_times_in_a_row_end_the_session(
    call: tuple[str, str], reason: StopReason
) -> None:
    async with stage(Echo()) as at:
        ill, well = Say("Trying.", calls=(call,)), Say(calls=calls("echo"))
        model = FakeModel(ill, ill, well, ill, ill, ill)
        outcome = await at.session(model).run("Go")
        assert (outcome.stop_reason, outcome.text, outcome.tool_calls) == (reason, "Trying.", 6)
        await settle()
        assert [notice.level for notice in at.seen(Notice)] == ["error"]


async def test_a_valid_call_next_to_an_invalid_one_keeps_the_session() -> None:
    async with stage(Echo()) as at:
        mixed = Say(calls=calls("sing", "echo"))
        model = FakeModel(*[mixed] * 4, Say("Done."))
        assert (await at.session(model).run("Go")).stop_reason is StopReason.COMPLETED


async def test_the_last_turn_offers_no_tools_and_says_so() -> None:
    async with stage(Echo()) as at:
        again = Say(calls=calls("echo"))
        model = FakeModel(again, again, Say("What I have."))
        outcome = await at.session(model, settings=ToolSettings(max_turns=3)).run("Go")
        assert (outcome.text, outcome.stop_reason) == ("What I have.", StopReason.TURN_LIMIT)
        assert [len(request.tools) for request in model.requests] == [1, 1, 0]
        assert isinstance(model.requests[2].messages[-1], NoteMessage)
        assert not any(isinstance(m, NoteMessage) for m in at.conversation.messages)


async def test_calls_at_the_last_turn_do_not_run() -> None:
    async with stage(Echo()) as at:
        again = Say("Once more.", calls=calls("echo"))
        outcome = await at.session(FakeModel(again, again), settings=ToolSettings(max_turns=2)).run(
            "Go"
        )
        assert (outcome.text, outcome.stop_reason) == ("Once more.", StopReason.TURN_LIMIT)
        assert json.loads(results(at.conversation.messages)[1])["kind"] == "limit"
        await settle()
        assert len(at.seen(ToolCallRequested)) == 1


async def test_a_session_without_tools_may_have_one_turn() -> None:
    async with stage() as at:
        model = FakeModel(Say("Hello."))
        outcome = await at.session(model, settings=ToolSettings(max_turns=1)).run("Hi")
        assert outcome.stop_reason is StopReason.COMPLETED


async def test_calls_of_a_filtered_reply_never_run() -> None:
    async with stage(Echo()) as at:
        cut = Say("The answer", calls=calls(("echo", '{"te')), finish_reason="content_filter")
        outcome = await at.session(FakeModel(cut)).run("Go")
        assert (outcome.text, outcome.stop_reason) == ("The answer", StopReason.CONTENT_FILTER)
        await settle()
        assert not at.seen(ToolCallRequested)
        assert [notice.text for notice in at.seen(Notice)] == [
            "The provider's content filter truncated the reply."
        ]
        assert at.conversation.messages[1:] == (
            AssistantMessage("The answer", provider="fake", model="fake-model"),
        )


async def test_complete_calls_of_a_truncated_reply_run() -> None:
    async with stage(Echo()) as at:
        whole, half = ("echo", '{"text": "a"}'), ("echo", '{"te')
        cut = Say(calls=(whole, half, ("echo", "")), finish_reason="length")
        outcome = await at.session(FakeModel(cut, Say("Done."))).run("Go")
        assert (outcome.text, outcome.tool_calls) == ("Done.", 1)
        first, *cut_off = results(at.conversation.messages)
        assert said(first) == "a"
        assert ["middle of this call" in content for content in cut_off] == [True, True]


async def test_an_empty_answer_is_not_kept_as_a_message() -> None:
    async with stage() as at:
        outcome = await at.session(FakeModel(Say(None))).run("Go")
        assert (outcome.text, outcome.stop_reason) == ("", StopReason.COMPLETED)
        assert at.conversation.messages == (UserMessage("Go"),)
        await settle()
        assert [notice.text for notice in at.seen(Notice)] == ["The model returned an empty reply."]


async def test_an_oversize_result_is_an_excerpt_for_the_model_and_on_the_bus() -> None:
    text = "bäh 🙂 "
    async with stage(Echo()) as at:
        call = Say(calls=(("echo", json.dumps({"text": text, "times": 60_000})),))
        model = FakeModel(call, Say("Done."))
        await at.session(model, settings=ToolSettings(result_tokens=500)).run("Go")
        (content,) = results(at.conversation.messages)
        assert estimate(content) <= 500
        shown = json.loads(content)
        assert shown["head"].startswith('{"ok":true')
        assert shown["tail"].endswith('"}')
        assert shown["characters"] > len(text) * 60_000
        assert at.seen(ToolCallCompleted)[0].content == content


async def test_repeated_calls_are_hinted_at_inside_the_json() -> None:
    async with stage(Echo()) as at:
        call = Say(calls=(("echo", json.dumps({"text": "wool " * 900})),))
        model = FakeModel(call, call, call, Say("Done."))
        await at.session(model, settings=ToolSettings(result_tokens=500)).run("Go")
        contents = results(at.conversation.messages)
        assert all(estimate(content) <= 500 for content in contents)
        assert ["repeated" in json.loads(content) for content in contents] == [False, False, True]


async def test_sessions_on_one_bus_do_not_receive_foreign_events() -> None:
    tool = Gate()
    async with stage(tool) as at:

        async def one(name: str) -> tuple[str, SessionOutcome]:
            own = conversation()
            model = FakeModel(gate(f"{name}1", f"{name}2"), Say(name))
            outcome = await at.session(model, conversation=own).run(name)
            return ",".join(str(said(content)) for content in results(own.messages)), outcome

        running = [asyncio.ensure_future(one(name)) for name in "abcde"]
        await until(lambda: len(tool.running) == 10)
        for name in reversed("abcde"):
            tool.open(f"{name}2")
            tool.open(f"{name}1")
        for name, (heard, outcome) in zip("abcde", await asyncio.gather(*running), strict=True):
            assert heard == f"{name}1,{name}2"
            assert outcome.text == name
        await settle()
        for started in at.seen(SessionStarted):
            assert len(at.seen(ToolCallCompleted, started.request_id)) == 2
            assert len(at.seen(SessionFinished, started.request_id)) == 1


async def test_call_keys_are_unique_over_a_conversation() -> None:
    async with stage(Echo()) as at:
        for _ in range(3):
            await at.session(FakeModel(Say(calls=calls("echo", "echo")), Say("Done."))).run("Go")
        keys = [m.key for m in at.conversation.messages if isinstance(m, ToolMessage)]
        assert len(set(keys)) == 6
        assert [p.turn for p in at.seen(PromptConstructed)] == sorted(
            p.turn for p in at.seen(PromptConstructed)
        )


async def test_unknown_usage_stays_unknown() -> None:
    async with stage(Echo()) as at:
        first = Say(calls=calls("echo"), usage=Usage(10, 5, None, 1), cost=None)
        outcome = await at.session(FakeModel(first, Say("Done."))).run("Go")
        assert outcome.usage == Usage(20, 10, None, 1)
        assert outcome.cost is None


async def test_automatic_context_precedes_the_message_once() -> None:
    asked: list[str] = []

    async def context(text: str, request_id: UUID) -> str:
        asked.append(text)
        return "<code>"

    async with stage(Echo()) as at:
        model = FakeModel(Say(calls=calls("echo")), Say("Done."))
        await at.session(model, automatic_context=context).run("Go")
        assert asked == ["Go"]
        assert [r.messages[1] for r in model.requests] == [UserMessage("Go", "<code>")] * 2


async def test_a_session_continues_without_automatic_context() -> None:
    async def context(text: str, request_id: UUID) -> str:
        raise TreadleError("The index cannot be read.")

    async with stage() as at:
        outcome = await at.session(FakeModel(Say("Hello.")), automatic_context=context).run("Hi")
        assert outcome.text == "Hello."
        await settle()
        assert "The index cannot be read." in at.seen(Notice)[0].text


async def test_the_message_is_kept_when_its_context_is_cancelled() -> None:
    async def context(text: str, request_id: UUID) -> str:
        await asyncio.Event().wait()
        return ""

    async with stage() as at:
        running = asyncio.ensure_future(
            at.session(FakeModel(), automatic_context=context).run("Hi")
        )
        await until(lambda: at.seen(SessionStarted))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert at.conversation.messages == (UserMessage("Hi"),)


async def test_a_session_serves_one_message() -> None:
    async with stage() as at:
        session = at.session(FakeModel(Say("Hello.")))
        await session.run("Hi")
        with pytest.raises(RuntimeError, match="one message"):
            await session.run("Hi")


async def test_a_message_above_the_window_is_a_clear_error() -> None:
    async with stage(Echo()) as at:
        with pytest.raises(TreadleError, match=r"window of 2,000") as caught:
            await at.session(FakeModel(context_window=2_000)).run("word " * 5_000)
        assert caught.value.hint
        assert (await at.session(FakeModel(Say("Yes."), context_window=2_000)).run("Hi")).text


async def test_a_role_has_its_own_prompt_and_ends_with_a_final_call() -> None:
    class Final(Echo):
        name = "final"

        def content(self, result: EchoResult) -> str:
            return result.text

    role = Role("data", "You read data.", frozenset({"final"}), ("mine",))
    async with stage(Echo(), Final()) as at:
        bad = ("final", '{"words": "no such argument"}')
        good = ("final", '{"text": "Here it is."}')
        model = FakeModel(Say(calls=(bad,)), Say(calls=(("echo", "{}"), good)))
        outcome = await at.session(model, role=role).run("Go")
        (started,) = at.seen(SessionStarted)
    assert model.requests[0].messages[0] == SystemMessage("You read data.")
    assert (outcome.text, outcome.stop_reason) == ("Here it is.", StopReason.COMPLETED)
    assert outcome.tool_calls == 3
    assert (started.agent, started.labels) == ("data", ("mine",))


async def test_a_role_may_set_the_limits_of_repeated_calls() -> None:
    role = Role("data", "", repetition_limits=RepetitionLimits(hint_at=2, stop_at=3))
    async with stage(Echo()) as at:
        again = Say(calls=(("echo", '{"text": "a"}'),))
        outcome = await at.session(FakeModel(again, again, again), role=role).run("Go")
    assert outcome.stop_reason is StopReason.REPEATED_CALLS
    assert [
        "the loop ends soon" in message.content
        for message in at.conversation.messages
        if isinstance(message, ToolMessage)
    ] == [False, True, True]
