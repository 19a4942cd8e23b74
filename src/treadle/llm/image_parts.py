"""Images in messages: their media types, their form on the wire, and their form in a record."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from treadle.llm.messages import Image

OMITTED_IMAGE = "treadle-omitted-image:"
"""The beginning of the address that replaces an image in recorded messages."""

_DATA = "data:"

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """Return the media type of PNG, JPEG, GIF or WebP data by its first bytes, or None.

    All known providers accept these types, if their model takes images at all.
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), None)


def image_part(image: Image) -> dict[str, object]:
    """Return an image as a content part of an OpenAI chat message."""
    address = f"{_DATA}{image.media_type};base64,{b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": address}}


def without_image_data(messages: Sequence[object]) -> list[object]:
    """Return messages in wire form with the size and hash of each image instead of its content.

    Records would otherwise contain megabytes for each request. The address of an image becomes
    `treadle-omitted-image:TYPE;base64-characters=SIZE;blake2b=HASH`.
    """
    return [_without_data(message) for message in messages]


def _without_data(message: object) -> object:
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(content, list):
        return message
    return {**message, "content": [_described(part) for part in content]}


def _described(part: object) -> object:
    source = part.get("image_url") if isinstance(part, Mapping) else None
    address = source.get("url") if isinstance(source, Mapping) else None
    if not isinstance(address, str) or not address.startswith(_DATA):
        return part
    kind, _, data = address.removeprefix(_DATA).partition(";base64,")
    digest = blake2b(data.encode(), digest_size=16).hexdigest()
    described = f"{OMITTED_IMAGE}{kind};base64-characters={len(data)};blake2b={digest}"
    return {"type": "image_url", "image_url": {"url": described}}
