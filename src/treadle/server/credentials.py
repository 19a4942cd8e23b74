"""The secrets that prove the sender of a request.

The token is for programs. It lasts: a file that only this user can read contains it. The key is for
the page. It lasts as long as the server, so a program that later listens on the same port gets a
key that is worthless.
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

    def taken_from(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request has the token or the key. Removes both from the request."""
        found = False
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._fits(given):
            _remove(scope, b"authorization")
            found = True
        if HEADER in headers:
            _remove(scope, HEADER.encode())
            found = self._fits(headers[HEADER]) or found
        if scope["type"] == "websocket":
            offered = scope.get("subprotocols", [])
            scope["subprotocols"] = [
                name for name in offered if not name.startswith(SUBPROTOCOL_PREFIX)
            ]
            keys = [name for name in offered if name.startswith(SUBPROTOCOL_PREFIX)]
            found = any(self._fits(key.removeprefix(SUBPROTOCOL_PREFIX)) for key in keys) or found
        return found

    def _fits(self, given: str) -> bool:
        text = given.strip().encode("utf-8", "surrogateescape")
        matches = [hmac.compare_digest(text, known) for known in self._known]
        return any(matches)


def token_path() -> Path:
    """The path of the token file. Creates the data folder."""
    return data_path(FILE_NAME)


def load_token(env: Mapping[str, str]) -> str:
    """The token of TREADLE_SERVE_TOKEN, else of the file, which the first call creates.

    Raises ConfigError if the variable or the file has no valid token, and OSError if the file
    cannot be used.
    """
    if given := env.get(VARIABLE, "").strip():
        return _checked(given, f"The variable {VARIABLE}", "Set a longer one, or unset it.")
    path = token_path()
    if path.is_symlink():  # changing its permissions would change the target of the link
        raise ConfigError(
            f"{path} is a link.", hint="Delete it; the next start creates a file with a new token."
        )
    try:
        close_to_others(path)
    except FileNotFoundError:
        _make(path)
    text = read_regular(str(path), _MAX_BYTES, follow=False).decode("ascii", "replace").strip()
    return _checked(text, str(path), "Delete the file; the next start creates a new one.")


def _checked(token: str, where: str, hint: str) -> str:
    if len(token) < _MIN_CHARACTERS or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"{where} does not contain a token: a token has at least {_MIN_CHARACTERS} "
            "printable ASCII characters.",
            hint=hint,
        )
    return token


def _make(path: Path) -> None:
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
