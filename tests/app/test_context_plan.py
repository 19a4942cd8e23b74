"""The plan of the next prompt equals the prompt that the model then receives."""

from pathlib import Path

import pytest

from tests.app.desk import Desk
from tests.fakes.model import FakeModel, Say, calls
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.context_choices import ChoicesChange, change_choices
from treadle.app.context_plan import (
    ContextPlan,
    ItemState,
    PlanItem,
    SectionKind,
    plan_next,
)
from treadle.clock import SystemClock
from treadle.errors import NotFoundError, PathRefusedError
from treadle.events import EventBus
from treadle.events.types import PromptConstructed
from treadle.ids import new_id
from treadle.llm.messages import ChatRequest, NoteMessage, ToolMessage, UserMessage
from treadle.session import Conversation
from treadle.session.attachments import CodeAttachment, ItemAttachment, TextAttachment
from treadle.session.cassette import Cassette
from treadle.session.conversation_writer import ConversationWriter
from treadle.session.recorder import SessionRecording
from treadle.session.replay import replaying, still_clock

READ = calls(("read_file", '{"path": "calc.py"}'))


def exchange(number: int) -> list[Say]:
    """Replies with a call and an answer that grow with the number."""
    return [Say(None, READ), Say(f"Answer {number}. " + "Some words. " * 40 * number)]


async def talk(desk: Desk, count: int) -> tuple[Assistant, Conversation]:
    """A saved conversation with `count` exchanges."""
    says = [say for number in range(count) for say in exchange(number)]
    assistant = Assistant(desk.app, Choices(), FakeModel(*says))
    conversation = await assistant.conversation()
    for number in range(count):
        session = await assistant.session(conversation, new_id())
        await session.run(f"Question {number}?")
    return assistant, await desk.app.conversations.load(str(conversation.id))


async def next_request(
    desk: Desk, assistant: Assistant, conversation: Conversation
) -> tuple[ChatRequest, PromptConstructed]:
    """Send the next message; the first request and the event about its prompt."""
    model = FakeModel(Say("Done."), context_window=assistant.model.context_window)
    assistant = Assistant(desk.app, Choices(), model, assistant.calibration)
    session = await assistant.session(conversation, new_id())
    with desk.app.bus.subscribe(PromptConstructed) as events:
        await session.run("Next?")
        events.close()
        (event,) = [
            each.event async for each in events if isinstance(each.event, PromptConstructed)
        ]
    assert isinstance(event, PromptConstructed)
    return model.requests[0], event


def section(plan: ContextPlan, kind: SectionKind) -> tuple[PlanItem, ...]:
    return next((each.items for each in plan.sections if each.kind is kind), ())


def states(plan: ContextPlan, kind: SectionKind) -> dict[str, ItemState]:
    return {item.name: item.state for item in section(plan, kind)}


@pytest.mark.parametrize(
    ("window", "scale", "too_small"),
    [
        (4_500, 0.7, True),
        (6_000, 1.37, True),
        (9_000, 1.37, True),
        (30_000, 0.7, False),
        (30_000, 1.37, False),
    ],
)
async def test_plan_has_the_tokens_and_messages_of_the_next_request(
    desk: Desk, window: int, scale: float, too_small: bool
) -> None:
    assistant, conversation = await talk(desk, 7)
    assistant.model = FakeModel(context_window=window)
    assistant.calibration.learn(assistant.model, 1_000, int(1_000 * scale))
    plan = await plan_next(assistant, conversation, "Next?")
    request, event = await next_request(desk, assistant, conversation)
    assert plan.tokens == event.estimated_tokens
    assert plan.tokens == sum(item.tokens for part in plan.sections for item in part.items)
    assert (plan.window, plan.budget) == (window, event.budget_tokens)
    assert plan.calibration == pytest.approx(scale)
    assert plan.tokens <= event.budget_tokens
    offered = {tool.name for tool in request.tools}
    for name, state in states(plan, SectionKind.TOOLS).items():
        assert (name in offered) == (state is ItemState.WHOLE)
    asked = {m.text for m in request.messages if isinstance(m, UserMessage)}
    for item in section(plan, SectionKind.HISTORY):
        title = "Next?" if item.name == "next message" else item.name
        assert (title in asked) == (item.state is not ItemState.LEFT_OUT)
        assert item.tokens <= item.whole_tokens
        assert (item.reason is None) == (item.state is ItemState.WHOLE)
    results = sum(isinstance(m, ToolMessage) for m in request.messages)
    sent = [i for i in section(plan, SectionKind.RESULTS) if i.state is not ItemState.LEFT_OUT]
    assert len(sent) == results
    left_out = states(plan, SectionKind.HISTORY)["Question 0?"] is ItemState.LEFT_OUT
    assert left_out == (event.left_out > 0) == too_small


