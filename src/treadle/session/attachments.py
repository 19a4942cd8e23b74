"""The attachments of a message as a person chooses them, and as a model receives them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from treadle.events.types import SourceRange
from treadle.json_values import json_property
from treadle.visible import in_line

if TYPE_CHECKING:  # slow imports, not needed for the terminal's first screen
    from treadle.llm.messages import AttachedText, Image, UserMessage


@dataclass(frozen=True, slots=True)
class CodeAttachment:
    """The lines from `first_line` to `last_line` of a file below the root, counted from 1.

    `path` is relative to the root or absolute. The line `last_line` is included. None means the
    last line of the file.
    """

    path: str
    first_line: int = 1
    last_line: int | None = None

    @json_property
    def kind(self) -> Literal["code"]:
        """Return the kind of the attachment in JSON."""
        return "code"

    def __str__(self) -> str:
        if self.last_line is None and self.first_line == 1:
            return in_line(self.path)
        return f"{in_line(self.path)}:{self.first_line}-{self.last_line or ''}"


@dataclass(frozen=True, slots=True)
class ItemAttachment:
    """An item of the code index.

    `name` is its canonical path, or the end of this path. If several files have an item of that
    name, `file` selects one.
    """

    name: str
    file: str | None = None

    @json_property
    def kind(self) -> Literal["item"]:
        """Return the kind of the attachment in JSON."""
        return "item"

    def __str__(self) -> str:
        return in_line(self.name) + (f" in {in_line(self.file)}" if self.file else "")


@dataclass(frozen=True, slots=True)
class TextAttachment:
    """A text, such as the output of a command or a long paste. `name` describes its origin."""

    name: str
    text: str

    @json_property
    def kind(self) -> Literal["text"]:
        """The kind of the attachment in JSON."""
        return "text"

    def __str__(self) -> str:
        return in_line(self.name)


@dataclass(frozen=True, slots=True)
class ImageAttachment:
    """An image: the content of a PNG, JPEG, GIF or WebP file."""

    name: str
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return in_line(self.name)


Attachment = CodeAttachment | ItemAttachment | TextAttachment | ImageAttachment


PinnedCode = CodeAttachment | ItemAttachment
"""Code that is sent with each prompt of a conversation."""


@dataclass(frozen=True, slots=True)
class ResolvedAttachments:
    """The texts and images that are sent with a user message.

    `sources` are the attached lines of files. `problems` are sentences about pinned code that
    cannot be read.
    """

    texts: "tuple[AttachedText, ...]" = ()
    images: "tuple[Image, ...]" = ()
    sources: tuple[SourceRange, ...] = ()
    problems: tuple[str, ...] = ()

    def message(self, text: str) -> "UserMessage":
        """Return a user message with these attachments."""
        from treadle.llm.messages import UserMessage

        return UserMessage(text, attached=self.texts, images=self.images)
