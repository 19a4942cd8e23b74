"""Makes any history valid for one endpoint.

A history can be invalid because it was shortened, cancelled, steered or resumed, or because another
model began it. `valid_history` applies small steps, each of which meets one demand of the endpoint.
Applying it twice has the same result as applying it once.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.events.types import CallKey
from treadle.fences import verbatim
from treadle.llm.messages import (
    AssistantMessage,
    InstructionText,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.llm.reply_assembler import REASONING_FIELDS
from treadle.llm.strictness import Reasoning, Strictness

CLOSED = json.dumps(
    {
        "ok": False,
        "error": "The call was cancelled and has no result.",
        "kind": "cancelled",
        "effect": "unknown",
    }
)
"""The result that is sent for a call without a result."""

NO_OUTPUT = "(no output)"
"""Replaces an empty result, which several endpoints refuse."""

NOTED = "Noted."
"""A reply that Treadle inserts between a tool result and the next message of the user."""

CONTINUE = "Continue."
"""A user message that Treadle inserts where the endpoint requires one."""

NO_REASONING = "(not recorded)"
"""Replaces reasoning that an endpoint needs and that no longer exists."""

SIGNATURE: Mapping[str, object] = {
    "google": {"thought_signature": "skip_thought_signature_validator"}
}
"""The value that Gemini documents for the thought signature of a call that another model made."""

CONTEXT_SOURCE = "context of this message"
PINNED_SOURCE = "pinned:"
ATTACHED_SOURCE = "attached:"
INSTRUCTIONS_SOURCE = "instructions of the repository:"
"""The texts with which a fence states its source.

The source is automatic context, pinned code, an attached text, or an instruction file. In the last
three, the name of the code, text or file follows.
"""
OWN_INSTRUCTIONS = "The person's own instructions for all repositories:"

_NAME_LIMIT = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The model that receives a history, and the demands of its endpoint."""

    provider: str
    model: str
    strictness: Strictness = field(default_factory=Strictness)


def valid_history(messages: Sequence[Message], dialect: Dialect) -> list[Message]:
    """Convert `messages` to system, user, assistant and tool messages that the endpoint accepts.

    The conversion removes only empty messages, results without a call, second results of a call,
    fields that the endpoint refuses, and opaque fields of other models.
    """
    strictness = dialect.strictness
    history = [_encodable(message) for message in messages]
    history = _merge_system_messages(history, strictness)
    history = _paired(history)
    if strictness.tools:
        if strictness.single_calls:
            history = _one_call_each(history)
        history = _valid_calls(history)
        history = _with_valid_ids(history, strictness)
    else:
        history = _flat(history)
    history = _in_order(_merge_user_messages(history), strictness)
    return [_reasoned(message, dialect) for message in history]


def _encodable(message: Message) -> Message:
    """Return `message` without lone surrogates, which UTF-8 cannot encode.

    They come from file names that are not UTF-8.
    """
    match message:
        case UserMessage(text=text, context=context, attached=attached):
            return replace(
                message,
                text=_utf8(text),
                context=_utf8(context),
                attached=tuple(
                    replace(each, name=_utf8(each.name), text=_utf8(each.text)) for each in attached
                ),
            )
        case SystemMessage(text=text, without_tools=other):
            return replace(message, text=_utf8(text), without_tools=_utf8(other))
        case ToolMessage(content=content):
            return replace(message, content=_utf8(content))
        case AssistantMessage(text=text, reasoning=reasoning, opaque=opaque, calls=calls):
            return replace(
                message,
                text=None if text is None else _utf8(text),
                reasoning=None if reasoning is None else _utf8(reasoning),
                opaque=None if opaque is None else _utf8(opaque),
                calls=tuple(
                    replace(
                        call,
                        arguments=_utf8(call.arguments),
                        opaque=None if call.opaque is None else _utf8(call.opaque),
                    )
                    for call in calls
                ),
            )
        case NoteMessage(text=text, instructions=instructions):
            return replace(
                message,
                text=_utf8(text),
                instructions=tuple(
                    replace(each, path=_utf8(each.path), text=_utf8(each.text))
                    for each in instructions
                ),
            )


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _merge_system_messages(history: Sequence[Message], strictness: Strictness) -> list[Message]:
    """Keep one leading system message. Notes and other system messages become user messages.

    Retrieved context is put into a fence (see `fences`), so that text of the repository does not
    look like text of the person.
    """
    first = next((m for m in history if isinstance(m, SystemMessage)), None)
    system: list[Message] = []
    if first is not None:
        text = first.text if strictness.tools else first.without_tools or first.text
        as_role = SystemMessage(text) if strictness.system_role else UserMessage(text)
        system = [as_role] if text.strip() else []
    said = (_as_user(message) for message in history if message is not first)
    return [
        *system,
        *(m for m in said if not isinstance(m, UserMessage) or m.text.strip() or m.images),
    ]


