"""A call as it came: its bytes, and what routing and recording have to know of them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from treadle.gateway.refusals import RefusalError
from treadle.gateway.trace_context import TraceContext

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
class Asked:
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

    def with_body(self, content: bytes, body: Body) -> "Asked":
        """The same call with another body."""
        return Asked(
            self.operation, content, body, self.headers, self.query, self.context, self.key
        )
