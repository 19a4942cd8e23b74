"""The secrets of a request, and the token and the page key of the server's own user.

Programs use the token. It is permanent and stored in a file that only this user can read. The page
uses the page key, which is valid until the server ends. If another program later listens on the
same port and receives the page key from an open page, the page key is useless to it.
"""

import binascii
import hmac
import os
import secrets
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from starlette.types import Scope

from treadle.errors import ConfigError
from treadle.identity.identity import Proof
from treadle.identity.secret_values import KEY_PREFIX
from treadle.inside import read_regular
from treadle.owner_only import close_to_others
from treadle.paths import data_path
from treadle.secrets import register

VARIABLE = "TREADLE_SERVE_TOKEN"
FILE_NAME = "server-token"
HEADER = b"x-treadle-token"
KEY_HEADERS = frozenset({b"x-api-key", b"x-goog-api-key"})
"""The headers in which clients of Anthropic and Gemini send their key.

This key may be the token of the server or an API key of Treadle.
"""

_SECRET_HEADERS = KEY_HEADERS | {HEADER, b"authorization"}

SUBPROTOCOL = "treadle"
"""The WebSocket subprotocol that the server accepts.

The page sends the page key as another subprotocol, since it cannot set headers of a WebSocket
request.
"""
SUBPROTOCOL_PREFIX = "treadle.key."
"""The prefix of the subprotocol with the page key. The server never sends that subprotocol."""

_MIN_CHARACTERS = 16
_MAX_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Presented:
    """The secrets that a request contains, except for its cookie."""

    own: Proof | None = None
    """The proof of the server's own user: the token or the page key."""
    keys: frozenset[str] = frozenset()
    """All API keys of Treadle in the request, whether or not they are valid."""
    others: frozenset[str] = frozenset()
    """Further secrets, such as the key of a provider, or a wrong token."""


_NOTHING = Presented()


class Credentials:
    """The token and the page key of a server, to check each request."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.page_key = secrets.token_urlsafe(24)
        self._known = ((token.encode(), Proof.TOKEN), (self.page_key.encode(), Proof.LOCAL))
        register(token)
        register(self.page_key)

    def take(self, scope: Scope, names: AbstractSet[bytes]) -> Presented:
        """Return the secrets of a request, and remove those of Treadle from `scope`.

        `names` are the names of the request's headers. The key of a provider is not removed, since
        the gateway forwards it.
        """
        socket = scope["type"] == "websocket"
        if not socket and names.isdisjoint(_SECRET_HEADERS):
            return _NOTHING
        proofs: dict[str, Proof | None] = {}
        kept = []
        for header in scope["headers"]:
            secret = _secret(*header) if header[0] in _SECRET_HEADERS else ""
            if secret and secret not in proofs:
                proofs[secret] = self.proof(secret)
            own = secret.startswith(KEY_PREFIX) or proofs.get(secret) is not None
            if not own and header[0] != HEADER:
                kept.append(header)
        scope["headers"] = kept
        if socket:
            offered = scope.get("subprotocols", [])
            given = [each for each in offered if each.startswith(SUBPROTOCOL_PREFIX)]
            scope["subprotocols"] = [each for each in offered if each not in given]
            for secret in (each.removeprefix(SUBPROTOCOL_PREFIX) for each in given):
                proofs[secret] = self.proof(secret)
        return Presented(
            next((proof for proof in proofs.values() if proof is not None), None),
            frozenset(secret for secret in proofs if secret.startswith(KEY_PREFIX)),
            frozenset(
                secret
                for secret, proof in proofs.items()
                if proof is None and not secret.startswith(KEY_PREFIX)
            ),
        )

    def proof(self, secret: str) -> Proof | None:
        """Return what a secret proves: the token or the page key. Returns None for others."""
        text = secret.strip().encode("utf-8", "surrogateescape")
        matches = [proof for known, proof in self._known if hmac.compare_digest(text, known)]
        return matches[0] if matches else None


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


def _secret(name: bytes, value: bytes) -> str:
    """Return the secret in a header, or an empty text if the header contains none.

    The header `Authorization` contains a bearer token, or the password of basic authentication.
    """
    text = value.decode("latin-1")
    if name == HEADER or name in KEY_HEADERS:
        return text.strip()
    if name != b"authorization":
        return ""
    scheme, _, candidate = text.strip().partition(" ")
    if scheme.lower() == "bearer":
        return candidate.strip()
    if scheme.lower() == "basic":
        try:
            return b64decode(candidate, validate=True).decode("latin-1").partition(":")[2].strip()
        except binascii.Error:
            return ""
    return ""