def _as_user(message: Message) -> Message:
    """Convert a system message or note to a user message. Other messages stay unchanged."""
    match message:
        case UserMessage(text=text, context=context, attached=attached):
            fenced = verbatim(context, CONTEXT_SOURCE) if context.strip() else ""
            given = [
                verbatim(
                    each.text, f"{PINNED_SOURCE if each.pinned else ATTACHED_SOURCE} {each.name}"
                )
                for each in attached
            ]
            said = "\n\n".join(part for part in (fenced, *given, text) if part)
            return UserMessage(said, images=message.images)
        case NoteMessage(text=text, instructions=instructions):
            return UserMessage("\n\n".join([text, *map(_instruction, instructions)]))
        case SystemMessage(text=text):
            return UserMessage(text)
        case _:
            return message


def _instruction(file: InstructionText) -> str:
    if file.own:
        return f"{OWN_INSTRUCTIONS}\n{file.text}"
    return verbatim(file.text, f"{INSTRUCTIONS_SOURCE} {file.path}")


def _paired(history: Sequence[Message]) -> list[Message]:
    """Arrange the history so that exactly one result for each call directly follows the reply."""
    paired: list[Message] = []
    for position, message in enumerate(history):
        if isinstance(message, AssistantMessage):
            text = message.text if message.text and message.text.strip() else None
            if text is None and not message.calls:
                continue
            paired.append(replace(message, text=text))
            results = _results(history, position)
            for call in message.calls:
                content = results.get(call.key, CLOSED)
                paired.append(ToolMessage(call.key, content if content.strip() else NO_OUTPUT))
        elif not isinstance(message, ToolMessage):
            paired.append(message)
    return paired


def _results(history: Sequence[Message], position: int) -> dict[CallKey, str]:
    """Return the first result of each call key after the reply at `position`.

    The search ends at the next reply with calls. Later replies may use the same keys, so their
    results do not belong to this reply.
    """
    results: dict[CallKey, str] = {}
    for later in range(position + 1, len(history)):
        message = history[later]
        if isinstance(message, AssistantMessage) and message.calls:
            break
        if isinstance(message, ToolMessage):
            results.setdefault(message.key, message.content)
    return results


def with_results(
    history: Sequence[Message],
) -> Iterable[tuple[Message, list[tuple[ToolCall, ToolMessage]]]]:
    """Yield each message except tool results, with its calls and their results.

    The caller must pass a history in which exactly one result for each call follows its reply.
    """
    position = 0
    while position < len(history):
        message = history[position]
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        answers = history[position + 1 : position + 1 + len(calls)]
        results = [answer for answer in answers if isinstance(answer, ToolMessage)]
        yield message, list(zip(calls, results, strict=True))
        position += 1 + len(calls)


def _one_call_each(history: Sequence[Message]) -> list[Message]:
    """Split a reply with several calls into one reply for each call.

    Opaque fields stay with the first reply.
    """
    split: list[Message] = []
    for message, answered in with_results(history):
        if not isinstance(message, AssistantMessage) or not answered:
            split.append(message)
            continue
        for number, (call, result) in enumerate(answered):
            own = replace(message, calls=(call,))
            if number:
                own = replace(own, text=None, reasoning=None, opaque=None)
            split += [own, result]
    return split


def _valid_calls(history: Sequence[Message]) -> list[Message]:
    """Give each call a name that providers accept, and a JSON object as its arguments."""
    return [
        replace(
            message,
            calls=tuple(
                replace(
                    call,
                    name=_NOT_IN_NAMES.sub("_", call.name)[:_NAME_LIMIT] or "unnamed",
                    arguments=_json_object(call.arguments),
                )
                for call in message.calls
            ),
        )
        if isinstance(message, AssistantMessage)
        else message
        for message in history
    ]


