"""JSON responses. Large ones are built and written in a thread."""

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

_WORTH_COMPRESSING = 2_000
_LEVEL = 1
"""The compression level. Level 1 took half the time of level 4, and wrote 1/15 more bytes."""


class AsciiJsonResponse(JSONResponse):
    """The default response of routes.

    A file name or an old record may contain a lone surrogate. UTF-8 cannot encode it, so the JSON
    escapes it.
    """

    def render(self, content: Any) -> bytes:
        """The JSON of `content`, in ASCII."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class OffsetPagination:
    """The position of a page in a list, and whether more items follow."""

    offset: int
    limit: int
    more: bool


class Taken(BaseModel):
    """Whether the answer arrived in time."""

    taken: bool


async def json_response(request: Request, make: Callable[[], Any]) -> Response:
    """The JSON of a dict or a dataclass that `make` returns, compressed if the client accepts it.

    Lone surrogates and other unusual characters are sent as escapes.
    """
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "").lower()

    def write() -> tuple[bytes, dict[str, str]]:
        body = json.dumps(make(), separators=(",", ":"), default=to_json).encode()
        if takes_gzip and len(body) > _WORTH_COMPRESSING:
            body = gzip.compress(body, _LEVEL)
            return body, {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return body, {"Vary": "Accept-Encoding"}

    with request.app.state.server.active_requests.track():
        body, headers = await asyncio.to_thread(write)
    return Response(body, media_type="application/json", headers=headers)
