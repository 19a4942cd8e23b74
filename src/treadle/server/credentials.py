"""The token, the page key and tickets, which authenticate the sender of a request.

Programs use the token. It is permanent and stored in a file that only this user can read. The page
uses the page key, which is valid until the server ends. If another program later listens on the
same port and receives the page key from an open page, the page key is useless to it. A link to a
download has a ticket instead of the page key (`download_tickets`).
"""

import binascii
import hmac
import os
import secrets
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from treadle.errors import ConfigError
from treadle.inside import read_regular
from treadle.owner_only import close_to_others
from treadle.paths import data_path
from treadle.secrets import register
from treadle.server.download_tickets import DownloadTickets

VARIABLE = "TREADLE_SERVE_TOKEN"
FILE_NAME = "server-token"
HEADER = "x-treadle-token"
KEY_HEADERS = ("x-api-key", "x-goog-api-key")
"""The headers in which clients of Anthropic and Gemini send their key.

This key may be the token of the server.
"""

SUBPROTOCOL = "treadle"
"""The WebSocket subprotocol that the server accepts.

The page sends the page key as another subprotocol, since it cannot set headers of a WebSocket
request.
"""
SUBPROTOCOL_PREFIX = "treadle.key."
"""The prefix of the subprotocol with the page key. The server never sends that subprotocol."""

_MIN_CHARACTERS = 16
_MAX_BYTES = 4_096


class Credentials:
    """The token, the page key and the download tickets of a server, to check each request."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.page_key = secrets.token_urlsafe(24)
        self.downloads = DownloadTickets()
        self._known = (token.encode(), self.page_key.encode())
        register(token)
        register(self.page_key)

    def check_and_remove(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request contains the token, the page key or a ticket for a download.

        Removes all of these from `scope`.
        """
        found = self.downloads.check_and_remove(scope)
        if self._is_valid(_secret(headers.get("authorization", ""))):
            _remove(scope, b"authorization")
            found = True
        if HEADER in headers:
            _remove(scope, HEADER.encode())
            found = self._is_valid(headers[HEADER]) or found
        for name in KEY_HEADERS:
            if name in headers and self._is_valid(headers[name]):
                _remove(scope, name.encode())
                found = True
        if scope["type"] == "websocket":
            offered = scope.get("subprotocols", [])
            scope["subprotocols"] = [
                name for name in offered if not name.startswith(SUBPROTOCOL_PREFIX)
            ]
            keys = [name for name in offered if name.startswith(SUBPROTOCOL_PREFIX)]
            found = (
                any(self._is_valid(key.removeprefix(SUBPROTOCOL_PREFIX)) for key in keys) or found
            )
        return found

    def _is_valid(self, candidate: str) -> bool:
        text = candidate.strip().encode("utf-8", "surrogateescape")
        matches = [hmac.compare_digest(text, known) for known in self._known]
        return any(matches)


def token_path() -> Path:
    """Return the path of the token file. Creates its folder if it does not exist."""
    return data_path(FILE_NAME)


def load_token(env: Mapping[str, str]) -> str:
    """Return the token from the variable TREADLE_SERVE_TOKEN, or else from the token file.

    Creates the file with a new token if it does not exist. Raises ConfigError if the token is
    invalid or the file is a symbolic link. Raises OSError if the file cannot be used.
    """
    if candidate := env.get(VARIABLE, "").strip():
        return _require_valid(
            candidate, f"The variable {VARIABLE}", "Set a longer one, or unset it."
        )
    path = token_path()
    if path.is_symlink():  # a change of the link's permissions would change those of its target
        raise ConfigError(
            f"{path} is a link.", hint="Delete it; the next start creates a file with a new token."
        )
    try:
        close_to_others(path)
    except FileNotFoundError:
        _create_file(path)
    text = read_regular(str(path), _MAX_BYTES, follow=False).decode("ascii", "replace").strip()
    return _require_valid(text, str(path), "Delete the file; the next start creates a new one.")


def _require_valid(token: str, source: str, hint: str) -> str:
    if len(token) < _MIN_CHARACTERS or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"{source} does not contain a token: a token has at least {_MIN_CHARACTERS} "
            "printable ASCII characters.",
            hint=hint,
        )
    return token


def _create_file(path: Path) -> None:
    """Create the token file atomically. If another process creates it first, keep that file."""
    # `mkstemp` creates a file that only this user can read and write.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE_NAME}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(name)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()


def _secret(authorization: str) -> str:
    """Return the secret in a header: a bearer token, or the password of basic authentication."""
    scheme, _, candidate = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return candidate
    if scheme.lower() == "basic":
        try:
            return b64decode(candidate, validate=True).decode("latin-1").partition(":")[2]
        except binascii.Error:
            return ""
    return ""


def _remove(scope: Scope, name: bytes) -> None:
    scope["headers"] = [each for each in scope["headers"] if each[0] != name]
