"""Reads what a person attaches to a message or pins to a conversation.

Code becomes snippets with the exact bytes of its file. The approval rules for `read_file` apply to
the code. If a rule requires an approval, the code is refused, and nobody is asked.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from treadle.charsets import is_utf8
from treadle.code import CodeIndex
from treadle.code.files.walk import content_hash, read_file
from treadle.code.model import FoundItem
from treadle.code.snippets import write_snippet
from treadle.errors import NotFoundError, PathRefusedError, TreadleError, UsageError
from treadle.events.types import SourceRange
from treadle.inside import read_regular
from treadle.llm.image_parts import image_type
from treadle.llm.messages import AttachedText, Image
from treadle.session.attachments import (
    Attachment,
    CodeAttachment,
    ImageAttachment,
    ItemAttachment,
    PinnedCode,
    ResolvedAttachments,
    TextAttachment,
)
from treadle.toolbox.code.read_file import ReadFile
from treadle.toolbox.code.text import READABLE, Passage, read_passage
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.question import Policy, Question, Subject
from treadle.tools.contract import ToolError
from treadle.visible import in_line

MAX_ATTACHMENTS = 50
"""The maximum number of attachments of a message."""
MAX_TEXT_BYTES = 400_000
"""The maximum size in bytes of one attached text or range of code, about 100,000 tokens."""
MAX_IMAGE_BYTES = 5_000_000
MAX_IMAGES_BYTES = 20_000_000
"""The maximum sizes in bytes of one image, and of all images of a message together.

