"""The part of Langfuse's HTTP API that its clients need to record traces.

Treadle receives spans and media. It does not store scores, and its answers state this. No answer
makes a client stop or repeat its exports.
"""

from typing import Annotated, Any

from fastapi import Body, Request, Response
from pydantic import AliasChoices, BaseModel, Field

from treadle.errors import UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.responses import AsciiJsonResponse
from treadle.server.routers import plain_router
from treadle.server.routes import otlp
from treadle.server.uploaded_media import langfuse_id

router = plain_router("/api/public", include_in_schema=False)
router.add_api_route("/otel/v1/traces", otlp.traces, methods=["POST"], response_class=Response)

_NO_SCORES = "Treadle does not store scores."
_MULTI_STATUS = 207


class _Announcement(BaseModel):
    """The announcement of an upload. `sha256_hash` is in base64."""

    sha256_hash: str = Field(
        validation_alias=AliasChoices("sha256Hash", "sha256_hash"), min_length=22, max_length=64
    )


@router.get("/projects")
def projects() -> dict[str, Any]:
    """Return one project. Clients request it to check their keys."""
    project = {"id": "treadle", "name": "Treadle", "metadata": {}}
    return {"data": [{**project, "organization": {"id": "treadle", "name": "Treadle"}}]}


@router.post("/media")
def announce(server: CurrentServer, request: Request, body: _Announcement) -> dict[str, Any]:
    """Return the address to which to upload media, or null if this upload already exists."""
    media_id = body.sha256_hash.replace("+", "-").replace("/", "_")[:22]
    address = str(request.base_url.replace(path=f"/api/public/media/{media_id}"))
    return {"mediaId": media_id, "uploadUrl": None if media_id in server.media else address}


@router.put("/media/{media_id}")
async def upload(server: CurrentServer, request: Request, media_id: str) -> dict[str, Any]:
    """Keep the content of an upload for the span that refers to it."""
    data = await request.body()
    if langfuse_id(data) != media_id:
        raise UsageError(
            f"The id {media_id[:80]!r} does not belong to this content.",
            hint="Use the id that the announcement returned.",
        )
    media_type = request.headers.get("content-type", "").partition(";")[0].strip()
    await server.media.add(media_id, media_type, data)
    return {}


@router.patch("/media/{media_id}")
def finish(media_id: str) -> dict[str, Any]:
    """Accept a client's report that its upload has ended."""
    return {"mediaId": media_id}


@router.post("/scores")
def scores(body: Annotated[Any, Body()]) -> Response:
    """Reject scores. Clients log the reason, and do not send the scores again."""
    if not isinstance(body, list):
        raise _scores_refused()
    rejected = {"accepted": 0, "rejected": len(body), "errors": [{"message": _NO_SCORES}]}
    return AsciiJsonResponse(rejected, status_code=_MULTI_STATUS)


@router.post("/ingestion")
def ingestion() -> None:
    """Reject scores of clients up to version 4, and the spans of clients up to version 2."""
    raise _scores_refused()


def _scores_refused() -> UsageError:
    return UsageError(_NO_SCORES, hint="Send spans only. They are stored without their scores.")