async def test_summarized_exchanges_are_marked(desk: Desk) -> None:
    assistant, conversation = await talk(desk, 3)
    store = await desk.app.conversations.store()
    writer = ConversationWriter(conversation, store, SystemClock())
    covers = len(conversation.entries) - 4
    await writer.append(NoteMessage("Summary: the person asked twice.", covers))
    conversation = await desk.app.conversations.load("last")
    plan = await plan_next(assistant, conversation, "Next?")
    assert states(plan, SectionKind.HISTORY) == {
        f"summary of the first {covers} messages": ItemState.WHOLE,
        "Question 0?": ItemState.SUMMARIZED,
        "Question 1?": ItemState.SUMMARIZED,
        "Question 2?": ItemState.WHOLE,
        "next message": ItemState.WHOLE,
    }
    request, event = await next_request(desk, assistant, conversation)
    assert plan.tokens == event.estimated_tokens
    assert isinstance(request.messages[1], NoteMessage)


async def test_left_out_exchanges_and_tools_are_not_in_the_next_request(desk: Desk) -> None:
    assistant, conversation = await talk(desk, 3)
    starts = [e.number for e in conversation.entries if isinstance(e.message, UserMessage)]
    change = ChoicesChange(left_out=frozenset({starts[1]}), tools_left_out=frozenset({"grep"}))
    before = await plan_next(assistant, conversation, "Next?")
    await change_choices(desk.app, "last", change)
    conversation = await desk.app.conversations.load("last")
    plan = await plan_next(assistant, conversation, "Next?")
    left_out = section(plan, SectionKind.HISTORY)[1]
    assert (left_out.state, left_out.reason) == (ItemState.LEFT_OUT, "You left it out.")
    assert left_out.message == starts[1]
    assert plan.tokens < before.tokens
    request, event = await next_request(desk, assistant, conversation)
    asked = [m.text for m in request.messages if isinstance(m, UserMessage)]
    assert asked == ["Question 0?", "Question 2?", "Next?"]
    assert "grep" not in {tool.name for tool in request.tools}
    assert plan.tokens == event.estimated_tokens
    changed = await change_choices(desk.app, "last", ChoicesChange(left_out=frozenset()))
    assert changed.choices.tools_left_out == {"grep"}
    assert not changed.choices.left_out


async def test_pinned_code_is_sent_with_its_current_bytes(desk: Desk) -> None:
    assistant, _ = await talk(desk, 1)
    pins = CodeAttachment("calc.py", 1, 2), ItemAttachment("calc.Sum")
    await change_choices(desk.app, "last", ChoicesChange(pinned=pins))
    (desk.root / "calc.py").write_text("def new():\n    return 1\n\n\nclass Sum:\n    pass\n")
    conversation = await desk.app.conversations.load("last")
    plan = await plan_next(assistant, conversation, "Next?")
    assert [item.name for item in section(plan, SectionKind.PINNED)] == [
        "calc.py:1-2",
        "calc.Sum (calc.py:5-6)",
    ]
    request, event = await next_request(desk, assistant, conversation)
    *_, last = request.messages
    assert isinstance(last, UserMessage)
    assert "def new()" in last.attached[0].text
    assert all(each.pinned for each in last.attached)
    assert plan.tokens == event.estimated_tokens
    saved = (await desk.app.conversations.load("last")).messages[-2]
    assert isinstance(saved, UserMessage)
    assert saved.attached == ()


