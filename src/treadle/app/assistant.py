"""The assistant for one repository: every part wired together, for whichever front end asks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Self
from uuid import UUID

from treadle.app.application import App
from treadle.app.automatic_context import automatic_context
from treadle.app.refreshing import refresh_index
from treadle.app.small_windows import fitted
from treadle.llm import connect_with_fallbacks
from treadle.llm.chat_model import ChatModel
from treadle.session import Conversation, RequestSession
from treadle.session.calibration import Calibration
from treadle.session.recording import SessionRecording
from treadle.toolbox.code.request_code_context import RequestCodeContext


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person chose for this call; None and True are the settings' own values."""

    model: str | None = None
    tools: bool = True
    stream: bool = True


@dataclass(slots=True)
class Assistant:
    """Answers questions about the repository of `app` with its tools and one model."""

    app: App
    choices: Choices
    model: ChatModel
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def warnings(self) -> list[str]:
        """What cannot be saved or recorded, and why; questions are answered anyway."""
        unsaved = self.app.conversations.unsaved
        first = [f"This conversation is not saved: {unsaved}"] if unsaved else []
        return [*first, *self.app.warnings]

    @classmethod
    @asynccontextmanager
    async def open(
        cls, app: App, *, request_id: UUID, choices: Choices | None = None
    ) -> AsyncIterator[Self]:
        """Refresh the index, and connect to a model meanwhile.

        The bus of `app` receives the progress of the index as part of the request `request_id`.
        Raises ProviderError if no model is available, StoreError and ConfigError.
        """
        choices = choices or Choices()
        model = await _connected(
            connect_with_fallbacks(app.settings, app.env, model=choices.model),
            refresh_index(app.index, app.bus, request_id),
        )
        try:
            yield cls(app, choices, model)
        finally:
            await model.close()

    async def conversation(
        self, reference: str | None = None, at: int | None = None
    ) -> Conversation:
        """The saved conversation with that id, id prefix or "last"; without one a new one.

        It resumes from its newest message, or from message `at`. Raises StoreError if the saved
        conversations cannot be read.
        """
        if reference is None:
            return await self.app.conversations.create(f"{self.model.provider}/{self.model.model}")
        return await self.app.conversations.load(reference, at=at)

    async def session(
        self,
        conversation: Conversation,
        request_id: UUID,
        recording: SessionRecording | None = None,
    ) -> RequestSession:
        """A session that serves the next message of `conversation` as that request."""
        tools = self.app.code_tools.with_tools(self.app.bridge.tools())
        if self.model.callable_tools is not None:
            tools = tools.only(self.model.callable_tools)
        tools, role = fitted(conversation.root, tools, self.model.context_window)
        model: ChatModel = self.model
        context = automatic_context(
            self.app.bus,
            self.app.index,
            self.app.settings.context,
            self.model,
            self.app.clock,
            open_to=partial(self.app.approvals.open_to, RequestCodeContext.name),
        )
        if recording is not None:
            recording.head(
                conversation,
                model,
                tools,
                self.app.settings.model_dump(mode="json", include={"tools", "limits", "history"}),
                started_us=self.app.clock.now_us(),
                stream=self.choices.stream,
            )
            model, context = recording.model(model), recording.context(context)
        return RequestSession(
            executor=self.app.executor,
            model=model,
            registry=tools,
            conversation=conversation,
            role=role,
            store=await self.app.conversations.store(),
            settings=self.app.settings.tools,
            limits=self.app.settings.limits,
            history=self.app.settings.history,
            calibration=self.calibration,
            automatic_context=context,
            stream=self.choices.stream,
            clock=self.app.clock,
            ids=lambda: request_id,
        )


async def _connected(connecting: Awaitable[ChatModel], refreshing: Awaitable[None]) -> ChatModel:
    """The model, when the index is fresh too; neither is left behind when the other fails."""
    model = asyncio.ensure_future(connecting)
    try:
        await refreshing
        return await model
    except BaseException:
        model.cancel()
        with contextlib.suppress(BaseException):
            await (await model).close()
        raise
