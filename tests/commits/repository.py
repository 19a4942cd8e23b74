"""A real git repository for tests of commits."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip


@dataclass(frozen=True)
class Repository:
    """A repository with the work tree `root`."""

    root: Path

    @classmethod
    def create(cls, root: Path, *options: str) -> "Repository":
        """Create an empty repository whose commits need no settings of the machine."""
        root.mkdir(parents=True)
        made = cls(root)
        made.git("init", "--quiet", "--initial-branch=main", *options)
        made.git("config", "user.name", "A")
        made.git("config", "user.email", "a@example.org")
        return made

    def git(self, *arguments: str) -> bytes:
        """Run git, and return its output."""
        return subprocess.run(
            ["git", *arguments], cwd=self.root, env={**os.environ, **_SETTINGS},
            capture_output=True, check=True,
        ).stdout  # fmt: skip

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file of the work tree."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def stage(self, path: str, content: str | bytes) -> None:
        """Write a file, and stage it."""
        self.write(path, content)
        self.git("add", "--force", "--", path)

    def commit(self, subject: str, files: dict[str, str]) -> None:
        """Write files, and commit them."""
        for path, content in files.items():
            self.stage(path, content)
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)

    def tree(self, revision: str = "HEAD") -> dict[str, bytes]:
        """The content of each file of a commit. The revision "" stands for the index."""
        names = (
            self.git("ls-tree", "-rz", "--name-only", revision)
            if revision
            else self.git("ls-files", "-z")
        )
        paths = [os.fsdecode(name) for name in names.split(b"\0") if name]
        return {path: self.git("cat-file", "blob", f"{revision}:{path}") for path in paths}
