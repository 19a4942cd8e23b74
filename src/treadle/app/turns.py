"""Starts, steers and cancels the turns of one repository by their ids.

A conversation serves one message at a time. Further messages wait.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from treadle.agents.page_context import PageContext
from treadle.app.agents import AgentService
from treadle.app.application import App
from treadle.app.assistant import Assistant, Choices
from treadle.app.attachments import Attachment
from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.ids import new_id
from treadle.llm import saved_keys
from treadle.llm.messages import UserMessage
from treadle.session import Conversation, RequestSession, SessionOutcome
from treadle.session.attachments import ResolvedAttachments

ENDED_KEPT = 1_000
"""The number of ended turns whose outcome stays available."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a person and the task that serves it. Its events have the id `request_id`.

    `agent` is the agent that answers, None for the assistant.
    """

    request_id: UUID
    conversation_id: UUID
    task: "asyncio.Task[SessionOutcome]"
    agent: str | None = None


class Turns:
    """Starts turns. The end of the context cancels the turns that still run."""

    def __init__(self, app: App, agents: AgentService) -> None:
        self._app = app
        self._agents = agents
        self._stack = AsyncExitStack()
        self._assistants: dict[tuple[Choices, saved_keys.Stamp], Assistant] = {}
        self._opening = asyncio.Lock()
        self._turns: dict[UUID, Turn] = {}
        self._sessions: dict[UUID, RequestSession] = {}
        """The sessions of the turns that are served now."""

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

    async def start(
        self,
        text: str,
        *,
        session: str | None = None,
        attachments: Sequence[Attachment] = (),
        choices: Choices | None = None,
        front_end: str | None = None,
    ) -> Turn:
        """Send a message to the assistant, in the conversation `session` or in a new one.

        `session` is an id, an id prefix or "last". The method reads the attachments and returns:
        the turn's `task` has the outcome. `front_end` runs the external tools. Raises UsageError,
        NotFoundError, PathRefusedError, StoreError and ProviderError.
        """
        _check_text(text)
        assistant = await self._assistant(choices or Choices())
        existing = None if session is None else await assistant.conversation(session)
        resolved = await assistant.attach(attachments, existing)
        conversation = existing or await assistant.conversation()
        request_id = new_id()
        serving = self._serve(text, resolved, request_id, conversation, assistant)
        return self._start(request_id, conversation, serving, front_end)

    async def start_question(
        self,
        question: str,
        page: PageContext,
        *,
        agent: str,
        conversation: str | None = None,
        model: str | None = None,
        stream: bool = True,
        front_end: str | None = None,
    ) -> Turn:
        """Send a question to an agent, with the content of the page of the person.

        `conversation` is an id, an id prefix or "last". Raises the errors of
        `AgentService.conversation`.
        """
        request_id = new_id()
        opened = await self._agents.conversation(conversation, agent=agent)
        answering = self._agents.ask(
            question, page, request_id=request_id, conversation=opened, model=model, stream=stream
        )
        return self._start(request_id, opened, answering, front_end)

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
        """Add a message to the next request of the model. Returns False if it is too late.

        Raises NotFoundError, and UsageError for an empty message.
        """
        _check_text(text)
        session = self._sessions.get(self.turn(request_id).request_id)
        return session is not None and await session.steer(text)

    def cancel(self, request_id: UUID) -> bool:
        """End a turn. Returns False if it has already ended. Raises NotFoundError."""
        return self.turn(request_id).task.cancel()

    async def _assistant(self, choices: Choices) -> Assistant:
        key = choices, saved_keys.stamp()  # a new API key needs a new connection
        async with self._opening:
            if key not in self._assistants:
                opening = Assistant.open(self._app, request_id=new_id(), choices=choices)
                self._assistants[key] = await self._stack.enter_async_context(opening)
        return self._assistants[key]

    def _start(
        self,
        request_id: UUID,
        conversation: Conversation,
        serving: Coroutine[Any, Any, SessionOutcome],
        front_end: str | None,
    ) -> Turn:
        bridge = self._app.bridge
        if front_end is not None:
            bridge.attach(front_end, request_id)

        task = asyncio.create_task(serving, name=f"turn {request_id}")
        task.add_done_callback(_retrieve)
        task.add_done_callback(lambda _: bridge.release(request_id))
        self._forget_old()
        turn = Turn(request_id, conversation.id, task, conversation.agent)
        self._turns[request_id] = turn
        return turn

    async def _serve(
        self,
        text: str,
        attachments: ResolvedAttachments,
        request_id: UUID,
        conversation: Conversation,
        assistant: Assistant,
    ) -> SessionOutcome:
        message = UserMessage(text, attached=attachments.texts)
        async with self._app.conversations.reserve(conversation, message, request_id) as reserved:
            session = await assistant.session(reserved, request_id)
            self._sessions[request_id] = session
            try:
                outcome = await session.run(text, attachments)
            finally:
                del self._sessions[request_id]
        for unserved in session.unserved:
            await self.start(unserved, session=str(conversation.id), choices=assistant.choices)
        return outcome

    def _forget_old(self) -> None:
        ended = [turn for turn in self._turns.values() if turn.task.done()]
        for turn in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self._turns[turn.request_id]


def _check_text(text: str) -> None:
    if not text.strip():
        raise UsageError("The message is empty.", hint="Set `text` to the message.")


def _retrieve(task: "asyncio.Task[SessionOutcome]") -> None:
    """Retrieve a failure, which the events of the turn have reported."""
    with contextlib.suppress(asyncio.CancelledError, TreadleError):
        task.result()
