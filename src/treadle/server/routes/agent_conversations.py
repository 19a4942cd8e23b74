"""Routes that list, show, rename and delete saved conversations with agents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from treadle.agents.definitions import FINAL
from treadle.events.types import CallKey, StopReason
from treadle.json_values import JsonField, json_property
from treadle.llm.messages import AssistantMessage, ToolMessage, UserMessage
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf, json_responses
from treadle.server.responses import OffsetPagination, json_response
from treadle.server.routers import api_router
from treadle.server.state import ServerState
from treadle.session import Conversation, ConversationSummary, Entry, Kind
from treadle.session.conversation import MessageState


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation with an agent, as the list shows it.

    `questions` is the number of questions that the user has asked. `created_us` and `updated_us`
    are Unix microseconds. `stop_reason` states why the answer to the last question ended. It is
    null while the agent is still answering.
    """

    id: UUID
    agent: str | None
    title: str
    model: str
    created_us: int
    updated_us: int
    questions: int
    stop_reason: StopReason | None

    @classmethod
    def of(cls, row: ConversationSummary) -> "ListedConversation":
        """Convert a stored summary of a conversation into its JSON form."""
        return cls(
            id=row.id,
            agent=row.agent,
            title=row.title,
            model=row.model,
            created_us=row.created_us,
            updated_us=row.updated_us,
            questions=row.turns,
            stop_reason=row.stop_reason,
        )


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A tool call of an agent.

    `arguments` is the JSON text as the model wrote it. `ok` and `summary` are null until the call
    has a result.
    """

    key: Annotated[CallKey, JsonField(inline=True)]
    name: str
    arguments: str
    ok: bool | None
    summary: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model, with the tool calls that it contains.

    `state` is the state of the reply, such as `completed`, `failed` or `cancelled`.
    """

    text: str
    state: MessageState
    calls: list[AgentCall]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and everything that the agent did to answer it.

    `request_id` identifies the events of the question, and `trace_id` identifies its trace.
    `context` is the page context that was sent with the question. `at_us` is a time in Unix
    microseconds. `steps` are in chronological order. `answer` is the text that the page shows as
    the answer. `stop_reason` is null while the agent is still answering.
    """

    request_id: UUID | None
    question: str
    context: str
    at_us: int
    stop_reason: StopReason | None
    steps: list[Step]
    answer: str

    @json_property
    def trace_id(self) -> str | None:
        """The trace id: `request_id` in hexadecimal without dashes.

        It is null if `request_id` is null.
        """
        return self.request_id.hex if self.request_id else None


@dataclass(frozen=True, slots=True)
class AgentConversation:
    """A conversation with all its questions and answers, oldest first."""

    listed: Annotated[ListedConversation, JsonField(inline=True)]
    exchanges: list[Exchange]

    @classmethod
    def of(cls, row: ConversationSummary, conversation: Conversation) -> "AgentConversation":
        """Build the JSON form of a conversation from its stored summary and its messages."""
        exchanges = [_exchange(entries) for entries in _by_question(conversation.entries)]
        return cls(ListedConversation.of(row), exchanges)


def _by_question(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    for entry in entries:
        if isinstance(entry.message, UserMessage) and group:
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _exchange(entries: Sequence[Entry]) -> Exchange:
    first = entries[0]
    question = first.message if isinstance(first.message, UserMessage) else UserMessage("")
    results = {
        entry.message.key: entry.message
        for entry in entries
        if isinstance(entry.message, ToolMessage)
    }
    replies = [
        (entry, entry.message) for entry in entries if isinstance(entry.message, AssistantMessage)
    ]
    return Exchange(
        request_id=first.request_id,
        question=question.text,
        context=question.context,
        at_us=first.at_us,
        stop_reason=first.stop_reason,
        steps=[_step(entry, reply, results) for entry, reply in replies],
        answer=_answer([reply for _, reply in replies], results),
    )


def _step(entry: Entry, reply: AssistantMessage, results: dict[CallKey, ToolMessage]) -> Step:
    calls = []
    for call in reply.calls:
        result = results.get(call.key)
        ok, summary = (result.ok, result.summary) if result else (None, None)
        calls.append(AgentCall(call.key, call.name, call.arguments, ok, summary))
    return Step(text=reply.text or "", state=entry.state, calls=calls)


def _answer(replies: Sequence[AssistantMessage], results: dict[CallKey, ToolMessage]) -> str:
    """Return the result of the tool `final` if it was called, else the text of the last reply."""
    if not replies:
        return ""
    for call in replies[-1].calls:
        result = results.get(call.key)
        if call.name == FINAL and result is not None and result.ok:
            return result.content
    return replies[-1].text or ""


router = api_router("/agents/conversations", "agents")


@dataclass(frozen=True, slots=True)
class ConversationList:
    """One page of the list of agent conversations about the served repository.

    The most recently changed conversation comes first.
    """

    data: list[ListedConversation]
    pagination: OffsetPagination


class Renaming(BaseModel):
    """The body of a request that renames a conversation."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=1_000)


@router.get("")
async def conversations(
    server: CurrentServer,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JsonOf[ConversationList]:
    """Return one page of the conversations with agents, most recently changed first."""
    end = offset + limit
    found = await server.conversations.list(root=server.app.root, limit=end + 1, kind=Kind.AGENT)
    data = [ListedConversation.of(row) for row in found[offset:end]]
    return ConversationList(data, OffsetPagination(offset, limit, more=len(found) > end))


@router.get("/{conversation}", response_class=Response, responses=json_responses(AgentConversation))
async def show(server: CurrentServer, request: Request, conversation: str) -> Response:
    """Return a conversation with its questions, tool calls and answers.

    `conversation` is an id, a prefix of an id, or `last`.
    """
    return await _conversation_response(server, request, conversation)


@router.patch(
    "/{conversation}", response_class=Response, responses=json_responses(AgentConversation)
)
async def rename(
    server: CurrentServer, request: Request, conversation: str, renaming: Renaming
) -> Response:
    """Change the title of a conversation."""
    await server.app.conversations.rename(conversation, renaming.title, kind=Kind.AGENT)
    return await _conversation_response(server, request, conversation)


@router.delete("/{conversation}", status_code=204)
async def delete(server: CurrentServer, conversation: str) -> None:
    """Delete a conversation. The spans recorded for it are not deleted."""
    await server.app.conversations.delete(conversation, kind=Kind.AGENT)


async def _conversation_response(server: ServerState, request: Request, reference: str) -> Response:
    root = server.app.root
    row = await server.conversations.get(reference, root=root, kind=Kind.AGENT)
    loaded = await server.conversations.load(str(row.id), root=root, kind=Kind.AGENT)
    return await json_response(request, lambda: AgentConversation.of(row, loaded))
