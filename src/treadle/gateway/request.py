"""Parses an incoming call: its operation, model, labels and trace context."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from treadle.gateway.apis import Api, Operation, Target
from treadle.gateway.refusals import RefusalError
from treadle.gateway.uploads import Upload
from treadle.spans.span import given_labels
from treadle.spans.vocabularies.metadata import THREADS_IN_METADATA

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
"""The format of the header `traceparent` (W3C Trace Context, section 3.2).

The last group matches fields that later versions may append.
"""

_ID_LIMIT = 256
"""The maximum number of characters of a thread id or run id. A longer id is ignored."""
_LABEL_LIMIT = 128
_LABELS = 32


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The trace context of a call. `parent_id` is the id of the client's span, or None."""

    trace_id: str
    parent_id: str | None
    thread_id: str | None
    run_id: str | None
    labels: tuple[str, ...]


def read_context(
    headers: Mapping[str, str], values: Mapping[str, object] | None = None
) -> TraceContext:
    """Parse the headers, whose names are in lower case. Invalid values are ignored.

    `values` is the parsed body. It may name the thread if the headers do not.
    """
    parent = _parent(headers.get("traceparent", ""))
    trace_id, parent_id = parent or (_new_id(128), None)
    labels = (label.strip()[:_LABEL_LIMIT] for label in headers.get("x-label", "").split(","))
    return TraceContext(
        trace_id=trace_id,
        parent_id=parent_id,
        thread_id=_id(headers.get("x-thread-id")) or _thread(values or {}),
        run_id=_id(headers.get("x-run-id")),
        labels=given_labels(labels)[:_LABELS],
    )


def _thread(values: Mapping[str, object]) -> str | None:
    """The thread that a body names in its metadata or, in the Responses API, as `conversation`."""
    metadata = values.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    session = claude_code_session(given.get("user_id"))
    conversation = values.get("conversation")
    if isinstance(conversation, Mapping):
        conversation = conversation.get("id")
    names = [*map(given.get, THREADS_IN_METADATA), session and session.id, conversation]
    return next((name for each in names if isinstance(each, str) and (name := _id(each))), None)


@dataclass(frozen=True, slots=True)
class ClaudeCodeSession:
    """The user and the session that Claude Code sends together in `metadata.user_id`."""

    user: str
    id: str


_CLAUDE_CODE_USER = re.compile(r"(user_[0-9a-f]+_account_[\w-]*?)_session_([\w-]+)", re.ASCII)


def claude_code_session(user_id: object) -> ClaudeCodeSession | None:
    """Split the `metadata.user_id` of Claude Code. The result is None for other texts.

    `user_id` contains the session, so it differs between sessions of the same user.
    """
    if not isinstance(user_id, str):
        return None
    match = _CLAUDE_CODE_USER.fullmatch(user_id)
    if match is not None:
        return ClaudeCodeSession(*match.groups())
    if not user_id.startswith("{"):
        return None
    try:
        parts = json.loads(user_id)
    except (ValueError, RecursionError):
        return None
    user, session = parts.get("account_uuid") or parts.get("device_id"), parts.get("session_id")
    if isinstance(user, str) and isinstance(session, str) and session:
        return ClaudeCodeSession(user, session)
    return None


def new_span_id() -> str:
    """A new OpenTelemetry span id, which has 8 bytes."""
    return _new_id(64)


def traceparent(trace_id: str, span_id: str) -> str:
    """The value of the header `traceparent` that makes the receiver's span a child of `span_id`."""
    return f"00-{trace_id}-{span_id}-01"


def _new_id(bits: int) -> str:
    """A random hexadecimal id of `bits` bits, which are not all 0.

    Ids must differ but need not be secret. The random numbers of the operating system are not used,
    since a thread that requests them makes other threads wait.
    """
    return f"{random.getrandbits(bits) or 1:0{bits // 4}x}"


def _parent(text: str) -> tuple[str, str] | None:
    match = _TRACEPARENT.fullmatch(text.strip())
    if match is None:
        return None
    version, trace_id, span_id, more = match.groups()
    if version == "ff" or (version == "00" and more):
        return None
    if not (trace_id.strip("0") and span_id.strip("0")):
        return None
    return trace_id, span_id


def _id(text: str | None) -> str | None:
    text = (text or "").strip()
    return text if text and len(text) <= _ID_LIMIT else None


_IMAGES = {
    Api.OPENAI: (b'"image_url"', b'"input_image"'),
    Api.ANTHROPIC: (b'"image"',),
    Api.GEMINI: (b'"inlineData"', b'"inline_data"', b'"fileData"', b'"file_data"'),
}
"""The names that only requests with images or other media contain."""

USAGE_OPTION = ',"stream_options":{"include_usage":true}'
"""The text that is inserted before the last brace of a body to request the usage of a stream."""

_KEY_MINIMUM = 8
"""The minimum number of characters of an API key that is removed from texts.

A shorter key could occur in a text by chance.
"""

