"""Lists the models of servers on this machine without loading a client library."""

import asyncio
import http.client
import json
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

PROBE_SECONDS = 0.25
"""The time limit in seconds for a server on this machine to list its models."""

_BODY_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model of a provider.

    `context_window` is in tokens. A value that the provider does not report is None.
    """

    id: str
    context_window: int | None = None
    takes_images: bool | None = None
    takes_tools: bool | None = None


async def probe(base_url: str) -> tuple[ModelInfo, ...] | None:
    """Return the models of the server at an `http` address, or None if its answer is not valid."""
    try:
        async with asyncio.timeout(2 * PROBE_SECONDS):
            return await asyncio.to_thread(_get, base_url)
    except (OSError, TimeoutError, ValueError, RecursionError, http.client.HTTPException):
        return None


def parse_models(body: object) -> tuple[ModelInfo, ...]:
    """Return the models in the answer to `GET /models`.

    Raises ValueError if the answer has no list.
    """
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise ValueError("no list of models")  # noqa: TRY004  (the content is wrong, not the call)
    return tuple(
        ModelInfo(str(entry["id"]), _window(entry), _takes_images(entry), _takes_tools(entry))
        for entry in entries
        if isinstance(entry, dict) and entry.get("id")
    )


async def probe_images(base_url: str) -> bool | None:
    """Return whether the llama.cpp server at an `http` address takes images.

    The result is None if the server does not report it.
    """
    try:
        async with asyncio.timeout(2 * PROBE_SECONDS):
            properties = await asyncio.to_thread(_get_json, base_url.removesuffix("/v1"), "/props")
    except (OSError, TimeoutError, ValueError, RecursionError, http.client.HTTPException):
        return None
    modalities = properties.get("modalities") if isinstance(properties, dict) else None
    vision = modalities.get("vision") if isinstance(modalities, dict) else None
    return vision if isinstance(vision, bool) else None


def _get(base_url: str) -> tuple[ModelInfo, ...]:
    return parse_models(_get_json(base_url, "/models"))


def _get_json(base_url: str, path: str) -> object:
    parts = urlsplit(base_url)
    deadline = time.monotonic() + PROBE_SECONDS
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}{path}")
        response = connection.getresponse()
        if response.status != http.client.OK or time.monotonic() > deadline:
            raise ValueError(f"status {response.status}")
        return json.loads(_read(response, deadline))
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """Read the body. Raises ValueError if it is too large or too slow."""
    blocks: list[bytes] = []
    size = 0
    while block := response.read1(65_536):
        blocks.append(block)
        size += len(block)
        if size > _BODY_LIMIT or time.monotonic() > deadline:
            raise ValueError("it is too large or too slow")
    return b"".join(blocks)


def _window(entry: dict[str, object]) -> int | None:
    """Return the context window in tokens, or None if the entry has none.

    vLLM, OpenRouter and llama.cpp use different names for the value.
    """
    meta = entry.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    values = (entry.get("max_model_len"), entry.get("context_length"), meta.get("n_ctx"))
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _takes_images(entry: dict[str, object]) -> bool | None:
    """Return whether a model takes images, from the lists of OpenRouter and Mistral."""
    described, abilities = entry.get("architecture"), entry.get("capabilities")
    kinds = described.get("input_modalities") if isinstance(described, dict) else None
    if isinstance(kinds, list):
        return "image" in kinds
    vision = abilities.get("vision") if isinstance(abilities, dict) else None
    return vision if isinstance(vision, bool) else None


def _takes_tools(entry: dict[str, object]) -> bool | None:
    """Return whether a model takes tools, from the lists of OpenRouter and Mistral."""
    parameters, abilities = entry.get("supported_parameters"), entry.get("capabilities")
    if isinstance(parameters, list):
        return "tools" in parameters
    calls = abilities.get("function_calling") if isinstance(abilities, dict) else None
    return calls if isinstance(calls, bool) else None
