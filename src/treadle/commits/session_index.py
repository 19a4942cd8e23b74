"""Builds an index that contains the edits of a conversation and no other change of the person.

The commit of such an index contains HEAD with the edits. Unstaged and staged changes of the person
stay as they are, in the files and in the index of the work tree.
"""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from treadle.errors import TreadleError
from treadle.git import GitError, git_environment, run_git

_FILE = "100644"
_PROGRAM = "100755"


class EditsNotSeparableError(TreadleError):
    """An edit of the conversation overlaps another change, so it cannot be committed alone."""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """The contents of a file that a conversation changed, oldest first.

    The first content is the current one without the edits, the second has the oldest edit, and the
    last is the current content. None means that there is no file.
    """

    states: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """A file whose edits are not committed, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class SessionIndex:
    """Two index files: one to commit, and the index of the work tree after the commit.

    `paths` are the paths whose edits are in the commit. `state` is the state of the index of the
    work tree from which the second file was computed.
    """

    to_commit: Path
    afterwards: Path
    paths: tuple[str, ...]
    left_out: tuple[LeftOutFile, ...]
    state: "_State"


@contextmanager
def session_index(root: Path, files: Mapping[str, EditedFile]) -> Iterator[SessionIndex]:
    """Yields the index files for the edits in `files`, and removes them afterwards.

    The keys are paths relative to `root`. Edits that HEAD already contains are ignored. Edits that
    overlap another change are left out. Raises GitError.
    """
    with tempfile.TemporaryDirectory(prefix="treadle-commit-") as name:
        folder = Path(name)
        builder = _Builder(root, folder)
        left_out = []
        for path, file in sorted(files.items()):
            try:
                builder.add(path, file)
            except EditsNotSeparableError as error:
                left_out.append(LeftOutFile(path, error.message))
        yield builder.index(tuple(left_out))


@contextmanager
def locked_index(root: Path, built: SessionIndex) -> Iterator[None]:
    """Lock the index of the work tree, as git does, and replace it when the context ends.

    If an exception leaves the context, the index stays as it is. Raises GitError if another process
    has the lock, or has changed the index since `built` was created.
    """
    path = _index_path(root)
    lock = path.with_name(f"{path.name}.lock")
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError as error:
        raise GitError(
            f"{lock} exists: another git process uses the index.",
            hint="Try again when it has ended. If none runs, remove the file.",
        ) from error
    try:
        _require_state(path, built.state)
        yield
        shutil.copyfile(built.afterwards, lock)
        lock.replace(path)
    except BaseException:
        lock.unlink(missing_ok=True)
        raise


def _index_path(root: Path) -> Path:
    return root / run_git(root, "rev-parse", "--git-path", "index").decode().rstrip("\n")


_State = tuple[int, int, int] | None
"""The inode, size and time of change of an index file. None means that there is no file."""


def _state(index: Path) -> _State:
    try:
        found = index.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _require_state(index: Path, state: _State) -> None:
    if _state(index) != state:
        raise GitError(
            "The staged changes changed while the message was written, so nothing was committed.",
            hint="Run `treadle commit` again.",
        )


def _has_head(root: Path) -> bool:
    try:
        run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError:
        return False
    return True


class _Builder:
    """Collects the entries of both index files."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._prefix = os.fsdecode(run_git(root, "rev-parse", "--show-prefix").rstrip(b"\n"))
        self._top = root
        for _ in Path(self._prefix).parts:
            self._top = self._top.parent
        self._committed: dict[str, _Entry | None] = {}
        self._afterwards: dict[str, _Entry | None] = {}
        index = _index_path(root)
        self._state = _state(index)
        self._has_head = _has_head(root)
        self._own_index = folder / "afterwards"
        if index.exists():
            shutil.copyfile(index, self._own_index)

    def add(self, path: str, file: EditedFile) -> None:
        """Add the edits of one file. Raises EditsNotSeparableError."""
        full = f"{self._prefix}{path}"
        head, staged = self._in_head(full), self._in_index(full)
        for entry in (head, staged):
            if entry is not None and entry.mode not in {_FILE, _PROGRAM}:
                raise EditsNotSeparableError("git does not track it as a regular file")
        in_head, in_index = (None if entry is None else entry.blob for entry in (head, staged))
        states = [self._blob(full, content) for content in file.states]
        if states[-1] == in_head:
            return  # an earlier commit contains the edits
        if head is None and states[-1] is not None and self._is_ignored(full):
            raise EditsNotSeparableError("git ignores it")
        blob = in_head
        for before, after in pairwise(states):  # HEAD may contain the oldest edits
            blob = self._merged(before, blob, after, "changes that are not from this conversation")
        if blob == in_head:
            return
        committed = None if blob is None else _Entry(self._mode(path, head), blob)
        if staged == head:
            afterwards = committed
        else:
            blob = self._merged(in_head, in_index, blob, "staged changes of yours")
            afterwards = None if blob is None else _Entry(self._mode(path, staged or head), blob)
        self._committed[full], self._afterwards[full] = committed, afterwards

    def index(self, left_out: tuple[LeftOutFile, ...]) -> SessionIndex:
        """Write both index files."""
        to_commit = self._folder / "commit"
        env = {"GIT_INDEX_FILE": os.fspath(to_commit)}
        run_git(self._root, "read-tree", *(["HEAD"] if self._has_head else ["--empty"]), env=env)
        self._update(to_commit, self._committed)
        self._update(self._own_index, self._afterwards)
        return SessionIndex(
            to_commit, self._own_index, tuple(self._committed), left_out, self._state
        )

    def _update(self, index: Path, entries: Mapping[str, _Entry | None]) -> None:
        nothing = "0" * len(run_git(self._root, "hash-object", "--stdin").strip())
        lines = b"".join(
            f"{entry.mode if entry else 0} {entry.blob if entry else nothing}\t".encode()
            + os.fsencode(path)
            + b"\0"
            for path, entry in entries.items()
        )
        env = {"GIT_INDEX_FILE": os.fspath(index)}
        run_git(self._top, "update-index", "-z", "--index-info", stdin=lines, env=env)

    def _in_head(self, path: str) -> _Entry | None:
        if not self._has_head:
            return None
        output = run_git(self._top, "ls-tree", "-z", "HEAD", "--", path, env=_LITERAL)
        return next((_Entry(mode, blob) for mode, _, blob in _listed(output)), None)

    def _in_index(self, path: str) -> _Entry | None:
        output = run_git(self._top, "ls-files", "--stage", "-z", "--", path, env=_LITERAL)
        entries = [(_Entry(mode, blob), stage) for mode, blob, stage in _listed(output)]
        if any(stage != "0" for _, stage in entries):
            raise EditsNotSeparableError("it has unmerged changes")
        return entries[0][0] if entries else None

    def _blob(self, path: str, content: bytes | None) -> str | None:
        """Store a content as git would add it, with its filters and line ends."""
        if content is None:
            return None
        arguments = ("hash-object", "-w", "--stdin", f"--path={path}")
        return run_git(self._top, *arguments, stdin=content).decode().strip()

    def _is_ignored(self, path: str) -> bool:
        try:
            return bool(
                run_git(self._top, "check-ignore", "-z", "--stdin", stdin=os.fsencode(path))
            )
        except GitError:  # status 1: the path is not ignored
            return False

    def _mode(self, path: str, entry: _Entry | None) -> str:
        if entry is not None:
            return entry.mode
        try:
            mode = (self._root / path).lstat().st_mode
        except OSError:
            return _FILE
        return _PROGRAM if mode & stat.S_IXUSR else _FILE

    def _merged(
        self, base: str | None, ours: str | None, theirs: str | None, what: str
    ) -> str | None:
        """Apply the difference between `base` and `theirs` to `ours`.

        Raises EditsNotSeparableError if the differences overlap. `what` names the other changes.
        """
        if ours in {base, theirs}:
            return theirs
        if base == theirs:
            return ours
        if base is None or ours is None or theirs is None:
            raise EditsNotSeparableError(f"it has {what} at the same lines")
        paths = [self._folder / name for name in ("ours", "base", "theirs")]
        for path, blob in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(run_git(self._root, "cat-file", "blob", blob))
        merged = subprocess.run(
            ["git", "merge-file", "--stdout", *map(os.fspath, paths)],
            cwd=self._folder, env=git_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, check=False,
        )  # fmt: skip
        if merged.returncode != 0:
            raise EditsNotSeparableError(f"it has {what} at the same lines")
        arguments = ("hash-object", "-w", "--stdin", "--no-filters")
        return run_git(self._root, *arguments, stdin=merged.stdout).decode().strip()


_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


def _listed(output: bytes) -> Iterator[tuple[str, str, str]]:
    """Parse the three fields before the path in each entry of `ls-tree -z` or `ls-files -s -z`."""
    for entry in filter(None, output.split(b"\0")):
        first, second, third = entry.partition(b"\t")[0].decode().split(" ")
        yield first, second, third
