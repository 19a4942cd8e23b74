"""The texts of a span by role: messages, calls and results, each with its path.

The `input` and `output` of a model call are JSON lists of messages in the form of OpenAI's chat
requests. The `input` and `output` of a tool call are its arguments and its result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treadle.diagnosis.field_paths import parsed, step
from treadle.spans.span import Span, SpanKind


class Role(StrEnum):
    """The role of a text in a span."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """The result of a tool call."""
    ARGUMENTS = "arguments"
    """The arguments of a tool call, as the model wrote them."""
    DOCUMENT = "document"
    """A retrieved text."""
    ERROR = "error"
    """The error of a span."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as a model wrote it. `arguments` is None if the arguments are not text."""

    path: str
    """The path of the arguments."""
    name_path: str
    """The path of the name, or of the whole call if it has no name."""
    name: str
    arguments: str | None
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a span.

    If the text belongs to a tool call, `tool` and `arguments` describe the call.
    """

    path: str
    role: Role
    text: str
    tool: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a model's request or reply."""

    path: str
    role: Role
    texts: tuple[Text, ...]
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    refusal: str | None = None
    """The path of the refusal, or None."""
    finish: str | None = None
    """The path of the finish reason, or None."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The texts and messages of a span."""

    span: Span
    history: tuple[Message, ...] = ()
    """The messages in the request of a model call."""
    reply: tuple[Message, ...] = ()
    texts: tuple[Text, ...] = ()
    """All texts, including the texts of messages."""
    error_path: str | None = None
    """The path of an error that a provider returned instead of a reply, or None."""


_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def read(span: Span) -> Reading:
    """Return the texts of `span` and their roles.

    A text of an unknown form has the role `other`.
    """
    match span.kind:
        case SpanKind.MODEL:
            return _model_call(span)
        case SpanKind.TOOL:
            named = tool_name(span)
            texts = [
                *_whole(span.input, "input", Role.ARGUMENTS, named, span.input or ""),
                *_whole(span.output, "output", Role.TOOL, named, span.input or ""),
            ]
        case SpanKind.RUN | SpanKind.AGENT:
            texts = [
                *_whole(span.input, "input", Role.USER),
                *_whole(span.output, "output", Role.ASSISTANT),
            ]
        case SpanKind.RETRIEVAL:
            texts = [
                *_whole(span.input, "input", Role.USER),
                *_whole(span.output, "output", Role.DOCUMENT),
            ]
        case _:
            texts = [
                *_whole(span.input, "input", Role.OTHER),
                *_whole(span.output, "output", Role.OTHER),
            ]
    return Reading(span, texts=(*texts, *_whole(span.error, "error", Role.ERROR)))


def tool_name(span: Span) -> str:
    """Return the name of the tool of a tool call."""
    named = span.attributes.get("gen_ai.tool.name")
    return named if isinstance(named, str) else span.name.removeprefix(f"{span.operation} ")


def _whole(
    text: str | None, path: str, role: Role, tool: str = "", arguments: str = ""
) -> Iterator[Text]:
    if text is not None:
        yield Text(path, role, text, tool, arguments)


def _model_call(span: Span) -> Reading:
    history, _ = _messages(span.input, "input")
    reply, error_path = _messages(span.output, "output")
    texts = [text for message in (*history, *reply) for text in message.texts]
    for path, content, found in (("input", span.input, history), ("output", span.output, reply)):
        if not found and path != error_path:
            role = Role.USER if path == "input" else Role.ASSISTANT
            texts += _whole(content, path, role)
    texts += _whole(span.error, "error", Role.ERROR)
    return Reading(span, history, reply, tuple(texts), error_path)


def messages_in(content: str | None) -> tuple[Message, ...]:
    """Return the messages in the input or output of a span. Other text has no messages."""
    return _messages(content, "")[0]


def _messages(content: str | None, path: str) -> tuple[tuple[Message, ...], str | None]:
    """Return the messages at `path`, or the path of an error that replaces them."""
    if content is None or content.lstrip()[:1] not in ("[", "{"):
        return (), None
    try:
        value = parsed(content)
    except ValueError:
        return (), None
    if isinstance(value, Mapping):
        if value.get("error") and not value.keys() & {"content", "text", "tool_calls", "choices"}:
            return (), step(path, "error")
        if isinstance(value.get("messages"), Sequence):
            value, path = value["messages"], step(path, "messages")
        else:  # one message, as Treadle's own sessions record replies
            return tuple(filter(None, [_message(value, path, Role.ASSISTANT, {})])), None
    answers: dict[str, Call] = {}
    found: list[Message] = []
    if isinstance(value, list):
        for number, each in enumerate(value):
            if isinstance(each, Mapping):
                message = _message(each, step(path, number), Role.OTHER, answers)
                answers |= {call.call_id: call for call in message.calls}
                found.append(message)
    return tuple(found), None


def _message(
    value: Mapping[str, object], path: str, default: Role, answers: Mapping[str, Call]
) -> Message:
    name = value.get("role")
    role = _ROLES.get(name, default) if isinstance(name, str) else default
    call_id = _string(value.get("tool_call_id"))
    call = answers.get(call_id) if role is Role.TOOL else None
    tool = call.name if call else _string(value.get("name"))
    arguments = (call.arguments or "") if call else ""
    key = "content" if "content" in value else "text"
    refusal = step(path, "refusal") if _string(value.get("refusal")) else None
    texts: list[Text] = []
    for at, text, kind in _parts(value.get(key), step(path, key)):
        if kind == "refusal":
            refusal = at
        texts.append(Text(at, role, text, tool, arguments))
    calls = tuple(_calls(value, path))
    texts += [
        Text(each.path, Role.ARGUMENTS, each.arguments, each.name)
        for each in calls
        if each.arguments is not None
    ]
    ends = [key for key in ("finish_reason", "stop_reason") if _string(value.get(key))]
    finish = step(path, ends[0]) if ends else None
    return Message(path, role, tuple(texts), calls, call_id, refusal, finish)


def _parts(content: object, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the path, text and type of each text in the content of a message."""
    if isinstance(content, str):
        yield path, content, "text"
    elif isinstance(content, list):
        for number, part in enumerate(content):
            at = step(path, number)
            if isinstance(part, str):
                yield at, part, "text"
            elif isinstance(part, Mapping):
                for key in ("text", "refusal", "content"):
                    if isinstance(part.get(key), str):
                        yield step(at, key), part[key], _string(part.get("type"))
                        break


def _calls(value: Mapping[str, object], path: str) -> Iterator[Call]:
    listed = value.get("tool_calls")
    if isinstance(listed, list):
        for number, call in enumerate(listed):
            if isinstance(call, Mapping):
                at = step(step(path, "tool_calls"), number)
                function = call.get("function")
                if isinstance(function, Mapping):
                    yield _call(function, step(at, "function"), _string(call.get("id")))
                else:
                    yield _call(call, at, _string(call.get("id")))
    older = value.get("function_call")
    if isinstance(older, Mapping):
        yield _call(older, step(path, "function_call"), "")


def _call(function: Mapping[str, object], path: str, call_id: str) -> Call:
    arguments = function.get("arguments")
    return Call(
        step(path, "arguments"),
        step(path, "name") if function.get("name") is not None else path,
        _string(function.get("name")),
        arguments if isinstance(arguments, str) else None,
        call_id,
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
