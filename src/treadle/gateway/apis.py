"""The HTTP APIs that the gateway serves, and the operations at their paths."""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote


class Api(StrEnum):
    """The API that a client uses. It determines paths, headers and the form of errors."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"

    @property
    def key_header(self) -> str:
        """The header with the API key in a request to a provider."""
        return _KEY_HEADERS[self]


_KEY_HEADERS = {
    Api.OPENAI: "authorization",
    Api.ANTHROPIC: "x-api-key",
    Api.GEMINI: "x-goog-api-key",
}


class Operation(StrEnum):
    """The operations that clients call. Their values are the names in recorded spans."""

    CHAT = "chat"
    RESPONSES = "responses"
    EMBEDDINGS = "embeddings"
    GENERATE_CONTENT = "generate_content"
    COUNT_TOKENS = "count_tokens"
    IMAGES = "images"
    AUDIO = "audio"
    MODERATIONS = "moderations"
    FILES = "files"
    BATCHES = "batches"

    @property
    def passes_through(self) -> bool:
        """Whether the body of a call may be a file or a form, and its answer may be media."""
        return self in _PASSING

    @property
    def makes_media(self) -> bool:
        """Whether a model reads or makes images or sound."""
        return self in {Operation.IMAGES, Operation.AUDIO}

    @property
    def generates(self) -> bool:
        """Whether the model generates messages."""
        return self in {Operation.CHAT, Operation.RESPONSES, Operation.GENERATE_CONTENT}


_PASSING = frozenset({
    Operation.IMAGES, Operation.AUDIO, Operation.MODERATIONS, Operation.FILES, Operation.BATCHES,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """The operation that a client calls, and its path.

    `path` is the part of the URL after the address of a provider. In Gemini's API, the URL contains
    the name of the model, `model`, and `path` is the part after that name. `stream` states whether
    the path requests a stream.
    """

    operation: Operation
    path: str
    api: Api = Api.OPENAI
    model: str | None = None
    stream: bool = False
    method: str = "POST"

    def path_for(self, model: str) -> str:
        """The path below the address of a provider, for its model `model`."""
        if self.api is not Api.GEMINI:
            return self.path
        return f"/models/{quote(model, safe='')}:{self.path}"


_TARGETS = {
    f"/v1{target.path}": target
    for target in (
        Target(Operation.CHAT, "/chat/completions"),
        Target(Operation.RESPONSES, "/responses"),
        Target(Operation.EMBEDDINGS, "/embeddings"),
        Target(Operation.CHAT, "/messages", Api.ANTHROPIC),
        Target(Operation.COUNT_TOKENS, "/messages/count_tokens", Api.ANTHROPIC),
    )
}

_GEMINI = re.compile(r"/(?:v1|v1beta|v1alpha)/models/(.+):(\w+)")
"""Matches the paths of Gemini's API. Its clients use different versions of the API."""

_GEMINI_METHODS = {
    "generateContent": Operation.GENERATE_CONTENT,
    "streamGenerateContent": Operation.GENERATE_CONTENT,
    "embedContent": Operation.EMBEDDINGS,
    "batchEmbedContents": Operation.EMBEDDINGS,
    "countTokens": Operation.COUNT_TOKENS,
}

_PASSED = re.compile(r"/v1(/(images|audio|moderations|files|batches)(?:/[\w-][\w.-]*)*)", re.ASCII)

PATHS = (
    *_TARGETS,
    *(f"/v1/{operation.value}" for operation in sorted(_PASSING)),
    *(f"/v1/{operation.value}/{{rest:path}}" for operation in sorted(_PASSING)),
    "/v1/models",
    *(f"/{version}/models/{{model:path}}" for version in ("v1", "v1beta", "v1alpha")),
)
"""The paths that the gateway serves, as patterns of routes."""


def find_target(method: str, path: str) -> Target | None:
    """The target of a request, or None if the gateway does not forward the request."""
    passed = _PASSED.fullmatch(path)
    if passed is not None and method in {"GET", "POST", "DELETE"}:
        return Target(Operation(passed[2]), passed[1], method=method)
    if method != "POST":
        return None
    match = _GEMINI.fullmatch(path)
    if match is not None and (operation := _GEMINI_METHODS.get(match[2])):
        streams = match[2] == "streamGenerateContent"
        return Target(operation, match[2], Api.GEMINI, match[1], streams)
    return _TARGETS.get(path)


def api_of(path: str) -> Api:
    """The API of a path, whether the gateway serves the path or not."""
    if path.startswith(("/v1beta/", "/v1alpha/")) or _GEMINI.fullmatch(path):
        return Api.GEMINI
    return Api.ANTHROPIC if path.startswith("/v1/messages") else Api.OPENAI
