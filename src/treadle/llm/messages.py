"""Messages of a conversation in Treadle's form. `llm.wire` converts them to a provider's form."""

from dataclasses import dataclass, field

from treadle.events.types import CallKey, Usage


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model.

    `arguments` is the raw JSON text of the arguments, and `vendor` is the provider of the model.
    `call_id` is the provider's id. It may be empty or not unique, so only `key` identifies a call.
    `opaque` is the JSON text of further fields, such as a thought signature, that the provider
    wants back unchanged.
    """

    key: CallKey
    call_id: str
    name: str
    arguments: str
    vendor: str = ""
    opaque: str | None = None


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The system prompt. `without_tools` replaces its text if no tool is offered."""

    text: str
    without_tools: str = ""


@dataclass(frozen=True, slots=True)
class AttachedText:
    """Code or another text that the person sent with a message.

    `name` states its origin, such as "src/parser.py:10-40". On the wire the text is fenced. If
    `pinned` is True, the code is read again for each prompt, and is not saved with the message.
    """

    name: str
    text: str
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """An image that the person sent with a message. `data` is the content of its file."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the person.

    `context` is text that Treadle puts before it. If `steers` is True, the message arrived while
    Treadle served an earlier message. It then belongs to the run of the earlier message.
    """

    text: str
    context: str = ""
    steers: bool = False
    attached: tuple[AttachedText, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's reply.

    `opaque` is the JSON text of further fields that the provider wants back unchanged. Only the
    model that sent `reasoning` and `opaque` gets them back.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    opaque: str | None = None
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call. `summary` is for people and is never sent to a model."""

    key: CallKey
    content: str
    ok: bool = True
    summary: str = ""


@dataclass(frozen=True, slots=True)
class InstructionText:
    """The text of an instruction file, with its tokens. `digest` identifies the whole file.

    If `own` is True, it is the person's own file. Other files belong to the repository, and on the
    wire their text is fenced.
    """

    path: str
    text: str
    digest: str
    tokens: int = 0
    own: bool = False


@dataclass(frozen=True, slots=True)
class NoteMessage:
    """A note from Treadle to the model, which is sent as a user message.

    If `covers` is not 0, the note is a summary. It replaces the first `covers` messages of its
    branch in later prompts. `instructions` are sent after `text`. Such a note stays in the prompt
    even if the messages around it are left out or replaced by a summary.
    """

    text: str
    covers: int = 0
    instructions: tuple[InstructionText, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage | NoteMessage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model receives it. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model. `turn` is the number of the expected reply."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    turn: int = 0
    max_output_tokens: int | None = None
    stream: bool = True


LENGTH_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""The finish reasons, in lower case, of a reply that a length limit truncated."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete reply.

    `finish_reason` is the word of the provider, or None if the provider sent none. `cost` is in US
    dollars, or None if it is unknown. `time_to_first_token` is in seconds.
    """

    message: AssistantMessage
    finish_reason: str | None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    time_to_first_token: float | None = None
