"""The assistant for one repository: a model, tools for the code, and automatic context.

Automatic context is code that Treadle retrieves and puts in front of each message. The system
prompt and the schemas of the tools take at most three sixteenths of the model's context window. If
they need more, the model gets a shorter prompt, and only the most important tools that fit, with
shorter descriptions.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Self
from uuid import UUID

from treadle.app.application import App
from treadle.app.attachments import AttachmentReader
from treadle.app.automatic_context import automatic_context
from treadle.app.choices import Choices
from treadle.app.index_refresh import refresh_index
from treadle.app.instructions import READER, instruction_reader
from treadle.app.modes import change_mode
from treadle.app.sub_tasks import SubTasks
from treadle.errors import UsageError
from treadle.events.types import Mode, Notice
from treadle.ids import new_id
from treadle.llm import connect_with_fallbacks
from treadle.llm.chat_model import ChatModel
from treadle.session import Conversation, RequestSession
from treadle.session.attachments import Attachment, ImageAttachment, ResolvedAttachments
from treadle.session.calibration import Calibration
from treadle.session.instructions import ReadInstructions
from treadle.session.message_tokens import tools_tokens
from treadle.session.recorder import SessionRecording
from treadle.session.role import Role, assistant_for, brief_prompt, system_prompt
from treadle.session.session import ReadPinned
from treadle.session.tool_specs import tool_specs
from treadle.tokens import estimate
from treadle.toolbox.code.request_code_context import RequestCodeContext
from treadle.toolbox.commands import COMMAND_TOOLS, RUN_COMMAND
from treadle.toolbox.sub_tasks.ask_code import AskCode
from treadle.tools.contract import AnyTool, Registry

PROMPT_SHARE = 3 / 16
"""The part of the context window that the prompt and the tool schemas may take.

