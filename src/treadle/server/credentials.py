"""The secrets that prove to the server who sends a request, and where a request carries them.

The token is for programs. It lasts: it is kept in a file that only this user can read. The key is
for the page. It lasts as long as one server: what listens at its port later, in the place of the
server, receives a key that opens nothing.
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
"""What the page asks for at a WebSocket, whose headers a browser does not let it choose."""
SUBPROTOCOL_PREFIX = "treadle.key."
"""How the subprotocol begins that carries the key. It is read here and never answered."""

_LEAST_CHARACTERS = 16
_MOST_BYTES = 4_096


class Credentials:
    """Knows whether a request carries the token, or the key of the page."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.page_key = secrets.token_urlsafe(24)
        self._known = (token.encode(), self.page_key.encode())
        register(token)
        register(self.page_key)

    def taken_from(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request carries either. It is taken out of it: nothing passes it on."""
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
    """The file of the token, in the data folder, which is made if missing."""
    return data_path(FILE_NAME)


def load_token(env: Mapping[str, str]) -> str:
    """The token: from the variable TREADLE_SERVE_TOKEN, else from the file, made at the first call.

    Raises ConfigError when the file or the variable does not hold one, OSError when the file
    cannot be used.
    """
    if given := env.get(VARIABLE, "").strip():
        return _checked(given, f"The variable {VARIABLE}", "Set a longer one, or unset it.")
    path = token_path()
    if path.is_symlink():  # closing it to others would change the file that it leads to
        raise ConfigError(
            f"{path} is a link.", hint="Delete it; the next start creates a file with a new token."
        )
    try:
        close_to_others(path)
    except FileNotFoundError:
        _make(path)
    text = read_regular(str(path), _MOST_BYTES, follow=False).decode("ascii", "replace").strip()
    return _checked(text, str(path), "Delete the file; the next start creates a new one.")


def _checked(token: str, where: str, hint: str) -> str:
    if len(token) < _LEAST_CHARACTERS or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"{where} does not contain a token: a token has at least {_LEAST_CHARACTERS} "
            "printable ASCII characters.",
            hint=hint,
        )
    return token


def _make(path: Path) -> None:
    """Put a file with a new token in place as a whole; the first of several processes wins."""
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
