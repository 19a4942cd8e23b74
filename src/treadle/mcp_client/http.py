"""The transport to a server that speaks streamable HTTP."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from treadle.config.mcp import McpServerSettings
from treadle.errors import ConfigError
from treadle.llm.profiles import checked_key, key_in_keyring
from treadle.secrets import register

if TYPE_CHECKING:  # the SDK loads slowly
    from mcp.client._transport import TransportStreams

_CONNECT_SECONDS = 10.0
_BEARER = "Bearer "


async def headers_of(settings: McpServerSettings, env: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a server, and register their values for redaction.

    Raises ConfigError if a value is missing or cannot be the value of a header.
    """
    headers: dict[str, str] = {}
    for header, variable in settings.header_env.items():
        headers[header] = _value(env.get(variable), variable)
    for header, entry in settings.header_keyring.items():
        value = await asyncio.to_thread(key_in_keyring, entry)
        headers[header] = _value(value, f"the keyring entry {entry!r}")
    return headers


def _value(value: str | None, source: str) -> str:
    """Return the value of a header. It may begin with the word Bearer."""
    text = (value or "").strip()
    key = checked_key(text.removeprefix(_BEARER), source)
    if key is None:
        raise ConfigError(f"{source} is not set or empty.", hint=f"Set {source}.")
    register(text)
    return text


@asynccontextmanager
async def http_streams(
    url: str, headers: Mapping[str, str], seconds: float
) -> "AsyncIterator[TransportStreams]":
    """Yield the streams of a connection to `url`. `seconds` is the limit of a call."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    limits = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=limits, trust_env=False) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
