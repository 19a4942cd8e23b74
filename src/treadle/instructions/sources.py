"""Reads instruction files: regular text files below a root, and the person's own file.

A repository may be hostile. A link that leads out of the repository, a private file and a file that
is not regular are refused, and no read blocks or exceeds `MAX_BYTES`.
"""

import codecs
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from treadle.errors import PathRefusedError
from treadle.inside import read_inside, read_regular
from treadle.paths import resolve_inside
from treadle.private_files import why_private, why_private_content
from treadle.secrets import redact
from treadle.visible import printable

OWN_FILE = "AGENTS.md"
"""The name of the person's own instruction file, in the folder of the settings file."""

NAMES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""The names of instruction files. In each folder, the first name that exists is used."""

MAX_BYTES = 131_072
"""The maximum number of bytes of a file that are read."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Content:
    """The text of an instruction file, without secrets and without hidden characters.

    `path` is relative to the root, after links were followed. For the person's own file it is
    absolute. `size` is the size of the file in bytes. `digest` identifies the text.
    """

    path: str
    text: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that exists but is not read. `reason` is a sentence."""

    path: str
    reason: str


class RepositoryFiles:
    """The readable files of a repository. `open_to` decides which paths a model may read."""

    def __init__(self, root: Path, open_to: Callable[[str], bool]) -> None:
        self._root = Path(os.path.realpath(root))
        self._open_to = open_to

    def real_path(self, path: str) -> str | Refusal:
        """Return the path of a file after links were followed, relative to the root.

        `path` is relative to the root. The file need not exist.
        """
        try:
            real = resolve_inside(self._root, path).relative_to(self._root).as_posix()
        except (PathRefusedError, ValueError, OSError):
            return Refusal(path, "It leads out of the repository.")
        reason = why_private(real) or why_private(PurePosixPath(path).name)
        if reason:
            return Refusal(path, f"It is private: {reason}.")
        return real

    def read(self, path: str) -> Content | Refusal | None:
        """Read the file at `path`, relative to the root. Returns None if there is no such file."""
        if not os.path.lexists(self._root / path):
            return None
        real = self.real_path(path)
        if isinstance(real, Refusal):
            return real
        if not self._open_to(real):
            return Refusal(path, "The approval rules do not let a model read it.")
        try:
            with read_inside(self._root, real) as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(MAX_BYTES) or b""
        except OSError as error:
            return Refusal(path, _why_unreadable(error))
        reason = why_private_content(data)
        return Refusal(path, f"It is private: {reason}.") if reason else _content(real, data, size)


def read_own(folder: Path) -> Content | Refusal | None:
    """Read the person's own instruction file in `folder`. Returns None if there is none."""
    path = folder / OWN_FILE
    try:
        size = path.stat().st_size
        data = read_regular(os.fspath(path), MAX_BYTES)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR}:
            return None
        return Refusal(str(path), _why_unreadable(error))
    return _content(str(path), data, size)


def _why_unreadable(error: OSError) -> str:
    if error.errno in {errno.EINVAL, errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP}:
        return "It is not a regular file."
    return f"It cannot be read: {error.strerror}."


def _content(path: str, data: bytes, size: int) -> Content | Refusal:
    if data.startswith(_UTF_16):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        return Refusal(path, "It is not a text file.")
    else:
        text = data.decode("utf-8-sig", "replace")
    text = redact(printable(text.replace("\r\n", "\n"))).strip()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return Content(path, text, size, digest)
