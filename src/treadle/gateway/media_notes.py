"""Replaces media in requests and answers by notes, so that no record contains their bytes."""

from collections.abc import Mapping

_TYPES = ("media_type", "mimeType", "mime_type")
"""The names of the field with the media type, next to the field `data`."""

_SMALL = 200
"""Media of at most this many base64 characters are kept, since a note would not be shorter."""


def media_note(media_type: str, size: int) -> str:
    """The note that replaces media of `size` bytes."""
    return f"[{media_type or 'media'}, {size:,} bytes, not recorded]"


def without_media(value: object, *, images: bool) -> object:
    """Return a JSON value whose base64 media are replaced by notes.

    If `images` is true, images are kept, since a person may want to see the images of a prompt.
    """
    if isinstance(value, list):
        return [without_media(each, images=images) for each in value]
    if not isinstance(value, Mapping):
        return value
    media = next((value[name] for name in _TYPES if isinstance(value.get(name), str)), "")
    data = value.get("data")
    if media and isinstance(data, str) and len(data) > _SMALL:
        if images and media.startswith("image/"):
            return dict(value)
        return {**value, "data": media_note(media, base64_size(data))}
    return {name: without_media(each, images=images) for name, each in value.items()}


def base64_size(text: str) -> int:
    """The number of bytes that a base64 text encodes."""
    return len(text) * 3 // 4 - text.count("=", max(0, len(text) - 2))