_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a call.

    The text is kept as it arrived, so that it can be forwarded unchanged. In `text`, lone
    surrogates represent bytes that are not UTF-8 (`surrogateescape`).
    """

    text: str
    values: Mapping[str, object]
    models: tuple[tuple[int, int], ...]
    """The start and end of each occurrence of the model's name in the text."""
    end: int
    """The position of the last brace in the text."""

    @classmethod
    def read(cls, content: bytes) -> "Body":
        """Parse a body. This is slow for a large body. Raises RefusalError for an invalid body."""
        text = content.decode("utf-8", "surrogateescape")
        try:
            return cls._scanned(text)
        except (ValueError, IndexError, RecursionError) as error:
            raise RefusalError(
                "The body is not a JSON object.",
                hint="Send a request in the format of the API.",
                status=400,
                code="invalid_json",
            ) from error

    @classmethod
    def _scanned(cls, text: str) -> "Body":
        values: dict[str, object] = {}
        models = []
        at = _expect(text, _skip(text, 0), "{")
        if text[at] == "}":
            return cls(text, values, (), at)
        while True:
            name, at = _scan(text, at)
            if not isinstance(name, str):
                raise ValueError("a name is a string")  # noqa: TRY004  (the content is wrong)
            at = _expect(text, at, ":")
            values[name], end = _scan(text, at)
            if name == "model":
                models.append((at, end))
            at = _skip(text, end)
            if text[at] == "}":
                if _skip(text, at + 1) != len(text):
                    raise ValueError("something follows")
                return cls(text, values, tuple(models), at)
            at = _expect(text, at, ",")

    def encode(self, model: str, *, ask_for_usage: bool) -> bytes:
        """The original bytes with the model name `model`.

        With `ask_for_usage`, `USAGE_OPTION` is inserted.
        """
        parts, at = [], 0
        if self.values.get("model") != model:
            for start, end in self.models:
                parts += [self.text[at:start], json.dumps(model)]
                at = end
        if ask_for_usage:
            parts += [self.text[at : self.end], USAGE_OPTION]
            at = self.end
        parts.append(self.text[at:])
        return "".join(parts).encode("utf-8", "surrogateescape")


def without_key(text: str, key: str | None) -> str:
    """Remove the client's own API key from `text`, for example from an error that quotes it."""
    return text.replace(key, "[redacted:key]") if key and len(key) >= _KEY_MINIMUM else text


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None  # the pattern matches an empty text too
    return match.end()


def _expect(text: str, position: int, mark: str) -> int:
    """Skip `mark`, and return the position of the next value.

    Raises ValueError if `mark` is missing.
    """
    position = _skip(text, position)
    if text[position] != mark:
        raise ValueError(f"expected {mark}")
    return _skip(text, position + 1)


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call of a client. Header names are in lower case. `key` is the client's own API key."""

    target: Target
    content: bytes
    body: Body
    headers: tuple[tuple[str, str], ...]
    query: str
    context: TraceContext
    key: str | None = field(default=None, repr=False)
    upload: Upload | None = field(default=None, repr=False)
    """The body, if it is not JSON. In this case `content` is empty."""

    @property
    def operation(self) -> Operation:
        """The operation that the client calls."""
        return self.target.operation

    @property
    def named_model(self) -> str | None:
        """The model name that the client sent in the URL or in the body, or None."""
        name = self.target.model or self.body.values.get("model")
        return name.strip() or None if isinstance(name, str) else None

    @property
    def model(self) -> str:
        """The model name that the client sent. Raises RefusalError if the name is missing."""
        name = self.named_model
        if name is None:
            raise RefusalError(
                "The request names no model.",
                hint="Set `model` to PROVIDER/MODEL; GET /v1/models lists the models.",
                status=400,
                code="missing_model",
                param="model",
            )
        return name

    def key_header(self, api_key: str | None) -> str:
        """The header in which a provider gets the key `api_key`.

        A client of Anthropic may send its own key as a bearer token. In this case, the provider
        gets the key as a bearer token too.
        """
        bearer = Api.OPENAI.key_header
        own = api_key == self.key and any(name == bearer for name, _ in self.headers)
        return bearer if own else self.target.api.key_header

    @property
    def stream(self) -> bool:
        return self.target.stream or self.body.values.get("stream") is True

    @property
    def parameters(self) -> Mapping[str, object]:
        """The fields of the body. The parameters of Gemini are in `generationConfig`."""
        values = self.body.values
        if self.target.api is not Api.GEMINI:
            return values
        config = values.get("generationConfig") or values.get("generation_config")
        rest = {
            name: value
            for name, value in values.items()
            if name not in {"generationConfig", "generation_config"}
        }
        return {**rest, **(config if isinstance(config, Mapping) else {})}

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        """The offered tools, as the client sent them."""
        offered = self.body.values.get("tools") or self.body.values.get("functions")
        tools = offered if isinstance(offered, list) else []
        return tuple(tool for tool in tools if isinstance(tool, Mapping))

    @property
    def images(self) -> bool:
        """Whether the call has images.

        The searched names include their quotation marks. A quotation mark inside a JSON string is
        escaped, so a text that mentions the names does not match.
        """
        return any(name in self.content for name in _IMAGES[self.target.api])

    @property
    def lacks_usage(self) -> bool:
        """Whether the call requests a stream, but not the usage of the stream."""
        chat = self.operation is Operation.CHAT and self.target.api is Api.OPENAI
        silent = chat and self.stream
        return silent and "stream_options" not in self.body.values

    def with_body(self, content: bytes, body: Body) -> "CallRequest":
        """The same call with another body."""
        return replace(self, content=content, body=body)
