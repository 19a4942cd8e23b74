"""Reads commits with the git program, without the settings of the repository.

Git runs in an empty git folder of Treadle, which refers to the objects of the repository. Therefore
configuration, hooks, aliases, attributes and remotes of an untrusted repository have no effect. Git
does not fetch objects that a partial clone lacks, and it writes nothing.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from treadle.code.history.head import Head
from treadle.code.terms import STOP_WORDS, term_counts, terms_of_word

_MAX_MESSAGE_CHARACTERS = 2_000

_TRAILER = re.compile(r"^[ \t]*[A-Za-z]+(?:-[A-Za-z]+)+:.*$|^[ \t]*[Cc]c:.*$", re.MULTILINE)
"""Lines such as `Signed-off-by`, `Co-authored-by`, `Change-Id` and `git-svn-id`."""

_ADDRESS = re.compile(r"^.*[^\s@]@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}.*$", re.MULTILINE)
"""A line with an email address, which usually contains a person's name as well."""

_DATA = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,64}\b|https?://\S+")
"""Ids of commits, and links."""

_SAYS_NOTHING = frozenset(term for word in STOP_WORDS for term in terms_of_word(word))


def message_terms(message: str) -> set[str]:
    """Return the distinct terms of a message, without numbers, stop words and names in trailers."""
    text = message[:_MAX_MESSAGE_CHARACTERS]
    for pattern in (_TRAILER, _ADDRESS, _DATA):
        text = pattern.sub(" ", text)
    return {
        term for term in term_counts(text) if term not in _SAYS_NOTHING and not term.isdecimal()
    }


_SECONDS = 20
"""The maximum time of one git process in seconds. Reading 2,000 commits takes 0.1 to 0.4 s."""

_MAX_BYTES = 24_000_000
"""The maximum number of bytes of output. In 39 repositories, 3,000 commits take 0.4 to 4.4 MB."""

_SHORT = 40
"""The number of characters of a SHA-1 commit id."""

_LONG_IDS = "[extensions]\nobjectFormat = sha256\n"

_MAX_MEMORY = 1_000_000_000

_CONFIG = "[core]\nrepositoryformatversion = {version}\nbare = true\n[log]\nshowRoot = false\n"
"""The configuration of the empty git folder.

With `showRoot = false`, git lists no paths for the first commit of a history or a shallow clone,
since such a commit adds all files at once.
"""


class Commit(NamedTuple):
    """A commit with the paths that it changed. Paths are relative to the top of the work tree."""

    id: str
    message: str
    paths: tuple[bytes, ...]


class _Output(NamedTuple):
    """The output of git. The output is incomplete if git was stopped or failed."""

    data: bytes
    is_complete: bool


class Git:
    """Reads the history of one HEAD. Output beyond the limits of time and size is left out."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._folder = tempfile.TemporaryDirectory(prefix="treadle-git-")

    def __enter__(self) -> Self:
        folder = Path(self._folder.name)
        (folder / "refs").mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        is_long = len(self._head.commit) > _SHORT
        config = _CONFIG.format(version=int(is_long)) + (_LONG_IDS if is_long else "")
        (folder / "config").write_text(config)
        (folder / "shallow").write_bytes(self._head.shallow)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def parents(self, most: int) -> list[list[str]]:
        """Return at most `most` of the last commits, newest first, each followed by its parents."""
        lines = self._run("rev-list", "--parents", f"--max-count={most}", self._head.commit)
        return [line.split() for line in _whole(lines, b"\n").decode().splitlines()]

    def commits(self, most: int) -> list[str]:
        """Return the ids of at most `most` of the last commits, newest first, without merges."""
        lines = self._run(
            "rev-list", "--no-merges", f"--max-count={most}", self._head.commit
        )  # fmt: skip
        return _whole(lines, b"\n").decode().split()

    def read(self, commits: Sequence[str]) -> list[Commit]:
        """Return the commits with these ids. Commits that cannot be read are left out."""
        output = self._run(
            "log", "--stdin", "--no-walk=unsorted", "--name-only", "-z", "--no-renames",
            "--no-show-signature", "--encoding=UTF-8", "--format=%x00%H%x00%B%x00",
            given="".join(f"{commit}\n" for commit in commits),
        )  # fmt: skip
        found = list(_commits(_whole(output, b"\0")))
        return found if output.is_complete else found[:-1]

    def _run(self, *arguments: str, given: str = "") -> "_Output":
        """Run git and return its output, cut at the limits of size and time. Raises OSError."""
        with tempfile.TemporaryFile(dir=self._folder.name) as ids:
            ids.write(given.encode())
            ids.seek(0)
            process = subprocess.Popen(
                ["git", "--no-pager", *arguments], cwd=self._folder.name, env=self._environment(),
                stdin=ids, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        _limit_memory(process.pid)
        watch = threading.Timer(_SECONDS, process.kill)
        watch.start()
        try:
            with process:
                assert process.stdout is not None
                data = process.stdout.read(_MAX_BYTES)
                if process.stdout.read(1):
                    process.kill()
        finally:
            watch.cancel()
        return _Output(data, process.returncode == 0)

    def _environment(self) -> dict[str, str]:
        folder = self._folder.name
        given = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
        return given | {
            "GIT_DIR": folder,
            "GIT_OBJECT_DIRECTORY": os.fspath(self._head.objects.absolute()),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": folder,
            "XDG_CONFIG_HOME": folder,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
            "LC_ALL": "C",
        }


def _limit_memory(pid: int) -> None:
    """Limit the memory of git if the system can limit another process."""
    with suppress(ImportError, AttributeError, OSError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))


def _whole(output: _Output, end: bytes) -> bytes:
    """Return the output up to the last `end`."""
    return output.data[: output.data.rfind(end) + 1]


def _commits(data: bytes) -> Iterator[Commit]:
    """Yield the commits in the output of git.

    NUL separates the parts of the output. An empty part ends the paths of a commit, since a path is
    never empty.
    """
    parts = iter(data.split(b"\0"))
    for identifier in parts:
        if not identifier:
            continue
        message = next(parts, b"")
        next(parts, b"")
        paths: list[bytes] = []
        while path := next(parts, b""):
            paths.append(path if paths else path.removeprefix(b"\n"))
        yield Commit(
            identifier.decode("ascii", "replace"), message.decode("utf-8", "replace"), tuple(paths)
        )
