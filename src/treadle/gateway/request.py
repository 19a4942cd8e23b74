"""An incoming call: its bytes, and its operation, model, labels and trace context."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from treadle.gateway.refusals import RefusalError
from treadle.spans.span import given_labels

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
"""W3C Trace Context, section 3.2; later versions may have more behind the flags."""

_ID_LIMIT = 256
"""Characters of a thread's or run's id; what is longer is no id."""
_LABEL_LIMIT = 128
_LABELS = 32


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Where a call stands. `parent_id` is the client's own span, if it told of one."""

    trace_id: str
    parent_id: str | None
    thread_id: str | None
    run_id: str | None
    labels: tuple[str, ...]


def read_context(headers: Mapping[str, str]) -> TraceContext:
    """What the headers, by names in lower case, say; what makes no sense is passed over."""
    parent = _parent(headers.get("traceparent", ""))
    trace_id, parent_id = parent or (_new_id(128), None)
    labels = (label.strip()[:_LABEL_LIMIT] for label in headers.get("x-label", "").split(","))
    return TraceContext(
        trace_id=trace_id,
        parent_id=parent_id,
        thread_id=_id(headers.get("x-thread-id")),
        run_id=_id(headers.get("x-run-id")),
        labels=given_labels(labels)[:_LABELS],
    )


def new_span_id() -> str:
    """An id of a span as OpenTelemetry wants it: 8 bytes."""
    return _new_id(64)


def traceparent(trace_id: str, span_id: str) -> str:
    """The header that makes whoever gets it a child of that span."""
    return f"00-{trace_id}-{span_id}-01"


def _new_id(bits: int) -> str:
    """Random bits in hex, not all of them 0.

    They have to differ, not to be secret; the system's random numbers cost a turn of all threads.
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


USAGE_OPTION = ',"stream_options":{"include_usage":true}'
"""What is put behind everything else in a body to ask for the usage of a stream."""

_KEY_MINIMUM = 8
"""Characters; what is shorter is a word that is anywhere."""

_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


class Operation(StrEnum):
    """What a client may ask for; the names are those of recorded operations."""

    CHAT = "chat"
    RESPONSES = "responses"
    EMBEDDINGS = "embeddings"

    @property
    def path(self) -> str:
        """The path behind the address of a provider."""
        return "/chat/completions" if self is Operation.CHAT else f"/{self.value}"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a call. Its text is kept as it came, so that nothing in it changes on the way.

    Bytes that are no UTF-8 stand in `text` as lone surrogates (`surrogateescape`).
    """

    text: str
    values: Mapping[str, object]
    models: tuple[tuple[int, int], ...]
    """Where in the text the names of the model stand."""
    end: int
    """Where its last brace stands."""

    @classmethod
    def read(cls, content: bytes) -> "Body":
        """Read a body, which takes a while when it is large. Raises RefusalError."""
        text = content.decode("utf-8", "surrogateescape")
        try:
            return cls._scanned(text)
        except (ValueError, IndexError, RecursionError) as error:
            raise RefusalError(
                "The body is not a JSON object.",
                hint="Send a request in the format of the OpenAI API.",
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

    def written(self, model: str, *, ask_for_usage: bool) -> bytes:
        """The bytes to send: those that came, but for another model's name and that question."""
        pieces, at = [], 0
        if self.values.get("model") != model:
            for start, end in self.models:
                pieces += [self.text[at:start], json.dumps(model)]
                at = end
        if ask_for_usage:
            pieces += [self.text[at : self.end], USAGE_OPTION]
            at = self.end
        pieces.append(self.text[at:])
        return "".join(pieces).encode("utf-8", "surrogateescape")


def without_key(text: str, key: str | None) -> str:
    """`text` without the client's own key, which it or a provider's error may quote."""
    return text.replace(key, "[redacted:key]") if key and len(key) >= _KEY_MINIMUM else text


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # it also matches nothing
    return match.end()


def _expect(text: str, at: int, mark: str) -> int:
    """Where the next thing stands behind `mark`."""
    at = _skip(text, at)
    if text[at] != mark:
        raise ValueError(f"expected {mark}")
    return _skip(text, at + 1)


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call. Names of headers are in lower case; `key` is what the client brought as its own."""

    operation: Operation
    content: bytes
    body: Body
    headers: tuple[tuple[str, str], ...]
    query: str
    context: TraceContext
    key: str | None = field(default=None, repr=False)

    @property
    def model(self) -> str:
        """The model as the client names it. Raises RefusalError where it names none."""
        name = self.body.values.get("model")
        if not isinstance(name, str) or not name.strip():
            raise RefusalError(
                "The request names no model.",
                hint="Set `model` to PROVIDER/MODEL; GET /v1/models lists the models.",
                status=400,
                code="missing_model",
                param="model",
            )
        return name.strip()

    @property
    def stream(self) -> bool:
        return self.body.values.get("stream") is True

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        """The tools that are offered, as they are offered."""
        offered = self.body.values.get("tools") or self.body.values.get("functions")
        tools = offered if isinstance(offered, list) else []
        return tuple(tool for tool in tools if isinstance(tool, Mapping))

    @property
    def images(self) -> bool:
        """Whether there are images in it. In a text these words would have a backslash."""
        return b'"image_url"' in self.content or b'"input_image"' in self.content

    @property
    def lacks_usage(self) -> bool:
        """Whether it is a stream that will not tell its usage unless it is asked."""
        silent = self.operation is Operation.CHAT and self.stream
        return silent and "stream_options" not in self.body.values

    def with_body(self, content: bytes, body: Body) -> "CallRequest":
        """The same call with another body."""
        return CallRequest(
            self.operation, content, body, self.headers, self.query, self.context, self.key
        )