Providers have similar limits.
"""
_NAME_CHARACTERS = 200
_MAX_CANDIDATES = 5


_TextKind = CodeAttachment | ItemAttachment | TextAttachment


@dataclass(frozen=True, slots=True)
class _Resolved:
    text: AttachedText
    source: SourceRange | None = None


class AttachmentReader:
    """Resolves attachments to the texts that the model gets."""

    def __init__(self, root: Path, index: CodeIndex, approvals: Approvals) -> None:
        self._workspace = Workspace(root.resolve(), index)
        self._approvals = approvals

    async def resolve(
        self, attachments: Sequence[Attachment], conversation_id: UUID
    ) -> ResolvedAttachments:
        """Read the attachments for a message of a conversation.

        Raises NotFoundError for an unknown file or item, and PathRefusedError for a file that is
        outside the root or needs consent. Raises UsageError for content that cannot be attached.
        """
        if len(attachments) > MAX_ATTACHMENTS:
            raise UsageError(
                f"The message has {len(attachments)} attachments; the limit is {MAX_ATTACHMENTS}.",
                hint="Attach fewer files, or a larger range of one file.",
            )
        found: list[_Resolved] = []
        images: list[Image] = []
        for attachment in attachments:
            if isinstance(attachment, ImageAttachment):
                images.append(_image(attachment))
            else:
                found += await self._resolve(attachment, conversation_id)
        _refuse_many_images(images)
        return ResolvedAttachments(
            tuple(each.text for each in found),
            tuple(images),
            tuple(each.source for each in found if each.source is not None),
        )

    async def resolve_pinned(
        self, pinned: Sequence[PinnedCode], conversation_id: UUID
    ) -> ResolvedAttachments:
        """Read pinned code. Code that cannot be read is left out, and `problems` states why."""
        found: list[_Resolved] = []
        problems: list[str] = []
        for each in pinned:
            try:
                found += await self._resolve(each, conversation_id)
            except TreadleError as error:
                problems.append(f"Pinned code is missing from the prompt: {error}")
        return ResolvedAttachments(
            tuple(replace(each.text, pinned=True) for each in found),
            sources=tuple(each.source for each in found if each.source is not None),
            problems=tuple(problems),
        )

    async def _resolve(self, attachment: _TextKind, conversation_id: UUID) -> Sequence[_Resolved]:
        match attachment:
            case CodeAttachment(path=path):
                private = await self._permitted(attachment, path, conversation_id)
                return [await asyncio.to_thread(self._read_lines, attachment, private)]
            case ItemAttachment():
                items = await asyncio.to_thread(self._find_items, attachment)
                for file in {item.file for item in items}:
                    await self._permitted(attachment, file, conversation_id)
                return await asyncio.to_thread(self._read_items, attachment, items)
            case TextAttachment(name=name, text=text):
                _refuse_large(
                    attachment, len(text.encode("utf-8", "replace")), "Attach less of it."
                )
                return [_Resolved(AttachedText(name[:_NAME_CHARACTERS], text))]

    async def _permitted(
        self, attachment: Attachment, path: str, conversation_id: UUID
    ) -> frozenset[Path]:
        """Check that the approval rules allow reading `path`.

        Returns the private files that the rules or earlier answers allow.
        """
        question = Question((Subject(path=path),), Policy.ALLOW, f"attach {attachment}")
        decision = await self._approvals.decide_alone(question, ReadFile.name, conversation_id)
        if not decision.allowed:
            raise PathRefusedError(
                f"{attachment} is not attached. {decision.reason}",
                hint="If the model may read it, change the rules in `[approvals]`.",
            )
        return decision.private

    def _read_lines(self, attachment: CodeAttachment, private: frozenset[Path]) -> _Resolved:
        first, last = attachment.first_line, attachment.last_line
        if first < 1 or (last is not None and last < first):
            raise UsageError(
                f"{attachment}: the lines are not a range.",
                hint="Lines count from 1, and the first line is not after the last.",
            )
        path = self._file(attachment, attachment.path, private)
        try:
            passage = read_passage(self._workspace.opened(path), first, last, MAX_TEXT_BYTES + 1)
        except ToolError as error:
            raise UsageError(f"{attachment} is not attached. {error.message}") from error
        _refuse_unreadable(attachment, passage)
        shown = last if last is not None and last <= passage.total_lines else passage.total_lines
        name = self._workspace.relative(path)
        if first > 1 or shown < passage.total_lines:
            name = f"{name}:{first}-{shown}" if first < shown else f"{name}:{first}"
        text = self._text(attachment, path, passage)
        source = SourceRange(self._workspace.relative(path), first, max(first, shown))
        return _Resolved(AttachedText(name, text), source)

    def _text(self, attachment: CodeAttachment, path: Path, passage: Passage) -> str:
        """Return the snippet of a passage, or the decoded text if the file is not UTF-8."""
        start = passage.start or 0
        if is_utf8(passage.data):
            return _snippet(attachment, path, start, passage.data)
        charset = self._workspace.charset(path)
        if charset is None or charset.codec is None:
            raise UsageError(
                f"{attachment} is not attached: it is not UTF-8, and its encoding is unknown.",
                hint="Convert the file to UTF-8, or state its encoding in .editorconfig.",
            )
        text = passage.data.decode(charset.codec, "backslashreplace")
        return f"The file is {charset.name}. Its text:\n{text}"

    def _file(self, attachment: Attachment, name: str, private: frozenset[Path]) -> Path:
        try:
            path = self._workspace.existing(name, private)
        except ToolError as error:
            nearest = self._workspace.nearest(name)
            hint = f"The nearest files: {', '.join(nearest)}." if nearest else None
            raise NotFoundError(f"{attachment} does not exist.", hint=hint) from error
        if not path.is_file():
            raise UsageError(
                f"{attachment} is not a regular file.",
                hint="Attach files one by one, or lines of a file.",
            )
        return path

    def _find_items(self, attachment: ItemAttachment) -> Sequence[FoundItem]:
        """Return the named items, which all have the same canonical path and file."""
        index = self._workspace.index
        index.refresh()
        found = index.lookup(attachment.name, file=attachment.file, limit=200)
        if not found.total:
            nearest = ", ".join(f"{item.canonical_path} in {item.file}" for item in found.nearest)
            hint = f"The nearest items: {in_line(nearest)}." if nearest else None
            raise NotFoundError(f"There is no item {attachment}.", hint=hint)
        exact = [item for item in found.items if item.canonical_path == attachment.name]
        items = exact or found.items
        if len({(item.canonical_path, item.file) for item in items}) > 1:
            listed = ", ".join(
                f"{item.canonical_path} in {item.file}" for item in items[:_MAX_CANDIDATES]
            )
            raise UsageError(
                f"{len(items)} items have the name {attachment}.",
                hint=f"Name one of them with its file: {in_line(listed)}.",
            )
        return items

    def _read_items(
        self, attachment: ItemAttachment, items: Sequence[FoundItem]
    ) -> Sequence[_Resolved]:
        """Read the bytes of items, and check that the file still has the hash in the index."""
        index, file = self._workspace.index, items[0].file
        for _ in range(2):  # a second time if the file changed after the refresh
            try:
                data, _status = read_file(self._workspace.root, file)
            except OSError as error:
                raise NotFoundError(
                    f"{attachment} is not attached: {in_line(file)} cannot be read:"
                    f" {error.strerror}."
                ) from error
            summary = index.files_summary(file)
            if data is not None and summary and summary.content_hash == content_hash(data).hex():
                break
            items = self._find_items(attachment)
        else:
            raise UsageError(
                f"{attachment} is not attached: {in_line(file)} changes while it is read.",
                hint="Attach it again when the file is saved.",
            )
        return [self._item(attachment, item, data) for item in items]

    def _item(self, attachment: ItemAttachment, item: FoundItem, data: bytes) -> _Resolved:
        start, end = item.start_byte, item.end_byte
        _refuse_large(attachment, end - start, "Attach some of its lines.")
        path = self._workspace.root / item.file
        lines = f"{self._workspace.relative(path)}:{item.start_line}-{item.end_line}"
        return _Resolved(
            AttachedText(
                f"{in_line(item.canonical_path)} ({lines})",
                _snippet(attachment, path, start, data[start:end]),
            ),
            SourceRange(item.file, item.start_line, item.end_line, item.canonical_path),
        )


def _snippet(attachment: Attachment, path: Path, start: int, data: bytes) -> str:
    try:
        return write_snippet(os.fspath(path), start, start + len(data), data)
    except ValueError as error:
        raise UsageError(f"{attachment} is not attached: {error}.") from error


def _refuse_unreadable(attachment: CodeAttachment, passage: Passage) -> None:
    if passage.encoding not in READABLE:
        raise UsageError(
            f"{attachment} is not attached: the file is {passage.encoding}, with"
            f" {passage.total_bytes:,} bytes.",
            hint="Attach a text file.",
        )
    if passage.start is None and attachment.first_line > 1:
        raise UsageError(f"{attachment}: the file has only {passage.total_lines:,} lines.")
    _refuse_large(
        attachment,
        passage.end - (passage.start or 0),
        f"Attach some of its lines: {_example(attachment)}.",
    )


def _example(attachment: CodeAttachment) -> str:
    first = attachment.first_line
    return str(CodeAttachment(attachment.path, first, first + 199))


def _refuse_large(attachment: Attachment, size: int, hint: str) -> None:
    if size > MAX_TEXT_BYTES:
        raise UsageError(
            f"{attachment} has {size:,} bytes; the limit of an attachment is {MAX_TEXT_BYTES:,}.",
            hint=hint,
        )


def read_image(path: str) -> ImageAttachment:
    """Read an image file that a person attaches. Raises UsageError if it cannot be read."""
    try:
        data = read_regular(path, MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"The image {path!r} cannot be read: {error.strerror}.", hint="Check its path."
        ) from error
    return ImageAttachment(Path(path).name, data)


def _image(attachment: ImageAttachment) -> Image:
    size = len(attachment.data)
    if size > MAX_IMAGE_BYTES:
        raise UsageError(
            f"{attachment} has {size:,} bytes; the limit of an image is {MAX_IMAGE_BYTES:,}.",
            hint="Make the image smaller, or attach a part of it.",
        )
    media_type = image_type(attachment.data)
    if media_type is None:
        raise UsageError(
            f"{attachment} is not attached: it is not a PNG, JPEG, GIF or WebP image.",
            hint="Convert the image to one of these formats.",
        )
    return Image(attachment.name[:_NAME_CHARACTERS], media_type, attachment.data)


def _refuse_many_images(images: Sequence[Image]) -> None:
    size = sum(len(image.data) for image in images)
    if size > MAX_IMAGES_BYTES:
        raise UsageError(
            f"The images have {size:,} bytes together; the limit is {MAX_IMAGES_BYTES:,}.",
            hint="Attach fewer or smaller images.",
        )
