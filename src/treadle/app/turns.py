"""Starts, steers and cancels the turns of one repository.

A turn here is the processing of one message until its answer. The turns of a conversation run one
after another.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from treadle.agents.page_context import PageContext
from treadle.app.agents import AgentService
from treadle.app.application import App
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.context_plan import ContextPlan, plan_next
from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.events.types import Mode, SessionCancelled, SessionFailed, Usage
from treadle.ids import new_id
from treadle.llm import saved_keys
from treadle.session import Conversation, RequestSession, SessionOutcome
from treadle.session.attachments import Attachment, ResolvedAttachments

ENDED_KEPT = 1_000
"""The number of ended turns whose outcome is kept in memory."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a person, and the task that answers it.

    Events of the turn contain `request_id`. `agent` is the name of the agent that answers, and None
    for the assistant.
    """

    request_id: UUID
    conversation_id: UUID
    task: "asyncio.Task[SessionOutcome]"
    agent: str | None = None


class Turns:
    """Starts and finds turns. The end of the context cancels the turns that are still running."""

    def __init__(self, app: App, agents: AgentService) -> None:
        self._app = app
        self._agents = agents
        self._stack = AsyncExitStack()
        self._assistants: dict[tuple[Choices, saved_keys.Stamp], Assistant] = {}
        self._opening = asyncio.Lock()
        self._turns: dict[UUID, Turn] = {}
        self._sessions: dict[UUID, RequestSession] = {}
        """The sessions of the assistant's running turns. A turn that waits has no session yet."""
        self._begun: set[UUID] = set()
        """The running turns whose session publishes their end."""
        self._reports: set[asyncio.Task[None]] = set()

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
        await asyncio.gather(*self._reports, return_exceptions=True)
        await self._stack.__aexit__(kind, error, trace)

    async def start(
        self,
        text: str,
        *,
        session: str | None = None,
        attachments: Sequence[Attachment] = (),
        choices: Choices | None = None,
        mode: Mode | None = None,
        front_end: str | None = None,
    ) -> Turn:
        """Send a message to the assistant, and return the turn without waiting for the answer.

        `session` is the conversation to continue: an id, a prefix of an id, or "last". None starts
        a new conversation. The method reads the attachments before it returns. The `task` of the
        turn returns the outcome. If the person chose a `mode`, the conversation gets it.
        `front_end` names the front end that runs the external tools.
        Raises UsageError, NotFoundError, PathRefusedError, StoreError and ProviderError.
        """
        _check_text(text)
        assistant = await self._assistant(choices or Choices())
        existing = None if session is None else await assistant.conversation(session, mode=mode)
        resolved = await assistant.attach(attachments, existing)
        conversation = existing or await assistant.conversation(mode=mode)
        request_id = new_id()
        serving = self._serve(text, resolved, request_id, conversation, assistant)
        turn = self._start(request_id, conversation, serving, front_end)
        turn.task.add_done_callback(partial(self._report_early_end, turn))
        return turn

    async def plan(
        self,
        session: str | None,
        *,
        text: str = "",
        attachments: Sequence[Attachment] = (),
        choices: Choices | None = None,
    ) -> ContextPlan:
        """Return the plan of the next prompt of a conversation, or of a new one.

        Raises NotFoundError, UsageError, PathRefusedError, StoreError and ProviderError.
        """
        assistant = await self._assistant(choices or Choices())
        if session is None:
            conversation = Conversation(new_id(), str(self._app.root), "", 0, 0)
        else:
            conversation = await assistant.conversation(session)
        resolved = await assistant.attach(attachments, conversation)
        return await plan_next(assistant, conversation, text, resolved)

    async def start_question(
        self,
        question: str,
        page: PageContext,
        *,
        agent: str,
        conversation: str | None = None,
        asked_in: UUID | None = None,
        model: str | None = None,
        stream: bool = True,
        front_end: str | None = None,
    ) -> Turn:
        """Send a question to an agent, and return the turn without waiting for the answer.

        `page` describes what the person's page shows. `conversation` is an id, a prefix of an id,
        or "last". `asked_in` is the conversation with the assistant that shows the question, if
        there is one. Raises the errors of `AgentService.conversation`, and StoreError.
        """
        request_id = new_id()
        opened = await self._agents.conversation(conversation, agent=agent)
        store = await self._app.conversations.store()
        if asked_in is not None and store is not None:
            await store.agent_questions.add(
                asked_in, agent_conversation_id=opened.id, request_id=request_id
            )
        answering = self._agents.ask(
            question, page, request_id=request_id, conversation=opened, model=model, stream=stream
        )
        return self._start(request_id, opened, answering, front_end)

    def find(self, request_id: UUID) -> Turn | None:
        """Return the turn with that id, whether running or ended, or None."""
        return self._turns.get(request_id)

    def turn(self, request_id: UUID) -> Turn:
        """Return the turn with that id, whether running or ended. Raises NotFoundError."""
        turn = self.find(request_id)
        if turn is None:
            raise NotFoundError(
                f"There is no turn {request_id}.", hint="It may have ended long ago."
            )
        return turn

    def running(self) -> tuple[Turn, ...]:
        """Return the turns that are running or waiting, oldest first."""
        return tuple(turn for turn in self._turns.values() if not turn.task.done())

    async def steer(self, request_id: UUID, text: str) -> bool:
        """Add a message to the model's next request.

        Returns False for a turn that waits, has ended, or belongs to an agent. Raises
        NotFoundError, and UsageError for an empty message.
        """
        _check_text(text)
        session = self._sessions.get(self.turn(request_id).request_id)
        return session is not None and await session.steer(text)

    def cancel(self, request_id: UUID) -> bool:
        """Cancel a turn. Returns False if it has already ended. Raises NotFoundError."""
        return self.turn(request_id).task.cancel()

    async def _assistant(self, choices: Choices) -> Assistant:
        # A new API key requires a new connection.
        key = choices, saved_keys.stamp(self._app.settings.folder)
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
        message = attachments.message(text)
        async with self._app.conversations.reserve(conversation, message, request_id) as reserved:
            session = await assistant.session(reserved, request_id)
            self._sessions[request_id] = session
            self._begun.add(request_id)
            try:
                outcome = await session.run(text, attachments)
            finally:
                del self._sessions[request_id]
        for unserved in session.unserved:
            await self.start(unserved, session=str(conversation.id), choices=assistant.choices)
        return outcome

    def _report_early_end(self, turn: Turn, task: "asyncio.Task[SessionOutcome]") -> None:
        """Publish the end of a turn that ended before its session began."""
        if turn.request_id in self._begun:
            self._begun.remove(turn.request_id)
            return
        error = None if task.cancelled() else task.exception()
        event: SessionCancelled | SessionFailed
        if error is None:
            event = SessionCancelled(
                request_id=turn.request_id,
                session_id=turn.conversation_id,
                usage=Usage(),
                cost=0.0,
                duration=0.0,
            )
        else:
            event = SessionFailed(
                request_id=turn.request_id,
                session_id=turn.conversation_id,
                message=error.message if isinstance(error, TreadleError) else str(error),
                hint=error.hint if isinstance(error, TreadleError) else None,
                usage=Usage(),
                cost=0.0,
                duration=0.0,
            )
        report = asyncio.create_task(self._app.bus.publish(event))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)

    def _forget_old(self) -> None:
        ended = [turn for turn in self._turns.values() if turn.task.done()]
        for turn in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self._turns[turn.request_id]


def _check_text(text: str) -> None:
    if not text.strip():
        raise UsageError("The message is empty.", hint="Set `text` to the message.")


def _retrieve(task: "asyncio.Task[SessionOutcome]") -> None:
    """Retrieve the exception of a failed task, so that asyncio does not log it as unhandled."""
    with contextlib.suppress(asyncio.CancelledError, TreadleError):
        task.result()
