"""Drafts a commit message without a model. It names the changed files and nothing else."""

import posixpath
from collections.abc import Sequence

from treadle.commits.message import CommitMessage, describe_file
from treadle.commits.staged import StagedChanges, StagedFile
from treadle.commits.style import CommitStyle
from treadle.visible import in_line

_LISTED = 20
_VERBS = {"A": "Add", "D": "Remove", "R": "Rename", "C": "Copy"}


def draft_message(changes: StagedChanges, style: CommitStyle) -> CommitMessage:
    """Return a message that states which files the commit adds, changes, removes or renames."""
    files = changes.files
    statuses = {file.status for file in files}
    verb = _VERBS.get(next(iter(statuses)), "Update") if len(statuses) == 1 else "Update"
    subject = f"{verb} {_what(files)}"
    if not style.capitalised:
        subject = subject[0].lower() + subject[1:]
    if style.prefixed:
        subject = f"{_prefix(style.prefixed, files)}: {subject}"
    if style.full_stop:
        subject += "."
    if len(files) == 1:
        return CommitMessage(subject)
    lines = [f"- {describe_file(file)}" for file in files[:_LISTED]]
    if len(files) > _LISTED:
        lines.append(f"- and {len(files) - _LISTED} more")
    return CommitMessage(subject, "\n".join(lines))


def _what(files: Sequence[StagedFile]) -> str:
    if len(files) == 1:
        path, former = files[0].path, files[0].former
        name = posixpath.basename(path)
        if former is None:
            return in_line(name)
        return in_line(f"{posixpath.basename(former)} to {name}")
    folder = _common_folder(files)
    return f"{len(files)} files" + (f" in {in_line(folder)}" if folder else "")


def _common_folder(files: Sequence[StagedFile]) -> str:
    return posixpath.commonpath([posixpath.dirname(file.path) or "." for file in files]).strip(".")


def _prefix(example: str, files: Sequence[StagedFile]) -> str:
    """Return a type such as `chore` if the example has a type, or else an area of the tree."""
    head = example.partition(":")[0]
    if head.partition("(")[0].rstrip("!") in _TYPES:
        return "chore"
    return in_line(_common_folder(files).partition("/")[0] or posixpath.basename(files[0].path))


_TYPES = frozenset({
    "build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test",
})  # fmt: skip
"""The types of the Conventional Commits specification and of its common Angular convention."""
