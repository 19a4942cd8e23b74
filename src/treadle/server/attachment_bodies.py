"""Attachments and pins in the bodies of requests."""

import binascii
from base64 import b64decode
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from treadle.app.attachments import MAX_IMAGE_BYTES, MAX_TEXT_BYTES
from treadle.errors import UsageError
from treadle.session.attachments import (
    Attachment,
    CodeAttachment,
    ImageAttachment,
    ItemAttachment,
    PinnedCode,
    TextAttachment,
)


class AttachedLines(BaseModel):
    """Lines of a file below the root, or the whole file."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["code"]
    path: str = Field(min_length=1, max_length=4_096, description="relative to the root")
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1, description="inclusive; default: the last line")


class AttachedItem(BaseModel):
    """An item of the code index. `file` selects one of several items of that name."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["item"]
    name: str = Field(
        min_length=1, max_length=500, description="the canonical path or the end of it"
    )
    file: str | None = Field(None, max_length=4_096)


class AttachedPaste(BaseModel):
    """A text, such as the output of a command, and a name for it."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["text"]
    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_TEXT_BYTES)


class AttachedImage(BaseModel):
    """A PNG, JPEG, GIF or WebP image."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["image"]
    name: str = Field(min_length=1, max_length=200)
    data: str = Field(
        min_length=1,
        max_length=MAX_IMAGE_BYTES * 4 // 3 + 4,
        description="the content of the file in base64",
    )


AttachmentBody = Annotated[
    AttachedLines | AttachedItem | AttachedPaste | AttachedImage, Field(discriminator="kind")
]

CodeBody = Annotated[AttachedLines | AttachedItem, Field(discriminator="kind")]


def code_of(body: CodeBody) -> PinnedCode:
    """Return the code that a body describes."""
    match body:
        case AttachedLines():
            return CodeAttachment(body.path, body.first_line, body.last_line)
        case AttachedItem():
            return ItemAttachment(body.name, body.file)


def attachment_of(body: AttachmentBody) -> Attachment:
    """Return the attachment that a body describes."""
    match body:
        case AttachedLines() | AttachedItem():
            return code_of(body)
        case AttachedPaste():
            return TextAttachment(body.name, body.text)
        case AttachedImage():
            return ImageAttachment(body.name, _decoded(body))


def _decoded(image: AttachedImage) -> bytes:
    try:
        return b64decode(image.data, validate=True)
    except binascii.Error as error:
        raise UsageError(
            f"The data of the image {image.name!r} is not base64: {error}.",
            hint="Encode the content of the file in base64, without line breaks.",
        ) from error
