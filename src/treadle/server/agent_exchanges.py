"""Conversations with agents as JSON: each question with its steps and its answer."""

from collections.abc import Iterator, Sequence

from typing_extensions import TypedDict

from treadle.agents.definitions import FINAL
from treadle.events.types import CallKey
from treadle.llm.messages import AssistantMessage, ToolMessage, UserMessage
from treadle.session import Conversation, ConversationSummary, Entry


class ListedConversation(TypedDict):
    """A conversation in a list. `questions` is their number; times are Unix microseconds.

    `stop_reason` states how the last question ended. It is null while the question is served.
    """

    id: str
    agent: str | None
    title: str
    model: str
    created_us: int
    updated_us: int
    questions: int
    stop_reason: str | None


class MadeCall(TypedDict):
    """A tool call. `arguments` is the JSON text of the model.

    `ok` and `summary` are null while the call has no result.
    """

    turn: int
    slot: int
    name: str
    arguments: str
    ok: bool | None
    summary: str | None


class Step(TypedDict):
    """A reply of the model: its text and its calls. `state` is the state of the reply."""

    text: str
    state: str
    calls: list[MadeCall]


class Exchange(TypedDict):
    """A question, the steps that served it, and the answer.

    `request_id` is the id of the events, `trace_id` the id of the trace. `context` was sent with
    the question. `stop_reason` is null while the question is served. `answer` is the last text that
    the person saw.
    """

    request_id: str | None
    trace_id: str | None
    question: str
    context: str
    at_us: int
    stop_reason: str | None
    steps: list[Step]
    answer: str


class AgentConversation(ListedConversation):
    """A conversation with its exchanges, oldest first."""

    exchanges: list[Exchange]


def listed(row: ConversationSummary) -> ListedConversation:
    """A conversation as an entry of a list."""
    return ListedConversation(
        id=str(row.id),
        agent=row.agent,
        title=row.title,
        model=row.model,
        created_us=row.created_us,
        updated_us=row.updated_us,
        questions=row.turns,
        stop_reason=row.stop_reason,
    )


def told(row: ConversationSummary, conversation: Conversation) -> AgentConversation:
    """A conversation with all its exchanges."""
    exchanges = [_exchange(entries) for entries in _by_question(conversation.entries)]
    return AgentConversation(**listed(row), exchanges=exchanges)


def _by_question(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    some: list[Entry] = []
    for entry in entries:
        if isinstance(entry.message, UserMessage) and some:
            yield some
            some = []
        some.append(entry)
    if some:
        yield some


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
    request = first.request_id
    return Exchange(
        request_id=str(request) if request else None,
        trace_id=request.hex if request else None,
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
        calls.append(
            MadeCall(
                turn=call.key.turn,
                slot=call.key.slot,
                name=call.name,
                arguments=call.arguments,
                ok=result.ok if result else None,
                summary=result.summary if result else None,
            )
        )
    return Step(text=reply.text or "", state=entry.state, calls=calls)


def _answer(replies: Sequence[AssistantMessage], results: dict[CallKey, ToolMessage]) -> str:
    """The result of `final`, else the text of the last reply."""
    if not replies:
        return ""
    for call in replies[-1].calls:
        result = results.get(call.key)
        if call.name == FINAL and result is not None and result.ok:
            return result.content
    return replies[-1].text or ""
