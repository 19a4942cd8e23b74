"""list_dir: lists the entries of a folder."""

import asyncio
import os
from pathlib import Path, PurePath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.files.walk import IgnoreRules
from treadle.events.types import ToolView
from treadle.inside import Folders
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.code.workspace import Workspace, shown_path
from treadle.toolbox.wording import counted
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Result, Tool, ToolContext

EntryKind = Literal["file", "folder", "link", "other"]


class ListDirArguments(Arguments):
    """The path of the folder."""

    path: str = Field(
        default=".", description="Folder, relative to the repository root or absolute inside it."
    )
    include_ignored: bool = Field(default=False, description="Also list ignored entries.")
    offset: int = Field(default=0, ge=0, description="Entries to skip.")
    max_tokens: MaxTokens = DEFAULT_TOKENS


class DirEntry(BaseModel):
    """One entry of a folder. `size` is in bytes. `target` is the path to which a link points."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: EntryKind
    size: int | None = None
    target: str | None = None


class ListDirResult(Result):
    """The entries of a folder, sorted by name.

    `total` is the number of listed entries, including entries that are not shown. `ignored` is the
    number of entries that are not listed because an ignore file excludes them.
    """

    type: str = "dir"
    path: str
    entries: list[DirEntry]
    total: int
    ignored: int
    more: str | None = None


class ListDir(Tool[ListDirArguments, ListDirResult]):
    """Lists the entries of a folder inside the repository root."""

    name = "list_dir"
    description = (
        "List the files and folders directly in a folder, with kinds and sizes. Ignored entries "
        "are only counted unless you ask for them."
    )
    arguments = ListDirArguments
    result = ListDirResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subjects(self, arguments: ListDirArguments) -> tuple[Subject, ...]:
        return (Subject(path=arguments.path),)

    def is_portable(self, arguments: ListDirArguments) -> bool:
        return not os.path.isabs(arguments.path)  # noqa: PTH117  (a text of a model)

    async def run(self, arguments: ListDirArguments, context: ToolContext) -> ListDirResult:
        return await asyncio.to_thread(self._list, arguments, context.private)

    def view(self, arguments: ListDirArguments, result: ListDirResult) -> ToolView:  # noqa: ARG002
        total = counted(result.total, "entry", "entries")
        return ToolView(f"{result.path}: {len(result.entries):,} of {total}")

    def _list(self, arguments: ListDirArguments, private: frozenset[Path]) -> ListDirResult:
        folder = self._workspace.folder(arguments.path, private)
        rules = IgnoreRules(self._workspace.root)
        inside = folder.relative_to(self._workspace.root)
        entries: list[os.DirEntry[str]] = []
        ignored = 0
        with Folders(self._workspace.root) as folders:
            at = "" if inside == PurePath() else inside.as_posix()
            for entry in folders.entries(at):
                is_dir = entry.is_dir(follow_symlinks=False)
                left_out = rules.ignored((inside / entry.name).as_posix(), is_dir=is_dir)
                if left_out and not arguments.include_ignored:
                    ignored += 1
                else:
                    entries.append(entry)
            entries.sort(key=lambda entry: entry.name)
            rows = [_described(entry, at, folders) for entry in entries[arguments.offset :]]

        def built(count: int) -> ListDirResult:
            following = arguments.offset + count
            rest = len(entries) - following
            return ListDirResult(
                path=self._workspace.relative(folder),
                entries=rows[:count],
                total=len(entries),
                ignored=ignored,
                more=f"{rest} more; call again with offset {following}." if rest > 0 else None,
            )

        def tokens(count: int) -> int:
            return estimate(self.content(built(count)))

        return built(most_that_fit(len(rows), tokens, arguments.max_tokens))


def _described(entry: os.DirEntry[str], folder: str, folders: Folders) -> DirEntry:
    name = shown_path(entry.name)
    try:
        if entry.is_symlink():
            target = folders.target(f"{folder}/{entry.name}" if folder else entry.name)
            return DirEntry(name=name, kind="link", target=shown_path(target))
        if entry.is_dir(follow_symlinks=False):
            return DirEntry(name=name, kind="folder")
        if entry.is_file(follow_symlinks=False):
            size = entry.stat(follow_symlinks=False).st_size
            return DirEntry(name=name, kind="file", size=size)
    except OSError:  # the entry was deleted after it was listed, or is not readable
        pass
    return DirEntry(name=name, kind="other")
