"""The turns under way over one repository: begun, steered and cancelled by whoever has their ids.

A conversation serves one message after the other; a message sent meanwhile waits its turn.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from treadle.app.assistant import Assistant, Choices
from treadle.app.tool_calls import ToolCalls
from treadle.clock import Clock
from treadle.config.model import Settings
from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.events.types import MessageQueued
from treadle.ids import new_id
from treadle.llm import kept_keys
from treadle.session import Conversation, RequestSession, SessionOutcome

ENDED_KEPT = 1_000
"""Ended turns whose outcome can still be asked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a person and what is done for it; its events bear `request_id`.

    `agent` is the one that was asked, None for the assistant.
    """

    request_id: UUID
    conversation_id: UUID
    task: "asyncio.Task[SessionOutcome]"
    agent: str | None = None


class Turns:
    """Begins turns over tools that are served already. Leaving it cancels what still runs."""

    def __init__(
        self,
        calls: ToolCalls,
        settings: Settings,
        env: Mapping[str, str],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._calls = calls
        self._settings = settings
        self._env = env
        self._clock = clock
        self._stack = AsyncExitStack()
        self._assistants: dict[tuple[Choices, kept_keys.Stamp], Assistant] = {}
        self._opening = asyncio.Lock()
        self._places: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One for each conversation: who holds it is served."""
        self._turns: dict[UUID, Turn] = {}
        self._sessions: dict[UUID, RequestSession] = {}
        """Of the turns that are served now."""

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        running = [turn.task for turn in self._turns.values() if not turn.task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._stack.__aexit__(kind, error, trace)

    async def assistant(self, choices: Choices | None = None) -> Assistant:
        """The assistant of such turns, opened when first needed. Raises ProviderError."""
        choices = choices or Choices()
        place = choices, kept_keys.stamp()  # after a key was entered it is connected to anew
        async with self._opening:
            if place not in self._assistants:
                opening = Assistant.over(
                    self._calls, self._settings, self._env,
                    request_id=new_id(), choices=choices, clock=self._clock,
                )  # fmt: skip
                self._assistants[place] = await self._stack.enter_async_context(opening)
        return self._assistants[place]

    async def begin(
        self,
        text: str,
        *,
        session: str | None = None,
        choices: Choices | None = None,
        front_end: str | None = None,
    ) -> Turn:
        """Serve a message in the conversation `session` (an id, a prefix, "last") or a new one.

        Returns at once: the turn's `task` gives its outcome. `front_end` runs the external tools.
        Raises UsageError, NotFoundError, StoreError and ProviderError.
        """
        if not text.strip():
            raise UsageError("The message is empty.", hint="Set `text` to the message.")
        assistant = await self.assistant(choices)
        conversation = await assistant.conversation(session)
        request_id = new_id()
        if front_end is not None:
            self._calls.bridge.attach(front_end, request_id)
        serving = self._serve(text, request_id, conversation, assistant)
        return self._add(request_id, conversation.id, serving)

    def begin_asking(
        self,
        request_id: UUID,
        asking: Coroutine[Any, Any, SessionOutcome],
        conversation: Conversation,
        front_end: str | None,
    ) -> Turn:
        """Run what an agent is asked as a turn, which is then shown and cancelled as any other.

        `front_end` runs the external tools.
        """
        if front_end is not None:
            self._calls.bridge.attach(front_end, request_id)

        async def asked() -> SessionOutcome:
            try:
                return await asking
            finally:
                self._calls.bridge.release(request_id)

        return self._add(request_id, conversation.id, asked(), conversation.agent)

    def _add(
        self,
        request_id: UUID,
        conversation_id: UUID,
        serving: Coroutine[Any, Any, SessionOutcome],
        agent: str | None = None,
    ) -> Turn:
        task = asyncio.create_task(serving, name=f"turn {request_id}")
        task.add_done_callback(_retrieve)
        self._forget_old()
        self._turns[request_id] = Turn(request_id, conversation_id, task, agent)
        return self._turns[request_id]

    def turn(self, request_id: UUID) -> Turn:
        """The turn of that id, running or ended. Raises NotFoundError."""
        turn = self._turns.get(request_id)
        if turn is None:
            raise NotFoundError(
                f"There is no turn {request_id}.", hint="It may have ended long ago."
            )
        return turn

    def running(self) -> tuple[Turn, ...]:
        """The turns that are served or wait, oldest first."""
        return tuple(turn for turn in self._turns.values() if not turn.task.done())

    async def steer(self, request_id: UUID, text: str) -> bool:
        """Give the model a further message with its next request; False when it is too late.

        Raises NotFoundError, and UsageError for an empty message.
        """
        if not text.strip():
            raise UsageError("The message is empty.", hint="Set `text` to the message.")
        session = self._sessions.get(self.turn(request_id).request_id)
        return session is not None and await session.steer(text)

    def cancel(self, request_id: UUID) -> bool:
        """End a turn; False when it has ended already. Raises NotFoundError."""
        return self.turn(request_id).task.cancel()

    async def _serve(
        self, text: str, request_id: UUID, conversation: Conversation, assistant: Assistant
    ) -> SessionOutcome:
        place = self._places[conversation.id]
        try:
            if place.locked():
                await self._calls.bus.publish(
                    MessageQueued(request_id=request_id, parent_id=None, text=text)
                )
            async with place:
                if conversation.entries:  # others may have added to it while this waited
                    conversation = await assistant.conversation(str(conversation.id))
                session = assistant.session(conversation, request_id)
                self._sessions[request_id] = session
                outcome = await session.run(text)
        finally:
            self._sessions.pop(request_id, None)
            self._calls.bridge.release(request_id)
        for unserved in session.unserved:
            await self.begin(unserved, session=str(conversation.id), choices=assistant.choices)
        return outcome

    def _forget_old(self) -> None:
        ended = [turn for turn in self._turns.values() if turn.task.done()]
        for turn in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self._turns[turn.request_id]


def _retrieve(task: "asyncio.Task[SessionOutcome]") -> None:
    """Store a failure that its events have reported."""
    with contextlib.suppress(asyncio.CancelledError, TreadleError):
        task.result()
