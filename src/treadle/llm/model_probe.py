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

    `context_window` is in tokens, or None if the provider reports none.
    """

    id: str
    context_window: int | None = None


async def probe(base_url: str) -> tuple[ModelInfo, ...] | None:
    """Return the models of the server at an `http` address, or None if it gives no valid answer."""
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
        ModelInfo(str(entry["id"]), _window(entry))
        for entry in entries
        if isinstance(entry, dict) and entry.get("id")
    )


def _get(base_url: str) -> tuple[ModelInfo, ...]:
    parts = urlsplit(base_url)
    deadline = time.monotonic() + PROBE_SECONDS
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        response = connection.getresponse()
        if response.status != http.client.OK or time.monotonic() > deadline:
            raise ValueError(f"status {response.status}")
        return parse_models(json.loads(_read(response, deadline)))
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
