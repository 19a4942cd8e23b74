"""The token of a server beyond loopback, as programs send it and as a browser keeps it."""

import hmac
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

_PARAMETER = "token"


class Token:
    """Knows whether a request bears the token."""

    def __init__(self, value: str) -> None:
        self._value = value.encode()
        # A browser sends its cookies to all ports of a host: what other servers there get to see
        # is not the token itself, which may be in use elsewhere.
        self.cookie = hmac.new(self._value, b"the page of treadle", "sha256").hexdigest()

    def is_known(self, headers: Headers, scope: Scope) -> bool:
        """Whether it is there: in Authorization, else in the address, else as the cookie."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return hmac.compare_digest(given.strip().encode(), self._value)
        in_address = dict(_query(scope)).get(_PARAMETER)
        if in_address is not None:
            return hmac.compare_digest(in_address.strip().encode(), self._value)
        kept = cookie_parser(headers.get("cookie", "")).get(self.cookie_name(scope), "")
        return hmac.compare_digest(kept.encode(), self.cookie.encode())

    def cookie_name(self, scope: Scope) -> str:
        """Its own for each port, since a host may have several servers."""
        server = scope.get("server") or ("", None)
        return f"treadle-{server[1]}"


def without_token(scope: Scope) -> str | None:
    """The path and query of the request without the token; None if it has none."""
    pairs = _query(scope)
    rest = [(name, value) for name, value in pairs if name != _PARAMETER]
    if len(rest) == len(pairs):
        return None
    raw_path: bytes = scope["raw_path"]  # in which %2F still differs from a slash
    return raw_path.decode("latin-1") + (f"?{urlencode(rest)}" if rest else "")


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
