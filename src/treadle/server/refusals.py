"""The error responses of the guard."""

from typing import NamedTuple

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

POLICY_VIOLATION = 1008
"""The code with which the server closes a WebSocket that it refuses."""


class Refusal(NamedTuple):
    """An error response of the guard.

    `retry_after`, if set, is the number of seconds after which the client may try again.
    """

    status: int
    message: str
    hint: str
    retry_after: int | None = None


class RefusedError(Exception):
    """The guard refuses a request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


UNKNOWN = Refusal(
    401,
    "This request is not authenticated.",
    "Send the token or an API key as `Authorization: Bearer TOKEN` (the API key of OpenAI's "
    "clients): `treadle serve` prints the file that contains the token. In a browser open the "
    "link that `treadle serve` prints, or sign in.",
)
INVALID_KEY = Refusal(
    401,
    "This API key is not valid.",
    "It is unknown, expired or revoked. `treadle keys create` creates another one.",
)
NO_INGEST = Refusal(
    403,
    "This API key has no scope `ingest`, which an export needs.",
    "Create a key with this scope: `treadle keys create NAME --scopes ingest`.",
)
SEVERAL_SECRETS = Refusal(
    401, "This request contains several keys or tokens of Treadle.", "Send only one of them."
)
SEVERAL_PROJECTS = Refusal(
    400, "This request names several projects.", "Send the header X-Treadle-Project only once."
)
KEY_IN_ADDRESS = Refusal(
    401,
    "This request contains an API key in its address, which logs may record.",
    "Revoke the key with `treadle keys revoke`, and send another one as `Authorization: Bearer "
    "KEY`.",
)
NO_ORIGIN = Refusal(
    403,
    "This request changes something, and the browser did not state which page sent it.",
    "Use a current browser, or send an API key.",
)
NO_ROLE = Refusal(
    403,
    "You have no access to this project, or it does not exist.",
    "Ask an administrator for a role, which `treadle users invite` assigns. An API key is valid "
    "for one project only.",
)


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request or a WebSocket with an error.

    If the server cannot answer a WebSocket with an HTTP error, it closes the WebSocket.
    """
    answer = _answer(refusal)
    if scope["type"] == "http":
        await answer(scope, receive, send)
        return
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        closing = {"code": POLICY_VIOLATION, "reason": refusal.message}
        await send({"type": "websocket.close", **closing})
        return
    start = {"status": answer.status_code, "headers": answer.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": answer.body})


async def answer_refused(_request: object, error: Exception) -> JSONResponse:
    """Answer a request whose route raised a RefusedError."""
    assert isinstance(error, RefusedError)
    return _answer(error.refusal)


def _answer(refusal: Refusal) -> JSONResponse:
    error = {"message": refusal.message, "hint": refusal.hint}
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    return JSONResponse({"error": error}, status_code=refusal.status, headers=headers)
