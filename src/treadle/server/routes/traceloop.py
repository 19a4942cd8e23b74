"""The part of Traceloop's HTTP API that receives the images of messages."""

import base64
import binascii
from typing import Any

from fastapi import Request
from pydantic import BaseModel, Field

from treadle.errors import UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.routers import plain_router
from treadle.server.uploaded_media import new_id

router = plain_router("/v2", include_in_schema=False)


class _Announcement(BaseModel):
    """The announcement of an image. The suffix of its name is a media subtype, such as `png`."""

    image_name: str = Field(pattern=r"\.[\w+-]{1,40}$", max_length=1_000)


class _Image(BaseModel):
    """An image in base64."""

    image_data: str


@router.post("/traces/{trace_id}/spans/{span_id}/images")
def announce(request: Request, body: _Announcement) -> dict[str, Any]:
    """Return the address to which the client uploads an image.

    The span contains this address in place of the image.
    """
    subtype = body.image_name.rpartition(".")[2]
    return {"url": str(request.base_url.replace(path=f"/v2/images/{new_id()}.{subtype}"))}


@router.post("/images/{image_id}.{subtype}")
async def upload(
    server: CurrentServer, image_id: str, subtype: str, body: _Image
) -> dict[str, Any]:
    """Keep an image for the span that refers to it."""
    try:
        data = base64.b64decode(body.image_data, validate=True)
    except binascii.Error as error:
        raise UsageError(
            f"The image {image_id[:80]!r} is not base64: {error}.", hint="Encode its content."
        ) from error
    await server.media.add(image_id, f"image/{subtype}", data)
    return {}
