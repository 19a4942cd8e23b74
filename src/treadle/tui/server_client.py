"""Calls the HTTP interface of a running `treadle serve`."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp

from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.json_records import JsonMismatchError, from_json
from treadle.secrets import register
from treadle.visible import in_line

TOKEN_VARIABLE = "TREADLE_TOKEN"  # noqa: S105  (the name of a variable)
_API = "/api/v1"
_TIMEOUT = aiohttp.ClientTimeout(total=90)
_MAX_MESSAGE = 64 << 20
"""The largest message of the event socket, in bytes. One event can contain a whole prompt."""
_SILENCE_SECONDS = 45.0
"""After this time without a message, the connection is treated as lost.

The server sends a message at least every 15 s.
"""


class ServerLostError(TreadleError):
    """The server does not answer."""


def server_address(text: str) -> str:
    """Return the address of a server, without a path.

    Raises UsageError if `text` is not the address of a server.
    """
    url = urlsplit(text if "://" in text else f"http://{text}")
    try:
        valid = url.scheme in {"http", "https"} and url.hostname and (url.port or 1)
    except ValueError:
        valid = None
    if not valid or url.username or url.query:
        raise UsageError(
            f"{in_line(text[:200])} is not the address of a server.",
            hint="Pass the address that `treadle serve` prints, such as http://127.0.0.1:7070.",
        )
    return f"{url.scheme}://{url.netloc}"


class ServerClient:
    """Sends requests to one server. `address` has no path. `token` is the access token."""

    def __init__(self, address: str, token: str | None, session: aiohttp.ClientSession) -> None:
        self.address = address
        self._session = session
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    @classmethod
    @asynccontextmanager
    async def open(cls, address: str, token: str | None) -> "AsyncIterator[ServerClient]":
        """Open the connections to a server."""
        if token:
            register(token)
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            yield cls(address, token, session)

    async def get(self, path: str, kind: Any = Any, /, **parameters: object) -> Any:
        """Request a value, and return it as the type `kind`.

        Parameters that are None are not sent.
        """
        return await self._call("GET", path, kind, parameters, None)

    async def post(
        self,
        path: str,
        body: Mapping[str, object] | None = None,
        kind: Any = Any,
        /,
        **parameters: object,
    ) -> Any:
        """Send a POST request with a JSON object, and read the answer."""
        return await self._call("POST", path, kind, parameters, body)

    async def put(self, path: str, body: Mapping[str, object], kind: Any = Any) -> Any:
        """Send a PUT request with a JSON object, and read the answer."""
        return await self._call("PUT", path, kind, {}, body)

    async def lines(self, path: str, body: Mapping[str, object]) -> AsyncIterator[Any]:
        """Send a POST request with a JSON object, and yield the lines of the answer as they arrive.

        Each line is parsed as JSON.
        """
        url = f"{self.address}{_API}{path}"
        try:
            async with self._session.post(
                url, json=body, headers=self._headers, timeout=aiohttp.ClientTimeout()
            ) as answer:
                if not answer.ok:
                    raise self._refusal(answer.status, await answer.read())
                rest = b""
                async for data in answer.content.iter_any():
                    *whole, rest = (rest + data).split(b"\n")
                    for line in whole:
                        yield json.loads(line)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(error) from error

    async def patch(self, path: str, body: Mapping[str, object], kind: Any = Any) -> Any:
        """Send a PATCH request with a JSON object, and read the answer."""
        return await self._call("PATCH", path, kind, {}, body)

    async def delete(self, path: str, kind: Any = Any) -> Any:
        """Send a DELETE request, and read the answer."""
        return await self._call("DELETE", path, kind, {}, None)

    async def socket(self, after: int | None) -> aiohttp.ClientWebSocketResponse:
        """Open a socket that receives the events after number `after`. None means only new events.

        While the socket is open, questions for approval reach this terminal. Raises TreadleError.
        """
        parameters = {"approve": "true"} | ({} if after is None else {"after": str(after)})
        try:
            return await self._session.ws_connect(
                f"{self.address}{_API}/events/socket",
                params=parameters,
                headers=self._headers,
                max_msg_size=_MAX_MESSAGE,
                timeout=aiohttp.ClientWSTimeout(ws_receive=_SILENCE_SECONDS),
            )
        except aiohttp.WSServerHandshakeError as error:
            raise self._refusal(error.status, b"") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(error) from error

    async def _call(
        self,
        method: str,
        path: str,
        kind: Any,
        parameters: Mapping[str, object],
        body: Mapping[str, object] | None,
    ) -> Any:
        sent = {name: _text(each) for name, each in parameters.items() if each is not None}
        try:
            async with self._session.request(
                method, f"{self.address}{_API}{path}", params=sent, json=body, headers=self._headers
            ) as answer:
                content = await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(error) from error
        if not answer.ok:
            raise self._refusal(answer.status, content)
        return self.read(json.loads(content), kind) if content else None

    def read(self, data: object, kind: Any) -> Any:
        """Read a part of an answer as a value of the type `kind`. Raises TreadleError."""
        try:
            return from_json(kind, data)
        except JsonMismatchError as error:
            raise TreadleError(
                f"An answer of the server at {self.address} has an unknown form.",
                hint="The server may have another version of Treadle: restart it.",
            ) from error

    def _lost(self, error: Exception) -> ServerLostError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ServerLostError(
            f"The server at {self.address} does not answer: {in_line(reason)}.",
            hint="Check that `treadle serve` runs, and its address.",
        )

    def _refusal(self, status: int, content: bytes) -> TreadleError:
        """Return the error that an answer reports.

        The program at the address may not be Treadle, so the answer can have any form.
        """
        if status == 401:
            return UsageError(
                f"The server at {self.address} does not accept this client.",
                hint=f"Set {TOKEN_VARIABLE} to its token: `treadle serve` prints the file that "
                "contains it.",
            )
        try:
            detail = json.loads(content)["error"]
            message, hint = str(detail["message"]), detail.get("hint")
        except (ValueError, TypeError, KeyError, AttributeError):
            message, hint = f"The server at {self.address} answered with status {status}.", None
        kind = NotFoundError if status == 404 else TreadleError
        return kind(message, hint=None if hint is None else str(hint))


def segment(text: object) -> str:
    """Quote an id for use as one segment of a URL path."""
    return quote(str(text), safe="")


def _text(value: object) -> str | list[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value)
