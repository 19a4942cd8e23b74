"""The secrets that authenticate the sender of a request.

The token is for programs. It is permanent: a file that only this user can read contains it. The key
is for the page. It is valid as long as the server runs, so a program that later listens on the same
port gets a key that is worthless.
"""

import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from treadle.errors import ConfigError
from treadle.inside import read_regular
from treadle.owner_only import close_to_others
from treadle.paths import data_path
from treadle.secrets import register

VARIABLE = "TREADLE_SERVE_TOKEN"
FILE_NAME = "server-token"
HEADER = "x-treadle-token"
SUBPROTOCOL = "treadle"
"""The subprotocol of the page. A browser does not let a page choose the headers of a WebSocket."""
SUBPROTOCOL_PREFIX = "treadle.key."
"""The prefix of the subprotocol with the key. The server reads it and never returns it."""

_MIN_CHARACTERS = 16
_MAX_BYTES = 4_096


class Credentials:
    """Recognizes the token and the key of the page."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.page_key = secrets.token_urlsafe(24)
        self._known = (token.encode(), self.page_key.encode())
        register(token)
        register(self.page_key)

    def check_and_remove(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request has the token or the key. Removes both from the request."""
        found = False
        scheme, _, candidate = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_valid(candidate):
            _remove(scope, b"authorization")
            found = True
        if HEADER in headers:
            _remove(scope, HEADER.encode())
            found = self._is_valid(headers[HEADER]) or found
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
    """The path of the token file. Creates the data folder."""
    return data_path(FILE_NAME)


def load_token(env: Mapping[str, str]) -> str:
    """The token from the variable TREADLE_SERVE_TOKEN, or else from the token file.

    Creates the file with a new token if it does not exist. Raises ConfigError if the variable or
    the file has no valid token, and OSError if the file cannot be used.
    """
    if candidate := env.get(VARIABLE, "").strip():
        return _require_valid(
            candidate, f"The variable {VARIABLE}", "Set a longer one, or unset it."
        )
    path = token_path()
    if path.is_symlink():  # changing its permissions would change the target of the link
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
    """Create the file with a new token in one step. The first of several processes wins."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE_NAME}.")  # mode 0600
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


def _remove(scope: Scope, name: bytes) -> None:
    scope["headers"] = [each for each in scope["headers"] if each[0] != name]
