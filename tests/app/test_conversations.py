"""The conversation service that the assistant and the agents share."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio

from treadle.app.conversations import Conversations, TurnRunningError
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.changes import ConversationChanged
from treadle.events.types import MessageQueued, StopReason
from treadle.ids import new_id
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session import Conversation
from treadle.session.conversation_writer import ConversationWriter

CLOCK = SystemClock()


@pytest_asyncio.fixture
async def service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Conversations, EventBus]]:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    bus = EventBus(CLOCK)
    async with Conversations(tmp_path, bus, CLOCK, Stores.of_user()) as conversations:
        yield conversations, bus


async def answer(
    conversations: Conversations, conversation: Conversation, text: str, request_id: UUID
) -> list[str]:
    """Serve a message; the texts that its session finds in the conversation."""
    message = UserMessage(text)
    async with conversations.reserve(conversation, message, request_id) as reserved:
        found = [str(entry.message.text) for entry in reserved.entries]  # type: ignore[union-attr]
        await asyncio.sleep(0)
        writer = ConversationWriter(reserved, await conversations.store(), CLOCK)
        await writer.append(message, AssistantMessage(f"Answer to {text}"), request_id=request_id)
    return found


async def test_a_second_message_waits_and_sees_the_first(
    service: tuple[Conversations, EventBus],
) -> None:
    conversations, bus = service
    conversation = await conversations.create("fake/model")
    first, second = new_id(), new_id()
    with bus.subscribe(MessageQueued) as events:
        found = await asyncio.gather(
            answer(conversations, conversation, "one", first),
            answer(conversations, conversation, "two", second),
        )
        events.close()
        queued = [envelope.event.request_id async for envelope in events]
    assert list(found) == [[], ["one", "Answer to one"]]
    assert queued == [second]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(StoreError("broken"), StopReason.FAILED), (asyncio.CancelledError(), StopReason.CANCELLED)],
)
async def test_a_message_whose_session_does_not_start_is_saved(
    service: tuple[Conversations, EventBus], error: BaseException, reason: StopReason
) -> None:
    conversations, _ = service
    conversation = await conversations.create("fake/model")
    with pytest.raises(type(error)):
        async with conversations.reserve(conversation, UserMessage("why?"), new_id()):
            raise error
    (entry,) = (await conversations.load("last")).entries
    assert (entry.message, entry.stop_reason) == (UserMessage("why?"), reason)


async def test_without_a_store_messages_are_served_but_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "data" / "conversations.db").mkdir(parents=True)
    async with Conversations(tmp_path, EventBus(CLOCK), CLOCK, Stores.of_user()) as conversations:
        conversation = await conversations.create("fake/model", agent="data")
        assert await answer(conversations, conversation, "one", new_id()) == []
        assert conversations.unsaved is not None
        with pytest.raises(StoreError):
            await conversations.load("last")


async def test_each_change_of_a_conversation_is_announced(
    service: tuple[Conversations, EventBus],
) -> None:
    conversations, bus = service
    conversation = await conversations.create("fake/model")
    await answer(conversations, conversation, "One", new_id())
    await answer(conversations, conversation, "Two", new_id())
    reference = str(conversation.id)
    with bus.subscribe(ConversationChanged) as events:
        await conversations.rename(reference, "A new title")
        await conversations.branch(reference, 1)
        await conversations.delete(reference)
        events.close()
        heard = [envelope.event async for envelope in events]
    changes = [event for event in heard if isinstance(event, ConversationChanged)]
    assert [(each.conversation_id, each.gone) for each in changes] == [
        (reference, False),
        (reference, False),
        (reference, True),
    ]


async def test_branches_of_a_conversation_are_counted(
    service: tuple[Conversations, EventBus],
) -> None:
    conversations, _ = service
    conversation = await conversations.create("fake/model")
    reference, store = str(conversation.id), await conversations.open_store()

    async def branches() -> int:
        return (await store.list())[0].branches

    assert await branches() == 0
    await answer(conversations, conversation, "One", new_id())
    await answer(conversations, conversation, "Two", new_id())
    assert await branches() == 1
    await answer(conversations, await conversations.branch(reference, 1), "Other", new_id())
    assert await branches() == 2


async def test_conversation_of_a_running_turn_is_neither_branched_nor_deleted(
    service: tuple[Conversations, EventBus],
) -> None:
    conversations, _ = service
    conversation = await conversations.create("fake/model")
    await answer(conversations, conversation, "One", new_id())
    reference = str(conversation.id)
    async with conversations.reserve(conversation, UserMessage("Two"), new_id()):
        with pytest.raises(TurnRunningError, match="conversation “One” is running"):
            await conversations.branch(reference, 1)
        with pytest.raises(TurnRunningError):
            await conversations.delete(reference)
    assert (await conversations.show(reference)).conversation.id == conversation.id
