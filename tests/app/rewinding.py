"""A conversation that changes files of a small repository, for the tests of rewinds."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from treadle.app.application import App, Toolset, open_app
from treadle.app.rewind import Rewinds
from treadle.clock import SystemClock
from treadle.config.model import Settings
from treadle.edits.model import Proposal
from treadle.edits.requests import EditRequest
from treadle.edits.service import Edits
from treadle.ids import new_id
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session import Conversation
from treadle.session.conversation_writer import ConversationWriter

CLOCK = SystemClock()


@dataclass(slots=True)
class Scene:
    """An open repository with one conversation."""

    app: App
    id: UUID
    rewinds: Rewinds = field(init=False)

    def __post_init__(self) -> None:
        self.rewinds = Rewinds(self.app)

    @property
    def root(self) -> Path:
        return self.app.root

    @property
    def edits(self) -> Edits:
        assert self.app.edits is not None
        return self.app.edits

    async def conversation(self) -> Conversation:
        """The current branch."""
        return await self.app.conversations.load(str(self.id))

    async def branch(self) -> list[str]:
        """The texts of the current branch."""
        messages = [entry.message for entry in (await self.conversation()).entries]
        return [str(m.text) for m in messages if isinstance(m, UserMessage | AssistantMessage)]

    async def prompt(self, text: str, *changes: Sequence[EditRequest]) -> int:
        """Send a prompt whose answer applies one proposal for each of `changes`. Its number."""
        request_id = new_id()
        conversation = await self.conversation()
        store = await self.app.conversations.open_store()
        writer = ConversationWriter(conversation, store, CLOCK)
        await writer.append(UserMessage(text), request_id=request_id)
        number = conversation.entries[-1].number
        for requests in changes:
            self.propose(requests, request_id)
        await writer.append(AssistantMessage(f"Answer to {text}"))
        return number

    def propose(self, requests: Sequence[EditRequest], request_id: UUID) -> Proposal:
        """Apply a proposal of that request."""
        staged = self.edits.stage(requests, request_id=request_id, session_id=self.id)
        return self.edits.apply(staged.id)

    def files(self) -> dict[str, bytes]:
        """The content of every file."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }


@asynccontextmanager
async def opened(root: Path, conversation: UUID | None = None) -> AsyncIterator[Scene]:
    """Open the repository at `root` with a new conversation, or with the given one."""
    async with open_app(root, settings=Settings(), toolset=Toolset.NONE) as app:
        if conversation is None:
            conversation = (await app.conversations.create("fake/model")).id
        yield Scene(app, conversation)
