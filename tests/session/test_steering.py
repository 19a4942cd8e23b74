"""Messages that are sent while a turn runs, and many turns at once on one bus."""

import asyncio

from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, Gate, conversation, results, stage
from treadle.config.model import ToolSettings
from treadle.events.types import (
    MessageQueued,
    MessageSteered,
    SessionFinished,
    SessionStarted,
    ToolCallCompleted,
    ToolCallRequested,
)
from treadle.llm.messages import ChatRequest, UserMessage


def said(request: ChatRequest) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


async def test_a_steering_message_follows_the_results() -> None:
    gate = Gate()
    async with stage(gate) as at:
        model = FakeModel(Say(calls=calls(("gate", '{"text": "a"}'))), Say("Both."))
        session = at.session(model)
        running = asyncio.ensure_future(session.run("Go"))
        await gate.entered("a")
        assert await session.steer("And that?")
        gate.open("a")
        assert (await running).text == "Both."
        assert not await session.steer("Too late")
        kinds = [type(message).__name__ for message in model.requests[1].messages]
        assert kinds[-2:] == ["ToolMessage", "UserMessage"]
        assert said(model.requests[1]) == ["Go", "And that?"]
        assert [event.steers for event in at.seen(MessageQueued)] == [True]
        assert [event.text for event in at.seen(MessageSteered)] == ["And that?"]


async def test_an_answer_before_the_steering_message_is_kept() -> None:
    async with stage() as at:
        model = FakeModel(lambda _: Say("One."), Say("Two."))
        session = at.session(model)

        async def steer_while_it_replies(request: ChatRequest) -> None:
            await session.steer("More?")

        complete = model.complete

        async def slow(request: ChatRequest, observer: object) -> object:
            if len(model.requests) == 0:
                await steer_while_it_replies(request)
            return await complete(request, observer)  # type: ignore[arg-type]  # passed on

        model.complete = slow  # type: ignore[method-assign, assignment]  # the door in the middle
        assert (await session.run("Go")).text == "Two."
        assert [getattr(m, "text", None) for m in at.conversation.messages] == [
            "Go",
            "One.",
            "More?",
            "Two.",
        ]


async def test_unserved_steering_messages_are_returned() -> None:
    gate = Gate()
    async with stage(gate) as at:
        model = FakeModel(Say(calls=calls(("gate", '{"text": "a"}'))))
        session = at.session(model, settings=ToolSettings(max_turns=1))
        await session.steer("First thing")
        running = asyncio.ensure_future(session.run("Go"))
        await running
        assert session.unserved == ()
        assert said(model.requests[0]) == ["Go", "First thing"]


async def test_many_sessions_on_one_bus_receive_only_their_events() -> None:
    async with stage(Echo()) as at:

        async def one(number: int) -> None:
            text = f"I am {number}"
            model = FakeModel(
                *[Say(calls=calls("echo", ("echo", f'{{"text": "{number}"}}')))] * 3,
                Say(f"Done {number}."),
            )
            own = conversation()
            session = at.session(model, conversation=own)
            outcome = await session.run(text)
            assert outcome.text == f"Done {number}."
            contents = "".join(results(own.messages))
            assert contents.count(f'"{number}"') == contents.count(f'"{text}"') == 3
            assert len(results(own.messages)) == 6
            asked = {event.key for event in at.seen(ToolCallRequested, session.request_id)}
            done = {event.key for event in at.seen(ToolCallCompleted, session.request_id)}
            assert asked == done
            assert len(done) == 6

        await asyncio.gather(*(one(number) for number in range(60)))
        assert len(at.seen(SessionStarted)) == len(at.seen(SessionFinished)) == 60
