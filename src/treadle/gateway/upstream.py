"""Sends requests to providers over pooled connections, and refuses loops back to the gateway."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from treadle.gateway.uploads import SentUpload
from treadle.llm import provider_errors
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import ProviderError

if TYPE_CHECKING:
    import ssl

    import aiohttp
import secrets
from collections.abc import Iterable
from contextvars import ContextVar

from treadle.gateway.apis import Api
from treadle.gateway.refusals import RefusalError

HEADER = "x-treadle-hop"
_MOST = 8
"""The maximum number of gateways that forward a call one after another. More mean a loop."""

_before: ContextVar[str] = ContextVar("before", default="")
"""The ids of the gateways that the current call has passed. They come from a header of the call."""


class Hops:
    """Detects calls that return to this gateway."""

    def __init__(self) -> None:
        self.own = secrets.token_hex(8)

    def onward(self) -> tuple[str, str]:
        """The name and the value of the header for requests that the current call causes."""
        before = _before.get()
        return HEADER, f"{before}, {self.own}" if before else self.own

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise RefusalError for a call that already passed this gateway, or too many gateways."""
        values = b",".join(value for name, value in headers if name == HEADER.encode())
        _before.set(values.decode("latin-1"))
        if not values:
            return
        passed = [name.strip() for name in values.decode("latin-1").split(",")]
        if self.own in passed or len(passed) > _MOST:
            raise RefusalError(
                "The call returned to this gateway: a provider's address points to it.",
                hint=(
                    "Correct the base_url of that provider; `treadle config show` lists the "
                    "providers."
                ),
                status=508,
                code="loop_detected",
                headers={"x-should-retry": "false"},
            )


Headers = list[tuple[str, str]]

_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers that apply to a single connection (RFC 9110, section 7.6.1)."""

_OURS = frozenset({
    "host", "content-length", "expect", "authorization", "api-key", "x-api-key", "x-goog-api-key",
    "cookie", "origin", "referer", "forwarded", "x-real-ip", "x-thread-id", "x-run-id", "x-label",
    "traceparent", "tracestate", "baggage", "accept-encoding",
})  # fmt: skip
"""Headers of a request that are not forwarded.

They are meant for the gateway, or describe the client or its connection.
"""

_THEIRS = frozenset({
    "date", "server", "set-cookie", "location", "refresh", "strict-transport-security", "alt-svc",
    "x-trace-id", "x-span-id",
})  # fmt: skip
"""Headers of an answer that are not returned.

Most of them refer to the provider's host, which the client did not call. The others are set by the
gateway.
"""

_READABLE = frozenset({"gzip", "deflate", "identity"})
"""The content encodings that can be decoded for the trace."""


def forwarded(headers: Iterable[tuple[str, str]]) -> Headers:
    """Select the headers of a request that are forwarded. Header names are in lower case."""
    given = list(headers)
    named = {
        name.strip().lower()
        for header, value in given
        if header == "connection"
        for name in value.split(",")
    }
    left_out = named | _OURS | _HOP_BY_HOP
    kept = [
        (name, value)
        for name, value in given
        if name not in left_out and not name.startswith(("x-treadle-", "x-forwarded-", "sec-"))
    ]
    encodings = _encodings(value for name, value in given if name == "accept-encoding")
    return [*kept, ("accept-encoding", encodings or "identity")]


def returned(
    headers: Iterable[tuple[bytes, bytes]], *, measured: bool, encoded: bool = True
) -> list[tuple[bytes, bytes]]:
    """Select the headers of an answer that are returned to the client.

    The content length is removed unless `measured` is true. The content encoding is removed unless
    `encoded` is true.
    """
    kept = []
    for name, value in headers:
        lower = name.lower()
        plain = lower.decode("latin-1")
        if plain in _HOP_BY_HOP or plain in _THEIRS or plain.startswith("x-treadle-"):
            continue
        if plain == "content-length" and not measured:
            continue
        if plain == "content-encoding" and not encoded:
            continue
        kept.append((lower, value))
    return kept


def _encodings(values: Iterable[str]) -> str:
    offered = (each.strip() for value in values for each in value.split(","))
    return ", ".join(e for e in offered if e.partition(";")[0].strip().lower() in _READABLE)


_WHOLE_FACTOR = 10
"""The time limit of an answer that is not streamed, as a multiple of the idle timeout.

The provider sends no data before such an answer is complete, so the idle timeout would be too
short.
"""
_IDLE_CONNECTION = 15.0
"""The seconds that an idle connection is kept for the next call.

