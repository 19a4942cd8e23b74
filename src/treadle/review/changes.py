"""Reads the changed files of a work tree, an index or a range of commits, with both contents."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from treadle.errors import UsageError
from treadle.git import GitError, run_git
from treadle.inside import read_regular
from treadle.private_files import why_private

MAX_FILE_BYTES = 1_000_000
"""Larger files are not reviewed."""

_OPTIONS = ("--raw", "-z", "-r", "--find-renames", "--no-ext-diff", "--no-abbrev", "--relative")
_NO_FILE = "000000"
_REGULAR = frozenset({"100644", "100755"})


class Side(Enum):
    """What a base is compared with: the files of the work tree, or the index."""

    WORK_TREE = "work tree"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file with its contents before and after the change. None means that there is no file.

    `path` is relative to the root of the review. A renamed file had the path `former`.
    """

    path: str
    former: str | None
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A changed file that is not reviewed, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed files between `base` and `target`. Both are names for people."""

    base: str
    target: str
    files: tuple[ChangedFile, ...]
    skipped: tuple[SkippedFile, ...]


def read_changes(root: Path, revisions: str | None, side: Side = Side.WORK_TREE) -> Changes:
    """Return the changed files below the folder `root` of a repository.

    Without `revisions`, HEAD is compared with `side`. `A..B` compares two commits, and `A...B`
    compares B with the common ancestor of both. Another revision is a branch that the work was
    started from: its common ancestor with HEAD is compared with `side`. Raises UsageError for an
    unknown revision, and GitError.
    """
    if revisions is not None and ".." in revisions:
        separator = "..." if "..." in revisions else ".."
        first, _, second = revisions.partition(separator)
        base, target = _commit(root, first or "HEAD"), _commit(root, second or "HEAD")
        if separator == "...":
            base = _ancestor(root, base, target)
        raw = run_git(root, "diff-tree", *_OPTIONS, base, target)
        return _Reader(root, Side.INDEX).changes(revisions, second or "HEAD", raw)
    base = _commit(root, revisions or "HEAD")
    if revisions is not None:
        base = _ancestor(root, base, _commit(root, "HEAD"))
    cached = ("--cached",) if side is Side.INDEX else ()
    raw = run_git(root, "diff-index", *_OPTIONS, *cached, base)
    return _Reader(root, side).changes(revisions or "HEAD", side.value, raw)


def _commit(root: Path, revision: str) -> str:
    try:
        found = run_git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    except GitError as error:
        raise UsageError(
            f"git finds no commit {revision!r} in {root}.",
            hint="Name a branch, a tag or a commit, or two of them as A..B.",
        ) from error
    return found.decode().strip().splitlines()[-1]


def _ancestor(root: Path, first: str, second: str) -> str:
    try:
        return run_git(root, "merge-base", first, second).decode().split()[0]
    except (GitError, IndexError) as error:
        raise UsageError(
            f"{first[:12]} and {second[:12]} have no common ancestor.",
            hint="Compare both commits with A..B.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the contents of changed files: from the disk, or from the objects of git."""

    root: Path
    side: Side

    def changes(self, base: str, target: str, raw: bytes) -> Changes:
        """Return the changes that `raw`, an output of `git diff-index --raw -z`, lists."""
        files: list[ChangedFile] = []
        skipped: list[SkippedFile] = []
        entries = [*_entries(raw)]
        if self.side is Side.WORK_TREE:
            entries += self._untracked()
        for entry in entries:
            if reason := _reason_to_skip(entry):
                skipped.append(SkippedFile(entry.path, reason))
                continue
            file = ChangedFile(entry.path, entry.former, self._before(entry), self._after(entry))
            if _is_large(file):
                reason = f"larger than {MAX_FILE_BYTES:,} bytes"
                skipped.append(SkippedFile(entry.path, reason))
            else:
                files.append(file)
        files.sort(key=lambda each: each.path)
        return Changes(base, target, tuple(files), tuple(skipped))

    def _untracked(self) -> Iterator["_Entry"]:
        listed = run_git(self.root, "ls-files", "-z", "--others", "--exclude-standard")
        for path in filter(None, listed.split(b"\0")):
            yield _Entry(os.fsdecode(path), None, _NO_FILE, "100644", "", "")

    def _before(self, entry: "_Entry") -> bytes | None:
        return None if entry.before_mode == _NO_FILE else self._blob(entry.before)

    def _after(self, entry: "_Entry") -> bytes | None:
        if entry.after_mode == _NO_FILE:
            return None
        if self.side is Side.INDEX:
            return self._blob(entry.after)
        try:
            path = os.fspath(self.root / entry.path)
            return read_regular(path, MAX_FILE_BYTES + 1, follow=False)
        except OSError:  # removed meanwhile, or not a regular file
            return None

    def _blob(self, blob: str) -> bytes:
        return run_git(self.root, "cat-file", "blob", blob)


def _is_large(file: ChangedFile) -> bool:
    return max(len(file.before or b""), len(file.after or b"")) > MAX_FILE_BYTES


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    former: str | None
    before_mode: str
    after_mode: str
    before: str
    after: str


def _entries(raw: bytes) -> Iterator[_Entry]:
    """Parse the output of `git diff-index --raw -z`."""
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        before_mode, after_mode, before, after, letters = head.decode()[1:].split(" ")
        path, former = os.fsdecode(next(fields)), None
        if letters[0] in "RC":
            former, path = path, os.fsdecode(next(fields))
        yield _Entry(path, former, before_mode, after_mode, before, after)


def _reason_to_skip(entry: _Entry) -> str | None:
    modes = {entry.before_mode, entry.after_mode} - {_NO_FILE}
    if not modes <= _REGULAR:
        return "a link or a submodule"
    return why_private(entry.path) or (why_private(entry.former) if entry.former else None)
