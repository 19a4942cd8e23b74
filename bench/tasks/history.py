"""The git data that the benchmark reads: commits, their changes, and their trees."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 300
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_FIELDS = "%H%x00%P%x00%an%x00%s%x00%b"


@dataclass(frozen=True, slots=True)
class Commit:
    identifier: str
    parents: tuple[str, ...]
    author: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the parent's file that a commit replaces: `count` of them, from `first` on.

    With a count of 0 the commit adds lines after the line `first`.
    """

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of the parent's tree that a commit changes, by its path there."""

    path: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a commit does to files: those that its parent has, and those that it adds."""

    changed: tuple[ChangedFile, ...]
    added: tuple[str, ...]


class History:
    """A git directory, which is only read."""

    def __init__(self, clone: Path) -> None:
        self._clone = clone

    def _run(
        self, *arguments: str, also: dict[str, str] | None = None, check: bool = True
    ) -> bytes:
        command = ["git", "--git-dir", str(self._clone), "-c", "core.quotePath=false", *arguments]
        environment = os.environ | {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
        done = subprocess.run(
            command,
            check=check,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            env=environment | (also or {}),
        )
        return done.stdout

    def mainline(self, commit: str) -> list[str]:
        """The first-parent ancestors of `commit`, oldest first."""
        return self._run("rev-list", "--reverse", "--first-parent", commit).decode().split()

    def between(self, start: str, end: str) -> list[Commit]:
        """The commits that descend from `start` and lead to `end`, parents first."""
        return self._commits(
            "log", "--reverse", "--topo-order", "--ancestry-path", f"{start}..{end}"
        )

    def before(self, commit: str, limit: int) -> list[tuple[Commit, list[str]]]:
        """The last commits up to `commit` without merges, each with the paths that it changed."""
        read = self._run(
            "log", "--no-merges", "--no-renames", f"--max-count={limit}", "--name-only", "-z",
            f"--format=%x01{_FIELDS}%x00%x02", commit,
        )  # fmt: skip
        found: list[tuple[Commit, list[str]]] = []
        for entry in read.decode("utf-8", "replace").split("\x01")[1:]:
            head, _, paths = entry.partition("\x02")
            fields = head.split("\x00")
            found.append(
                (
                    _commit(fields),
                    [path for path in paths.lstrip("\n").split("\x00") if path.strip()],
                )
            )
        return found

    def commit(self, identifier: str) -> Commit:
        """A single commit."""
        return self._commits("log", "--max-count=1", identifier)[0]

    def _commits(self, *arguments: str) -> list[Commit]:
        read = self._run(*arguments, f"--format={_FIELDS}%x01").decode("utf-8", "replace")
        entries = [entry.lstrip("\n") for entry in read.split("\x01")]
        return [_commit(entry.split("\x00")) for entry in entries if entry]

    def paths(self, commit: str) -> list[str]:
        """The files of a tree."""
        read = self._run("ls-tree", "-r", "-z", "--name-only", commit)
        return [os.fsdecode(path) for path in read.split(b"\0") if path]

    def content(self, commit: str, path: str) -> bytes | None:
        """The bytes of a file; None if the tree or the clone does not have it."""
        try:
            return self._run("cat-file", "blob", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return None

    def changes(self, commit: str) -> Changes:
        """The changes of a commit with one parent, apart from white space."""
        read = self._run(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames",
            "--ignore-all-space", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/",
            f"{commit}^", commit,
        )  # fmt: skip
        changed: list[ChangedFile] = []
        added: list[str] = []
        for block in read.split(b"\ndiff --git ") if read else []:
            old, new = _path(block, b"\n--- "), _path(block, b"\n+++ ")
            hunks = tuple(
                Hunk(int(match[1]), 1 if match[2] is None else int(match[2]))
                for line in block.split(b"\n")
                if (match := _HUNK.match(line))
            )
            if old is not None and hunks:
                changed.append(ChangedFile(old, hunks))
            elif old is None and new is not None:
                added.append(new)
        return Changes(tuple(changed), tuple(added))

    def check_out(self, commit: str, target: Path) -> None:
        """Write a tree to `target`. Files that the clone does not have are left out.

        The tree is a work tree of git whose history ends with `commit`.
        """
        folder = target / ".git"
        (folder / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "HEAD").write_text(f"{commit}\n")
        objects = self._clone.resolve() / "objects"
        (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        also = {"GIT_INDEX_FILE": str(folder / "index"), "GIT_WORK_TREE": str(target)}
        self._run("read-tree", commit, also=also)
        self._run("checkout-index", "--all", "--force", "--quiet", also=also, check=False)

    def move(self, commit: str, target: Path) -> None:
        """Turn an earlier `target` into another tree, changing only what differs.

        Files that the clone does not have are left out.
        """
        target.mkdir(parents=True, exist_ok=True)
        index = target.with_name(f"{target.name}.index")
        also = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(target)}
        self._run("read-tree", "--reset", "-u", commit, also=also, check=False)
        self._run("read-tree", commit, also=also)
        self._run("checkout-index", "--all", "--quiet", also=also, check=False)


def _commit(fields: Sequence[str]) -> Commit:
    identifier, parents, author, subject, body = fields[:5]
    return Commit(identifier, tuple(parents.split()), author, subject.strip(), body.strip())


def _path(block: bytes, mark: bytes) -> str | None:
    """The path after `---` or `+++` in the head of a file's block."""
    head = block.partition(b"\n@@ ")[0] + b"\n"
    _, found, rest = head.partition(mark)
    line = rest.partition(b"\n")[0].partition(b"\t")[0]
    return os.fsdecode(line[2:]) if found and line != b"/dev/null" else None


def evenly(items: Sequence[str], count: int, first: float, last: float) -> Iterator[str]:
    """`count` of `items`, at equal distances between two shares of their number."""
    for step in range(count):
        share = first + (last - first) * step / max(1, count - 1)
        yield items[int(share * (len(items) - 1))]