Most servers keep connections longer.
"""
_PIECE = 256_000
"""The maximum number of bytes of a body that are written at once."""
_HEADER_LIMIT = 65_536
_ANSWER_LIMIT = 16_000_000
"""The maximum size in bytes of an answer that is read completely, such as a list of models."""


class Upstream:
    """Sends HTTP requests to all providers while its context is entered.

    It follows no redirects, decodes no answers and repeats no requests.
    """

    def __init__(self) -> None:
        self.hops = Hops()

    async def __aenter__(self) -> Self:
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._proxies: dict[str, str | None] = {}
        self._lock = asyncio.Lock()
        # Imported early, so that the first call does not wait for the import.
        self._loading = asyncio.ensure_future(asyncio.to_thread(import_module, "aiohttp"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._loading
        for session in self._sessions.values():
            await session.close()

    async def send(
        self,
        endpoint: Endpoint,
        path: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | SentUpload,
        *,
        stream: bool,
        method: str = "POST",
    ) -> "aiohttp.ClientResponse":
        """Send a request, and return the answer once its head has arrived.

        The caller must close or release the answer. Raises ProviderError if there is no answer.
        """
        idle = endpoint.settings.idle_timeout * (1 if stream else _WHOLE_FACTOR)
        data: object = body
        if isinstance(body, SentUpload):
            data = body.blocks()
        elif len(body) > _PIECE:
            data = _pieces(body)
        given = list(headers)
        if body or method == "POST":
            given.append(("content-length", str(len(body))))
        else:
            data = None
        return await self._request(method, endpoint, path, given, data, idle)

    async def get(self, endpoint: Endpoint, path: str, *, seconds: float) -> bytes:
        """Request `path`, and return the body of a successful answer.

        Raises ProviderError for another answer, and TimeoutError after `seconds`.
        """
        async with asyncio.timeout(seconds):
            headers = [*authorization(endpoint), self.hops.onward()]
            response = await self._request("GET", endpoint, path, headers, None, 60)
            async with response:
                content = await _bounded(endpoint, response)
        if response.status != 200:
            raise provider_errors.from_response(
                endpoint, response.status, content.decode("utf-8", "replace"), {}, 0
            )
        return content

    async def _request(  # noqa: PLR0917  (a request needs these)
        self,
        method: str,
        endpoint: Endpoint,
        path: str,
        headers: Sequence[tuple[str, str]],
        data: object,
        idle: float,
    ) -> "aiohttp.ClientResponse":
        await self._loading
        import aiohttp
        from yarl import URL

        session = self._sessions.get(endpoint.loopback) or await self._new_session(endpoint)
        proxy = await self._proxy(endpoint)
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=endpoint.settings.connect_timeout, sock_read=idle
        )
        # A provider that sends endless interim answers is never idle, so the total time is limited
        # too.
        longest = _WHOLE_FACTOR * endpoint.settings.idle_timeout + endpoint.settings.connect_timeout
        try:
            async with asyncio.timeout(longest):
                return await session.request(
                    method,
                    URL(endpoint.base_url.rstrip("/") + path, encoded=True),
                    data=data,
                    headers=headers,
                    timeout=timeout,
                    proxy=proxy,
                    allow_redirects=False,
                )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise fault(endpoint, error, idle) from error

    async def _proxy(self, endpoint: Endpoint) -> str | None:
        """The proxy for an endpoint. It is cached, since aiohttp would look it up for each call."""
        if endpoint.loopback:
            return None
        if endpoint.base_url not in self._proxies:
            found = await asyncio.to_thread(_proxy_for, endpoint.base_url)
            self._proxies[endpoint.base_url] = found
        return self._proxies[endpoint.base_url]

    async def _new_session(self, endpoint: Endpoint) -> "aiohttp.ClientSession":
        """Create the session for connections to this machine, or the session for other machines."""
        import aiohttp

        near = endpoint.loopback
        async with self._lock:
            if near not in self._sessions:
                trusted = True if near else await asyncio.to_thread(_trusted)
                connector = aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=_IDLE_CONNECTION, ssl=trusted
                )
                self._sessions[near] = aiohttp.ClientSession(
                    connector=connector,
                    auto_decompress=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept", "Content-Type"),
                    max_line_size=_HEADER_LIMIT,
                    max_field_size=_HEADER_LIMIT,
                )
            return self._sessions[near]


async def _bounded(endpoint: Endpoint, response: "aiohttp.ClientResponse") -> bytes:
    """Read the whole body of an answer. Raises ProviderError if it exceeds `_ANSWER_LIMIT`."""
    blocks: list[bytes] = []
    size = 0
    async for block in response.content.iter_chunked(_PIECE):
        blocks.append(block)
        size += len(block)
        if size > _ANSWER_LIMIT:
            raise provider_errors.protocol(
                endpoint, f"it is larger than {_ANSWER_LIMIT // 1_000_000} MB"
            )
    return b"".join(blocks)


def authorization(endpoint: Endpoint, header: str = Api.OPENAI.key_header) -> list[tuple[str, str]]:
    """The header with the API key of an endpoint. The list is empty if the endpoint has no key."""
    if not endpoint.api_key:
        return []
    bearer = header == Api.OPENAI.key_header
    return [(header, f"Bearer {endpoint.api_key}" if bearer else endpoint.api_key)]


def fault(endpoint: Endpoint, error: BaseException, idle: float) -> ProviderError:
    """Convert the error of a connection to a ProviderError."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return provider_errors.unreachable(endpoint, "it does not answer")
    if isinstance(error, TimeoutError):
        return provider_errors.stalled(endpoint, idle)
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return provider_errors.broken_off(endpoint, "the connection was interrupted")
    if isinstance(error, aiohttp.ClientResponseError):
        return provider_errors.protocol(endpoint, "its answer is not valid HTTP", retryable=True)
    return provider_errors.unreachable(
        endpoint, str(error).strip().rstrip(".") or type(error).__name__
    )


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _proxy_for(base_url: str) -> str | None:
    """The proxy for an address, from the system or from variables such as `HTTPS_PROXY`."""
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _trusted() -> "ssl.SSLContext":
    """An SSL context with the trusted authorities.

    Creating it is slow, so call this in a thread.
    """
    import httpx2

    return httpx2.create_ssl_context()
