"""Messages of a conversation as we keep them; `llm.wire` turns them into a provider's form."""

from dataclasses import dataclass, field, replace

from treadle.events.types import CallKey, Usage


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model made. `arguments` is its raw JSON text, `vendor` whose model made it.

    `call_id` is the provider's id, possibly empty or not unique: for correlation on the wire only.
    `opaque` holds what a provider wants echoed unchanged (signatures), as JSON text.
    """

    key: CallKey
    call_id: str
    name: str
    arguments: str
    vendor: str = ""
    opaque: str | None = None


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The one leading instruction; `without_tools` replaces its text where no tool is offered."""

    text: str
    without_tools: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person said. `context` is text of ours that is sent in front of it.

    One that `steers` was said while an earlier one was served, and belongs to that one's turn.
    """

    text: str
    context: str = ""
    steers: bool = False


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's reply. `reasoning` and `opaque` are echoed only to the model that made them."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    opaque: str | None = None
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The one result of one call. `summary` is for people, never sent."""

    key: CallKey
    content: str
    ok: bool = True
    summary: str = ""


@dataclass(frozen=True, slots=True)
class NoteMessage:
    """A remark of ours to the model in mid-conversation; on the wire it is user text.

    A summary `covers` so many messages at the beginning of its branch, and is told in their place.
    """

    text: str
    covers: int = 0


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage | NoteMessage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model. `turn` numbers the reply that it asks for."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    turn: int = 0
    max_output_tokens: int | None = None
    stream: bool = True

    def without_tools(self) -> "ChatRequest":
        """The same request with no tools offered."""
        return replace(self, tools=())


LENGTH_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""Finish reasons, in lower case, of a reply that a limit of its length cut off."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete reply. `finish_reason` is as the provider said it, None if it said nothing.

    `cost` is in US dollars when the provider reports it, else None.
    """

    message: AssistantMessage
    finish_reason: str | None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    time_to_first_token: float | None = None