async def test_pinned_code_that_is_gone_is_reported_and_not_sent(desk: Desk) -> None:
    assistant, _ = await talk(desk, 1)
    await change_choices(desk.app, "last", ChoicesChange(pinned=(CodeAttachment("calc.py"),)))
    (desk.root / "calc.py").unlink()
    conversation = await desk.app.conversations.load("last")
    plan = await plan_next(assistant, conversation)
    (note,) = plan.notes
    assert note.startswith("Pinned code is missing from the prompt: calc.py does not exist.")
    request, _ = await next_request(desk, assistant, conversation)
    assert isinstance(request.messages[-1], UserMessage)
    assert request.messages[-1].attached == ()


async def test_attached_code_is_a_section_of_the_plan(desk: Desk) -> None:
    assistant, conversation = await talk(desk, 1)
    attached = await assistant.attach(
        [CodeAttachment("calc.py", 1, 2), TextAttachment("a paste", "words " * 50)], conversation
    )
    plan = await plan_next(assistant, conversation, "Next?", attached)
    items = section(plan, SectionKind.ATTACHED)
    assert [item.name for item in items] == ["calc.py:1-2", "a paste"]
    assert all(item.tokens > 40 for item in items)


async def test_a_message_that_does_not_fit_has_a_plan_with_the_problem(desk: Desk) -> None:
    assistant, conversation = await talk(desk, 1)
    assistant.model = FakeModel(context_window=2_000)
    plan = await plan_next(assistant, conversation, "many words " * 2_000)
    assert plan.problem is not None
    assert plan.budget is not None
    assert plan.tokens > plan.budget


async def test_choices_about_what_does_not_exist_are_refused(desk: Desk) -> None:
    await talk(desk, 1)
    for change, kind in (
        (ChoicesChange(left_out=frozenset({1})), NotFoundError),
        (ChoicesChange(tools_left_out=frozenset({"grop"})), NotFoundError),
        (ChoicesChange(pinned=(CodeAttachment("absent.py"),)), NotFoundError),
        (ChoicesChange(pinned=(CodeAttachment(".env"),)), PathRefusedError),
    ):
        with pytest.raises(kind):
            await change_choices(desk.app, "last", change)
    assert (await desk.app.conversations.load("last")).choices.pinned == ()


async def test_a_replay_repeats_pinned_and_attached_code(desk: Desk, tmp_path: Path) -> None:
    await talk(desk, 2)
    start = ChoicesChange(pinned=(CodeAttachment("calc.py", 1, 2),), left_out=frozenset({0}))
    conversation = await change_choices(desk.app, "last", start)
    assistant = Assistant(desk.app, Choices(), FakeModel(Say(None, READ), Say("Done.")))
    attached = await assistant.attach([TextAttachment("a paste", "pasted")], conversation)
    tape, request_id = tmp_path / "tape.jsonl", new_id()
    async with SessionRecording(tape, desk.app.bus, request_id) as recording:
        session = await assistant.session(conversation, request_id, recording)
        recording.attachments(attached)
        await session.run("Next?", attached)
    (desk.root / "calc.py").unlink()
    cassette = Cassette.load(tape)
    assert [each.texts[0].name for each in cassette.pinned] == ["calc.py:1-2", "calc.py:1-2"]
    async with replaying(cassette, EventBus(still_clock(cassette))) as again:
        outcome = await again.run(cassette.question, cassette.attachments)
    assert outcome.text == "Done."
