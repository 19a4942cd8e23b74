"""JSON responses. A thread builds and encodes the large ones."""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from treadle.json_values import to_json
from treadle.server.current_project import project_of

_WORTH_COMPRESSING = 2_000
_LEVEL = 1
"""The gzip level. Level 1 took half the time of level 4, and its output was 1/15 larger."""


class AsciiJsonResponse(JSONResponse):
    """A JSON response that contains only ASCII characters. It is the default of all routes.

    A file name or an old record may contain a lone surrogate. UTF-8 cannot encode it, but JSON can
    escape it.
    """

    def render(self, content: Any) -> bytes:
        """Encode `content` as JSON in ASCII."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class OffsetPagination:
    """The position of a page in a list, and whether more rows follow the page."""

    offset: int
    limit: int
    more: bool


class Taken(BaseModel):
    """The response to a request that may come too late.

    `taken` is false if the request had no effect.
    """

    taken: bool


async def json_response(request: Request, make: Callable[[], Any]) -> Response:
    """Build a JSON response in a thread, compressed if the client accepts gzip.

    `make` returns a dict or a dataclass. All characters outside of ASCII are escaped, including
    lone surrogates.
    """
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "").lower()

    def write() -> tuple[bytes, dict[str, str]]:
        body = json.dumps(make(), separators=(",", ":"), default=to_json).encode()
        if takes_gzip and len(body) > _WORTH_COMPRESSING:
            body = gzip.compress(body, _LEVEL)
            return body, {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return body, {"Vary": "Accept-Encoding"}

    with project_of(request).server.active_requests.track():
        body, headers = await asyncio.to_thread(write)
    return Response(body, media_type="application/json", headers=headers)
