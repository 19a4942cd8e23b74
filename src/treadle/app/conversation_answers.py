"""The JSON of conversations and of the outcomes of turns.

The command line and the server use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from treadle.errors import TreadleError
from treadle.events.types import CallKey, PlanStep, SourceRange, StopReason, Usage
from treadle.json_values import JsonField
from treadle.llm.messages import AssistantMessage, AttachedText, ToolMessage, UserMessage
from treadle.session import Conversation, Entry, SessionOutcome
from treadle.session.plan import plan_of
from treadle.session.sources import Quote

if TYPE_CHECKING:
    from treadle.session import ConversationStore

EXPORT_VERSION = 1
"""The version of the JSON format for exported conversations."""

_Entry = Annotated[Entry, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class SavedImage:
    """An image of a message. `size` is in bytes."""

    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class SavedUserMessage:
    """A message of the user.

    `context` and `attached` are texts that Treadle put in front of the message. `steers` is true if
    the message arrived while the model was answering an earlier message. `stop_reason` states why
    the turn that answers the message ended. It is null while the turn runs, and if the process
    was killed during the turn.
    """

    entry: _Entry
    text: str
    context: str
    steers: bool
    attached: tuple[AttachedText, ...]
    images: tuple[SavedImage, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class SavedCall:
    """A tool call of a model. `arguments` is the JSON text as the model wrote it."""

    key: Annotated[CallKey, JsonField(inline=True)]
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class SavedReply:
    """A reply of the model."""

    entry: _Entry
    text: str | None
    calls: tuple[SavedCall, ...]
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class SavedResult:
    """The result of a tool call, as the model received it. Its turn and slot identify the call."""

    entry: _Entry
    key: Annotated[CallKey, JsonField(inline=True)]
    ok: bool
    content: str
    role: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A note from Treadle to the model."""

    entry: _Entry
    text: str
    role: Literal["note"] = "note"


SavedMessage = SavedUserMessage | SavedReply | SavedResult | SavedNote


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A question that the person asked an agent while the conversation was on the screen.

    `after` is the number of the last message of the conversation at that time, or null if it had no
    message. `messages` are the question and its answer. They belong to the agent's own
    conversation, whose id is `agent_conversation_id`.
    """

    after: int | None
    agent_conversation_id: UUID
    messages: list[SavedMessage]


@dataclass(frozen=True, slots=True)
class Session:
    """A saved conversation with every message of every branch.

    `branch` contains the numbers of the messages in the current branch. `plan` has the steps of the
    plan that the model keeps in this branch.
    """

    conversation: Annotated[Conversation, JsonField(inline=True)]
    branch: list[int]
    messages: list[SavedMessage]
    agent_questions: list[AgentQuestion] = field(default_factory=list)
    plan: tuple[PlanStep, ...] = ()
    version: int = EXPORT_VERSION

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        tree: Sequence[Entry],
        agent_questions: Sequence[AgentQuestion] = (),
    ) -> "Session":
        """Combine a conversation with the messages of all its branches."""
        branch = [entry.number for entry in conversation.entries]
        plan = plan_of(conversation.entries)
        return cls(
            conversation,
            branch,
            [_saved(entry) for entry in tree],
            list(agent_questions),
            plan.steps if plan else (),
        )

    @classmethod
    async def read(cls, store: "ConversationStore", conversation: Conversation) -> "Session":
        """Combine a conversation with the messages of its branches and its questions to agents.

        A question to an agent belongs to the conversation in which the person asked it.
        """
        questions, trees = [], dict[UUID, tuple[Entry, ...]]()
        for asked in await store.agent_questions.list(conversation.id):
            agent = asked.agent_conversation_id
            if agent not in trees:
                trees[agent] = await store.tree(agent)
            turn = [_saved(entry) for entry in _turn(trees[agent], asked.request_id)]
            questions.append(AgentQuestion(asked.after, agent, turn))
        return cls.of(conversation, await store.tree(conversation.id), questions)


def _turn(entries: Sequence[Entry], request_id: UUID) -> Sequence[Entry]:
    """Return the messages of the turn with this id: the question and its answer."""
    numbers = [at for at, each in enumerate(entries) if each.request_id is not None]
    first = next((at for at in numbers if entries[at].request_id == request_id), len(entries))
    end = next(
        (at for at in numbers if at > first and entries[at].request_id != request_id), len(entries)
    )
    return entries[first:end]


def _saved(entry: Entry) -> SavedMessage:
    match entry.message:
        case UserMessage(text=text, context=context, steers=steers, attached=attached):
            images = tuple(
                SavedImage(each.name, each.media_type, len(each.data))
                for each in entry.message.images
            )
            return SavedUserMessage(entry, text, context, steers, attached, images)
        case AssistantMessage(text=reply, calls=calls):
            saved = tuple(SavedCall(call.key, call.name, call.arguments) for call in calls)
            return SavedReply(entry, reply, saved)
        case ToolMessage(key=key, content=content, ok=ok):
            return SavedResult(entry, key, ok, content)
        case note:
            return SavedNote(entry, note.text)


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of all model calls of a turn. `input` includes the `cached` tokens."""

    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a turn failed, and what to do."""

    message: str
    hint: str | None

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """Convert an exception into its message and its hint."""
        if isinstance(error, TreadleError):
            return cls(error.message, error.hint)
        return cls(f"Unexpected {type(error).__name__}.", None)


_NO_USAGE = Usage()


def _turn_tokens(usage: Usage) -> TurnTokens:
    return TurnTokens(usage.input, usage.output, usage.cached, usage.reasoning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """The last line that `ask --json` prints: the outcome of a turn.

    Only a failed turn has an `error`. Only a completed turn has a `trace_id`, `sources` and
    `quotes`. `sources` are the ranges of lines that the model received. `quotes` are the code
    blocks of the answer, compared with the files on disk.
    """

    type: Literal["final"] = "final"
    text: str = ""
    usage: Annotated[Usage, JsonField(write=_turn_tokens)] = _NO_USAGE
    cost: float | None = None
    tool_calls: int = 0
    stop_reason: StopReason
    error: Annotated[Failure | None, JsonField(optional=True)] = None
    trace_id: Annotated[str | None, JsonField(optional=True)] = None
    sources: Annotated[tuple[SourceRange, ...] | None, JsonField(optional=True)] = None
    quotes: Annotated[tuple[Quote, ...] | None, JsonField(optional=True)] = None

    @classmethod
    def of(cls, outcome: SessionOutcome, trace_id: str) -> "Final":
        """Convert the outcome of a completed turn into its JSON form."""
        return cls(
            text=outcome.text,
            usage=outcome.usage,
            cost=outcome.cost,
            tool_calls=outcome.tool_calls,
            stop_reason=outcome.stop_reason,
            trace_id=trace_id,
            sources=outcome.sources,
            quotes=outcome.quotes,
        )
