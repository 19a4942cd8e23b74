"""The facts about a span that an analysis keeps in memory, in a few hundred bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from treadle.diagnosis.detectors.examination import content_digest
from treadle.diagnosis.detectors.finding import word_set
from treadle.diagnosis.evidence import Evidence, SpanReference
from treadle.diagnosis.field_paths import parsed
from treadle.diagnosis.report.prompt_conflicts import contradictions
from treadle.diagnosis.span_messages import Call, Message, Role, Text, read, tool_name
from treadle.spans.span import WAITED, Span, SpanKind

OPENING_MESSAGES = 4
"""How many messages at the beginning of a request are compared with the preceding request."""
_MAX_NAMES = 40
_MAX_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PromptConflict:
    """Two conflicting quotes of one prompt, and their subject."""

    about: str
    one: Evidence
    other: Evidence


@dataclass(frozen=True, slots=True)
class Request:
    """A tool call in a model's reply. `call_digest` is a digest of the tool and the arguments."""

    path: str
    call_digest: bytes


class Form(StrEnum):
    """The form of a result, which is compared with the forms of other results of its tool."""

    NOTHING = "nothing"
    OBJECT = "a JSON object"
    LIST = "a JSON list"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Result:
    """The form of a result. `names` are the keys of a JSON object.

    `empty_names` are the keys whose values are empty.
    """

    form: Form
    names: frozenset[str] = frozenset()
    empty_names: frozenset[str] = frozenset()
    only_list_empty: bool = False
    """Whether the result contains lists, and all of them are empty.

    Lists of errors do not count.
    """


NO_RESULT = Result(Form.NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanFacts:
    """Digests, sizes and names from a span's content.

    `call_digest` is the digest of a call's tool and arguments. `answer_digest` is the digest of the
    call's answer. `arguments` contains the names of the call's arguments. `instructions` is the
    digest of a model call's system messages. `requests` contains the tool calls in a model's reply.
    Sizes are in characters.
    """

    tool: str = ""
    call_digest: bytes | None = None
    answer_digest: bytes | None = None
    arguments: frozenset[str] | None = None
    said: str = ""
    """The values of the arguments as text, cut to 200 characters, for comparisons."""
    result: Result = NO_RESULT
    output_size: int = 0
    opening: tuple[bytes, ...] = ()
    """The digests of the first messages of a model call's request."""
    instructions: bytes | None = None
    requests: tuple[Request, ...] = ()
    conflicts: tuple[PromptConflict, ...] = ()
    waited_us: int = 0
    """The time in microseconds that the span waited for a person."""


_NOTHING = frozenset({"", "null", "{}", "[]", '""'})
_EMPTY_VALUES: tuple[object, ...] = (None, "", [], {})
_WELCOME_EMPTY = word_set(
    "error errors issues warnings problems failures violations conflicts diagnostics"
)
"""Names of lists that are empty in a good result."""
_CALLS = frozenset({SpanKind.TOOL, SpanKind.RETRIEVAL, SpanKind.EMBEDDING, SpanKind.AGENT})


def span_facts(span: Span) -> SpanFacts:
    """Return the facts about a span."""
    waited = span.attributes.get(WAITED)
    waited_us = waited if isinstance(waited, int) else 0
    if span.kind is SpanKind.MODEL:
        return _of_model(span, waited_us)
    if span.kind not in _CALLS:
        return SpanFacts(output_size=len(span.output or ""), waited_us=waited_us)
    tool = tool_name(span) if span.kind is SpanKind.TOOL else span.name
    has_input = span.input is not None and bool(span.input.strip())
    return SpanFacts(
        tool=tool,
        call_digest=content_digest(f"call {tool}", span.input or "") if has_input else None,
        answer_digest=content_digest("result", span.output) if span.output is not None else None,
        arguments=_names(span.input) if span.kind is SpanKind.TOOL else None,
        said=_values(span.input),
        result=result_of(span.output),
        output_size=len(span.output or ""),
        waited_us=waited_us,
    )


def result_of(output: str | None) -> Result:
    """Return the form of the result of a tool."""
    said = (output or "").strip()
    if said in _NOTHING:
        return NO_RESULT
    if said[0] not in "[{":
        return Result(Form.TEXT)
    try:
        value = parsed(said)
    except ValueError:
        return Result(Form.TEXT)
    if not isinstance(value, dict):
        return Result(Form.LIST)
    names = sorted(value)[:_MAX_NAMES]
    lists = [
        name
        for name, each in value.items()
        if isinstance(each, list) and name not in _WELCOME_EMPTY
    ]
    return Result(
        Form.OBJECT,
        frozenset(names),
        frozenset(name for name in names if value[name] in _EMPTY_VALUES),
        bool(lists) and not any(value[name] for name in lists),
    )


def _of_model(span: Span, waited_us: int) -> SpanFacts:
    reading = read(span)
    instructing = [message for message in reading.history if message.role is Role.SYSTEM]
    texts = [text for message in instructing for text in message.texts]
    here = SpanReference(span.trace_id, span.span_id)
    calls = [call for message in reading.reply for call in message.calls]
    return SpanFacts(
        output_size=len(span.output or ""),
        opening=tuple(map(_digest, reading.history[:OPENING_MESSAGES])),
        instructions=_digest(*instructing) if instructing else None,
        requests=tuple(map(_request, calls)),
        conflicts=tuple(found for text in texts for found in _conflicts_of(text, here)),
        waited_us=waited_us,
    )


def _digest(*messages: Message) -> bytes:
    said = "\0".join(
        f"{message.role}\1{text.text}" for message in messages for text in message.texts
    )
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _request(call: Call) -> Request:
    return Request(call.path, content_digest(f"call {call.name}", call.arguments or ""))


def _conflicts_of(text: Text, span: SpanReference) -> Iterator[PromptConflict]:
    for found in contradictions(text.text):
        one, other = (
            Evidence(span, text.path, each.start, each.end, text.text[each.start : each.end])
            for each in (found.one, found.other)
        )
        yield PromptConflict(found.about, one, other)


def _names(arguments: str | None) -> frozenset[str] | None:
    """Return the names of the arguments, or None if some of them have no name.

    Programs record a call of a function as an object of its arguments, as a list, or as an object
    with `args` and `kwargs`.
    """
    try:
        value = parsed(arguments or "{}")
    except ValueError:
        return None
    if isinstance(value, dict) and value.keys() <= {"args", "kwargs"}:
        if value.get("args"):
            return None
        value = value.get("kwargs", {})
    return frozenset(sorted(value)[:_MAX_NAMES]) if isinstance(value, dict) else None


def _values(arguments: str | None) -> str:
    try:
        value = parsed(arguments or "")
    except ValueError:
        value = arguments
    values = value.values() if isinstance(value, dict) else (value,)
    return " ".join(str(each) for each in values)[:_MAX_CHARACTERS]
