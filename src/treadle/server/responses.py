"""Answers about traces: made and written as JSON in a thread, since they may be large."""

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
"""Half the time of 4, and a fifteenth more bytes."""


class AsciiJsonResponse(JSONResponse):
    """The answer of routes that make none themselves.

    The name of a file, or an earlier record, may hold half a surrogate pair. UTF-8 cannot hold it,
    and an escape can.
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
