"""Saved conversations for tests of overlays, without a provider."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from textual.screen import Screen

from tests.tui.terminal import Terminal
from treadle.app.conversations import Conversations
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.events import EventBus
from treadle.events.types import StopReason
from treadle.ids import new_id
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session.conversation_writer import ConversationWriter
from treadle.tui.screens.picker import Picker

CLOCK = SystemClock()


async def saved(terminal: Terminal, prompts: Sequence[str], *, at: int | None = None) -> UUID:
    """Save a conversation with these prompts, or add them to the last one after message `at`."""
    async with Conversations(
        terminal.root, EventBus(CLOCK), CLOCK, Stores.of_user()
    ) as conversations:
        if at is None:
            conversation = await conversations.create("custom/fake-model")
        else:
            conversation = await conversations.branch("last", at)
        writer = ConversationWriter(conversation, await conversations.store(), CLOCK)
        for prompt in prompts:
            await writer.append(UserMessage(prompt), request_id=new_id())
            asked = conversation.entries[-1]
            await writer.append(AssistantMessage(f"Answer to {prompt}"))
            await writer.end_turn(asked, StopReason.COMPLETED)
        return conversation.id


async def opened(terminal: Terminal, action: str) -> None:
    """Open an overlay, and wait until it shows its rows."""
    assert await terminal.app.run_named(action)
    await rows_shown(terminal, Picker)  # type: ignore[type-abstract]


async def rows_shown(terminal: Terminal, kind: type[Picker[Any, Any]]) -> None:
    """Wait until a picker of this class is open and shows its rows."""

    def holds() -> bool:
        screen = terminal.app.screen
        return isinstance(screen, kind) and screen.highlighted is not None

    await terminal.until(holds)


async def on(terminal: Terminal, kind: type[Screen[Any]]) -> None:
    """Wait until a screen of this class is open."""
    await terminal.until(lambda: isinstance(terminal.app.screen, kind))
