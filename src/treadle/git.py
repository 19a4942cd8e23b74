"""Runs git in a repository without the programs that the repository's settings could start."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from treadle.errors import TreadleError

SECONDS = 30.0
"""The default time limit of a git process in seconds.

Without a limit, git could wait forever, for example if an ignore file of the repository is a pipe.
"""

_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")

_NO_FETCHING = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
"""Environment variables that stop git from fetching missing objects, and from refreshing the index.

Fetching would be dangerous, since the repository may choose the program that git starts for it.
"""


class GitError(TreadleError):
    """git is missing, failed or took too long."""


def git_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that control git."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def run_git(
    root: Path,
    *arguments: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> bytes:
    """Run git in the folder `root`, and return its output.

    git runs no hooks, starts no file system monitor and fetches no objects. `env` has further
    environment variables. `seconds` is the time limit, `SECONDS` by default. Raises GitError.
    """
    limit = SECONDS if seconds is None else seconds
    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            cwd=root,
            env=git_environment() | _NO_FETCHING | dict(env or {}),
            input=stdin,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(
            f"`git {arguments[0]}` did not end within {limit:g} seconds.",
            hint="Try the same command in a terminal.",
        ) from error
    except OSError as error:
        raise GitError(
            f"git cannot be started in {root}: {error.strerror or error}.",
            hint="Install git and add it to PATH." if shutil.which("git") is None else None,
        ) from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[0] if lines else f"status {done.returncode}"
        raise GitError(f"`git {arguments[0]}` failed: {reason.rstrip('.')}.")
    return done.stdout
