"""Creates a commit with git, with the hooks and settings of the user."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.commits.message import CommitMessage
from treadle.commits.staged import head_or_empty_tree, written_tree
from treadle.errors import TreadleError, UsageError
from treadle.git import GitError, git_environment, run_git

_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}


class CommitFailedError(TreadleError):
    """git refused the commit, for example because a hook failed. git has printed the reason."""


def require_no_operation(root: Path) -> None:
    """Raise UsageError if a merge, rebase, cherry-pick or revert is in progress."""
    for name, operation in _UNFINISHED.items():
        path = run_git(root, "rev-parse", "--git-path", name).decode().rstrip("\n")
        if (root / path).exists():
            raise UsageError(
                f"In {root}, {operation} is in progress.",
                hint="Finish it with git, which has its own message.",
            )


def create_commit(
    root: Path,
    message: CommitMessage,
    *,
    tree: str,
    head: str,
    index: Path | None = None,
    edit: bool = False,
) -> str:
    """Commit the index, and return the id of the commit.

    `tree` and `head` are the ids of the tree and of the parent that the person approved. If the
    index or HEAD has changed since, UsageError is raised and nothing is committed. With `index`,
    git uses this index file. With `edit`, git opens the message in the editor of the user. Hooks
    run, and git may ask for the passphrase of a signing key. Raises CommitFailedError and GitError.
    """
    if written_tree(root, index) != tree or head_or_empty_tree(root) != head:
        raise UsageError(
            "The staged changes or HEAD changed while the message was written, so nothing was"
            " committed.",
            hint="Run `treadle commit` again.",
        )
    with _message_file(root, message) as path:
        command = ["git", "commit", "--quiet", "--cleanup=whitespace", "--file", os.fspath(path)]
        if edit:
            command[-2:-2] = ["--edit"]
        env = git_environment() | ({} if index is None else {"GIT_INDEX_FILE": os.fspath(index)})
        # Hooks print to standard output, which may be the JSON of the command.
        done = subprocess.run(command, cwd=root, env=env, stdout=sys.stderr, check=False)
        if done.returncode != 0:
            raise CommitFailedError(
                f"git committed nothing (status {done.returncode}).",
                hint="Fix the problem that git reported. The message was:\n\n" + message.text,
            )
    return run_git(root, "rev-parse", "HEAD").decode().strip()


@contextmanager
def _message_file(root: Path, message: CommitMessage) -> Iterator[Path]:
    """Yields a file with the message, in the git folder, and then removes the file."""
    name = run_git(root, "rev-parse", "--git-path", "TREADLE_COMMIT_MSG").decode().rstrip("\n")
    path = root / name
    try:
        path.write_text(message.text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise GitError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
