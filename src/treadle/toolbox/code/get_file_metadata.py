"""get_file_metadata: reports the properties of a file without its content."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from treadle.events.types import ToolView
from treadle.paths import resolve_readable
from treadle.toolbox.code.text import READABLE, LineEnds, survey
from treadle.toolbox.code.workspace import Workspace, shown_path
from treadle.toolbox.wording import counted
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Result, Tool, ToolContext


class FileMetadataArguments(Arguments):
    """The path of the file."""

    path: str = Field(
        min_length=1, description="File, relative to the repository root or absolute inside it."
    )


class FileMetadataResult(Result):
    """The properties of a file.

    If the file does not exist, `nearest` lists similar paths. `size` is in bytes. `modified` is a
    UTC time in ISO 8601. `content_hash` is the BLAKE2b-256 hash of the content in hexadecimal.
    `language` and `items` (the number of items) come from the index. Both are left out if the index
    does not contain the file.
    """

    type: str = "file_metadata"
    file: str
    exists: bool
    size: int | None = None
    lines: int | None = None
    modified: str | None = None
    content_hash: str | None = None
    language: str | None = None
    items: int | None = None
    encoding: str | None = None
    line_ends: LineEnds | None = None
    nearest: list[str] | None = None


class GetFileMetadata(Tool[FileMetadataArguments, FileMetadataResult]):
    """Reports the properties of a file inside the repository root."""

    name = "get_file_metadata"
    description = (
        "Report whether a file exists, and its size, lines, modification time, content hash, "
        "language, number of items, encoding and line ends."
    )
    arguments = FileMetadataArguments
    result = FileMetadataResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subjects(self, arguments: FileMetadataArguments) -> tuple[Subject, ...]:
        return (Subject(path=arguments.path),)

    async def run(
        self, arguments: FileMetadataArguments, context: ToolContext
    ) -> FileMetadataResult:
        return await asyncio.to_thread(self._describe, arguments.path, context.private)

    def view(self, arguments: FileMetadataArguments, result: FileMetadataResult) -> ToolView:  # noqa: ARG002
        if not result.exists:
            return ToolView(f"{result.file} does not exist")
        size = counted(result.size or 0, "byte")
        lines = "" if result.lines is None else f", {counted(result.lines, 'line')}"
        return ToolView(f"{result.file}: {size}{lines}, {result.encoding}")

    def _describe(self, name: str, private: frozenset[Path]) -> FileMetadataResult:
        path = resolve_readable(self._workspace.root, name, private)
        if not os.path.lexists(path):
            return FileMetadataResult(
                file=shown_path(name), exists=False, nearest=self._workspace.nearest(name)
            )
        path = self._workspace.file(name, private)
        opened = self._workspace.opened(path)
        modified = datetime.fromtimestamp(os.fstat(opened.fileno()).st_mtime, UTC)
        seen = survey(opened)
        self._workspace.index.refresh()
        relative = path.relative_to(self._workspace.root).as_posix()
        summary = self._workspace.index.files_summary(relative)
        charset = self._workspace.charset(path) if seen.encoding in READABLE else None
        return FileMetadataResult(
            file=self._workspace.relative(path),
            exists=True,
            size=seen.size,
            lines=seen.lines,
            modified=modified.isoformat(timespec="seconds"),
            content_hash=seen.content_hash,
            language=summary.language if summary else None,
            items=summary.items if summary else None,
            encoding=charset.stored if charset is not None else seen.encoding.value,
            line_ends=seen.line_ends,
        )