In a window of 8,000 tokens they take at most 1,500.
"""

TOOL_PRIORITY = (
    "request_code_context", "read_file", "grep", "apply_code_edit", "apply_patch", "create_file",
    "list_dir", "run_check", "code_item_lookup", "code_item_edges", "update_plan",
    "get_file_metadata", "delete_file", "rename_file", "ask_code",
    "run_command", "read_output", "stop_command",
)  # fmt: skip
"""The tools by priority, for models with a small window. Other tools have the lowest priority."""


@dataclass(slots=True)
class Assistant:
    """Answers questions about the repository of `app` with one model and the tools."""

    app: App
    choices: Choices
    model: ChatModel
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def warnings(self) -> list[str]:
        """Sentences about data that cannot be saved or recorded. The assistant still answers."""
        reason = self.app.conversations.unsaved
        unsaved = [f"This conversation is not saved: {reason}"] if reason else []
        return [*unsaved, *self.app.warnings]

    @classmethod
    @asynccontextmanager
    async def open(
        cls, app: App, *, request_id: UUID, choices: Choices | None = None
    ) -> AsyncIterator[Self]:
        """Update the index and connect to a model at the same time.

        The bus of `app` receives the progress of the index as events of the request `request_id`.
        Raises ProviderError if no model is available. Raises StoreError and ConfigError.
        """
        choices = choices or Choices()
        model = await _connect_while_refreshing(
            connect_with_fallbacks(app.settings, app.env, model=choices.model),
            refresh_index(app.index, app.bus, request_id),
        )
        try:
            yield cls(app, choices, model)
        finally:
            await model.close()

    async def conversation(
        self, reference: str | None = None, at: int | None = None, mode: Mode | None = None
    ) -> Conversation:
        """Load a saved conversation, or create one if `reference` is None.

        `reference` is an id, a prefix of an id, or "last". The conversation continues from its
        newest message, or from the message `at`. If a person chose a `mode`, the conversation gets
        it. Raises StoreError if saved conversations cannot be read.
        """
        if reference is None:
            name = f"{self.model.provider}/{self.model.model}"
            return await self.app.conversations.create(name, mode=mode or Mode.NORMAL)
        conversation = await self.app.conversations.load(reference, at=at)
        if mode not in {None, conversation.mode}:
            await change_mode(self.app, conversation, mode)
        return conversation

    async def attach(
        self, attachments: Sequence[Attachment], conversation: Conversation | None
    ) -> ResolvedAttachments:
        """Read the attachments of a message. `conversation` is None for a new conversation.

        Raises what `AttachmentReader.resolve` raises, and UsageError for an image if the model
        takes no images.
        """
        for each in attachments:
            if isinstance(each, ImageAttachment) and await self.model.takes_images() is False:
                raise UsageError(
                    f"{each} is not attached: {self.model.provider}/{self.model.model} takes no"
                    " images.",
                    hint="Choose a model that takes images, or describe the image in words.",
                )
        reader = AttachmentReader(self.app.root, self.app.index, self.app.approvals)
        return await reader.resolve(attachments, conversation.id if conversation else new_id())

    async def read_pinned(self, conversation: Conversation) -> ResolvedAttachments:
        """Read the pinned code of a conversation as it is now."""
        reader = AttachmentReader(self.app.root, self.app.index, self.app.approvals)
        return await reader.resolve_pinned(conversation.choices.pinned, conversation.id)

    def available_tools(self) -> Registry:
        """Return all tools that the model can call, including those that the person left out."""
        own = self.app.code_tools.with_tools(self.app.bridge.tools())
        tools = own.with_tools(tool for tool in self.app.mcp.tools() if own.get(tool.name) is None)
        callable_tools = self.model.callable_tools
        return tools if callable_tools is None else tools.only(callable_tools)

    def offer(self, conversation: Conversation) -> tuple[Registry, Role]:
        """Return the tools for the next prompt, and a role whose prompt names only these tools."""
        available = self.available_tools()
        chosen = set(available.names()) - conversation.choices.tools_left_out
        if not self.app.approvals.may_allow(RUN_COMMAND):
            chosen -= COMMAND_TOOLS
        root = conversation.root if self.app.has_repository else None
        return fit_to_window(root, available.only(chosen), self.model.context_window)

    def instruction_reader(self) -> ReadInstructions | None:
        """Return a function that loads instruction files, or None if they are switched off."""
        return instruction_reader(
            self.app.root if self.app.has_repository else None,
            self.app.settings,
            self.model.context_window,
            open_to=partial(self.app.approvals.open_to, READER),
        )

    async def session(
        self,
        conversation: Conversation,
        request_id: UUID,
        recording: SessionRecording | None = None,
    ) -> RequestSession:
        """Return a session that answers the next message of `conversation`.

        `request_id` is the id of the request that the session serves. `recording` writes the
        session to a file, from which it can be replayed. The first session starts the MCP servers,
        and does not wait for them.
        """
        self.app.mcp.start()
        for text in self.app.mcp.news():
            await self.app.bus.publish(Notice(request_id=request_id, level="info", text=text))
        tools, role = self.offer(conversation)
        model: ChatModel = self.model
        context = automatic_context(
            self.app.bus,
            self.app.index,
            self.app.settings.context,
            self.model,
            self.app.clock,
            open_to=partial(self.app.approvals.open_to, RequestCodeContext.name),
        )
        if not conversation.choices.automatic_context:
            context = None
        sub_tasks = SubTasks(self.app, model, self.calibration, context)
        tools = tools.replacing([AskCode(sub_tasks.answer)])
        instructions = self.instruction_reader()
        pinned: ReadPinned | None = None
        if conversation.choices.pinned:
            pinned = partial(self.read_pinned, conversation)
        if recording is not None:
            recording.head(
                conversation,
                model,
                tools,
                self.app.settings.model_dump(mode="json", include={"tools", "limits", "history"}),
                started_us=self.app.clock.now_us(),
                stream=self.choices.stream,
                brief=role.brief,
            )
            model, context = recording.model(model), recording.context(context)
            pinned = recording.pinned(pinned)
            instructions = recording.instructions(instructions)
        sub_tasks.parent = RequestSession(
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
            pinned=pinned,
            mode=partial(self.app.conversations.mode, conversation),
            instructions=instructions,
            stream=self.choices.stream,
            clock=self.app.clock,
            ids=lambda: request_id,
        )
        return sub_tasks.parent


async def _connect_while_refreshing(
    connecting: Awaitable[ChatModel], refreshing: Awaitable[None]
) -> ChatModel:
    """Connect to a model while the index is updated, and return the model.

    If updating the index fails, the connection is cancelled or closed.
    """
    model = asyncio.ensure_future(connecting)
    try:
        await refreshing
        return await model
    except BaseException:
        model.cancel()
        with contextlib.suppress(BaseException):
            await (await model).close()
        raise


def fit_to_window(root: str | None, tools: Registry, context_window: int) -> tuple[Registry, Role]:
    """Choose the tools that fit into the context window, and a role whose prompt names them."""
    available = int(context_window * PROMPT_SHARE)
    needed = estimate(system_prompt(root, tools.names())) + tools_tokens(tool_specs(tools))
    if needed <= available:
        return tools, assistant_for(root, tools.names())
    available -= estimate(brief_prompt(root, tools.names()))
    chosen: set[str] = set()
    for tool in sorted(tools, key=_priority):
        tokens = _tokens(tool)
        if tokens <= available:
            chosen.add(tool.name)
            available -= tokens
    offered = tools.only(chosen)
    return offered, assistant_for(root, offered.names(), brief=True)


def _priority(tool: AnyTool) -> int:
    return TOOL_PRIORITY.index(tool.name) if tool.name in TOOL_PRIORITY else len(TOOL_PRIORITY)


def _tokens(tool: AnyTool) -> int:
    return tools_tokens(tool_specs(Registry([tool]), brief=True))
