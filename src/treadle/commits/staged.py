"""Reads the changes that the next commit of a repository would contain."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treadle.errors import UsageError
from treadle.git import GitError, run_git
from treadle.private_files import why_private
from treadle.secrets import redact

_DIFF = ("--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
_LARGE = ("-c", "core.bigFileThreshold=1m")
"""git shows no diffs of larger files."""

_SUBMODULE = "160000"
_TYPE_CHANGED = "T"
"""The status of a file that becomes a link, for example. Its patch has two parts."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One changed file. `path` is relative to the top of the work tree.

    `status` is git's letter: A (added), M (modified), D (deleted), R (renamed), C (copied) or
    T (type changed). A renamed or copied file has the path `former`. `patch` is the diff without
    its header. Secrets in it are redacted. It is empty if the file is binary or usually contains
    secrets; `note` then states the reason.
    """

    path: str
    status: str
    former: str | None = None
    patch: str = ""
    note: str | None = None


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """The changes between HEAD and the tree with the id `tree`, in the order of their paths."""

    tree: str
    files: tuple[StagedFile, ...]


def read_staged(root: Path, index: Path | None = None) -> StagedChanges:
    """Read the staged changes of the repository at `root`.

    With `index`, git uses this index file instead of the index of the work tree. Raises GitError,
    and UsageError if files have unmerged changes or nothing is staged.
    """
    changes = changes_of_tree(root, written_tree(root, index))
    if not changes.files:
        raise UsageError(
            "Nothing is staged, so there is nothing to commit.",
            hint="Stage changes with `git add`, or commit the edits of a conversation with"
            " `treadle commit --session last`.",
        )
    return changes


def written_tree(root: Path, index: Path | None = None) -> str:
    """Write the content of the index as a tree, and return its id. The index is unchanged."""
    env = {} if index is None else {"GIT_INDEX_FILE": os.fspath(index)}
    unmerged = run_git(root, "ls-files", "--unmerged", "-z", env=env)
    if unmerged:
        path = os.fsdecode(unmerged.split(b"\0")[0].partition(b"\t")[2])
        raise UsageError(
            f"{path} has unmerged changes.", hint="Resolve the conflicts and stage the file."
        )
    return run_git(root, "write-tree", env=env).decode().strip()


def head_or_empty_tree(root: Path) -> str:
    """Return the id of the commit HEAD, or of the empty tree if there is no commit yet."""
    try:
        return run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except GitError:
        return run_git(root, "hash-object", "-t", "tree", "--stdin").decode().strip()


def changes_of_tree(root: Path, tree: str) -> StagedChanges:
    """Return the changes between HEAD and a tree. Raises GitError."""
    compared = (*_DIFF, head_or_empty_tree(root), tree)
    listed = run_git(root, "diff-tree", "-r", "--raw", "-z", *compared)
    patches = iter(_patches(run_git(root, *_LARGE, "diff-tree", "-r", "--patch", *compared)))
    files = []
    for file, is_submodule in _listed_files(listed):  # both outputs have the same order
        patch = next(patches)
        if file.status == _TYPE_CHANGED:
            patch += next(patches)
        files.append(_with_patch(file, patch, is_submodule=is_submodule))
    return StagedChanges(tree, tuple(files))


def _listed_files(raw: bytes) -> Iterator[tuple[StagedFile, bool]]:
    """Parse the output of `git diff-tree --raw -z`. The second value marks a submodule."""
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if not head:
            continue
        former_mode, mode, _, _, letters = head.decode().removeprefix(":").split(" ")
        path, former = os.fsdecode(next(fields)), None
        if letters[0] in "RC":
            former, path = path, os.fsdecode(next(fields))
        yield StagedFile(path, letters[0], former), _SUBMODULE in {former_mode, mode}


_HEADER = re.compile(rb"^(?=diff --git )", re.MULTILINE)


def _patches(output: bytes) -> list[bytes]:
    """Split a diff at the headers of its files. No line of a hunk begins with `diff --git`."""
    return _HEADER.split(output)[1:]


def _with_patch(file: StagedFile, patch: bytes, *, is_submodule: bool) -> StagedFile:
    """Return `file` with the part of the patch that a model may read."""
    reason = why_private(file.path) or (file.former and why_private(file.former))
    if reason:
        return StagedFile(file.path, file.status, file.former, note=f"not shown: {reason}")
    if is_submodule:
        return StagedFile(file.path, file.status, file.former, note="submodule")
    text = patch.decode("utf-8", "replace")
    start = text.find("\n@@ ")
    if start >= 0:
        return StagedFile(file.path, file.status, file.former, redact(text[start + 1 :]))
    binary = "\nBinary files " in text or "\nGIT binary patch" in text
    return StagedFile(file.path, file.status, file.former, note="binary file" if binary else None)