def _json_object(text: str) -> str:
    """Return arguments as the text of a JSON object, since chat templates of servers parse them."""
    if not text.strip():
        return "{}"
    written = text
    for strict in (True, False):  # tools accept unescaped line breaks too
        try:
            value = json.loads(text, strict=strict, parse_constant=_refuse)
            if isinstance(value, str):
                written, value = value, json.loads(value, strict=strict, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return _utf8(written if strict else json.dumps(value, ensure_ascii=False))
    return json.dumps({"not_json": written})


def _refuse(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


_MAX_ATTEMPTS = 100
"""The maximum number of new ids that are tried for a call.

Without a limit, the search would never end if all ids that the rule permits are used.
"""


def _with_valid_ids(history: Sequence[Message], strictness: Strictness) -> list[Message]:
    """Give calls ids that the endpoint accepts and that are unique in the history.

    An id stays unchanged if possible. A new id depends only on the call, so it stays the same when
    the history grows. Therefore the prompt cache of a provider stays valid.
    """
    rule, used = strictness.call_ids, set[str]()
    taken = {c.call_id for m in history if isinstance(m, AssistantMessage) for c in m.calls}

    def valid(call: ToolCall) -> ToolCall:
        wire_id, attempt = call.call_id, 0
        while wire_id in used or not rule.accepts(wire_id):
            if attempt == _MAX_ATTEMPTS:  # the rule allows fewer ids than there are calls
                wire_id = call.call_id
                break
            seed = f"{call.key.turn}.{call.key.slot}.{attempt}.{call.call_id}"
            wire_id, attempt = rule.new(seed), attempt + 1
            if wire_id in taken:
                wire_id = ""
        used.add(wire_id)
        return replace(call, call_id=wire_id)

    return [
        replace(message, calls=tuple(valid(call) for call in message.calls))
        if isinstance(message, AssistantMessage)
        else message
        for message in history
    ]


def _flat(history: Sequence[Message]) -> list[Message]:
    """Convert calls and their results to user messages, for a model without tools.

    Each call is in a fence, together with its result. The arguments are inside the fence too, since
    a model may have copied them from foreign text.
    """
    flat: list[Message] = []
    for message, answered in with_results(history):
        if not isinstance(message, AssistantMessage):
            flat.append(message)
            continue
        if message.text:
            flat.append(replace(message, calls=()))
        for call, result in answered:
            name = _NOT_IN_NAMES.sub("_", call.name)[:_NAME_LIMIT] or "unnamed"
            content = f"{_json_object(call.arguments)}\n{result.content}"
            flat.append(UserMessage(f"Result of {name}:\n{verbatim(content, 'call and result')}"))
    return flat


def _reasoned(message: Message, dialect: Dialect) -> Message:
    """Return a reply with only the reasoning and the opaque fields that the endpoint needs."""
    if not isinstance(message, AssistantMessage):
        return message
    strictness = dialect.strictness
    wants = strictness.reasoning
    own = (message.provider, message.model) == (dialect.provider, dialect.model)
    fields: dict[str, object] = {}
    reasoning = None
    if own and wants is not Reasoning.NEVER and strictness.tools:
        fields, reasoning = _object(message.opaque), message.reasoning
        if reasoning and not any(name in fields for name in REASONING_FIELDS):
            fields[REASONING_FIELDS[0]] = None
    if wants in (Reasoning.REQUIRED, Reasoning.FILLED) and strictness.tools:
        fields.setdefault(strictness.reasoning_field, None)
        missing = NO_REASONING if wants is Reasoning.FILLED else ""
        reasoning = reasoning if reasoning and reasoning.strip() else missing
    fields = {n: v for n, v in fields.items() if n not in strictness.refused_fields}
    if not any(name in fields for name in REASONING_FIELDS):
        reasoning = None
    return replace(
        message,
        reasoning=reasoning,
        opaque=json.dumps(fields, ensure_ascii=False) if fields else None,
        calls=tuple(
            _signed(call, strictness, own=own, first=not position)
            for position, call in enumerate(message.calls)
        ),
    )


def _signed(call: ToolCall, strictness: Strictness, *, own: bool, first: bool) -> ToolCall:
    """Return a call with the opaque fields that are sent back.

    `first` means the first call of a reply. Only that call needs a signature.
    """
    fields = _object(call.opaque) if own else {}
    fields = {n: v for n, v in fields.items() if n not in strictness.refused_fields}
    if strictness.call_signatures and first:
        fields.setdefault("extra_content", dict(SIGNATURE))
    return replace(call, opaque=json.dumps(fields, ensure_ascii=False) if fields else None)


def _object(text: str | None) -> dict[str, object]:
    value = json.loads(text) if text else {}
    return dict(value) if isinstance(value, Mapping) else {}


def _merge_user_messages(history: Sequence[Message]) -> list[Message]:
    """Merge adjacent user messages, because chat templates of several servers refuse them."""
    joined: list[Message] = []
    for message in history:
        last = joined[-1] if joined else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            joined[-1] = UserMessage(
                f"{last.text}\n\n{message.text}", images=(*last.images, *message.images)
            )
        else:
            joined.append(message)
    return joined


def _in_order(history: Sequence[Message], strictness: Strictness) -> list[Message]:
    """Insert messages so that the history ends with a user or tool message.

    If the endpoint needs it, also insert messages so that roles alternate.
    """
    ordered: list[Message] = []
    for message in history:
        if strictness.alternating:
            ordered += _between(ordered[-1] if ordered else None, message)
        ordered.append(message)
    if not ordered or not isinstance(ordered[-1], UserMessage | ToolMessage):
        ordered.append(UserMessage(CONTINUE))
    return ordered


def _between(before: Message | None, message: Message) -> list[Message]:
    """Return the messages to insert between two messages so that their roles alternate."""
    match before, message:
        case ToolMessage(), UserMessage():
            return [AssistantMessage(NOTED)]
        case ((None | SystemMessage() | AssistantMessage()), AssistantMessage()):
            return [UserMessage(CONTINUE)]
        case _:
            return []
