"""Opens files below a root, one folder after the other, without following links.

A checked path can still lead elsewhere: a program may replace one of its folders by a link between
the check and the opening. This module opens each folder relative to its parent, so the opened file
is always below the root. On a system that cannot open files relative to a folder, it opens the
whole path at once.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

BY_FOLDER = os.open in os.supports_dir_fd
"""Whether this system opens files relative to a folder."""

_CLOSE = getattr(os, "O_CLOEXEC", 0)
_STRAIGHT = getattr(os, "O_NOFOLLOW", 0) | _CLOSE
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _STRAIGHT
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _STRAIGHT
_NOT_BELOW = frozenset({"", ".", ".."})
MAX_DEPTH = 200
"""The deepest nesting of folders in a tree.

The time for opening a path is proportional to its depth.
"""
_MAX_OPEN = 32
"""The most folders of a path that are open at the same time.

A path may have thousands of folders, and a process may have only a limited number of open files.
"""


def open_root(root: str) -> int:
    """Open the root. Links in its path are followed."""
    return os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSE)


def open_folder(folder: int, name: str) -> int:
    """Open the folder `name` in the open folder `folder`."""
    return os.open(name, _FOLDER, dir_fd=folder)


def open_file(folder: int, name: str) -> int:
    """Open the file `name` in an open folder for reading. A pipe does not block the call."""
    return os.open(name, _FILE, dir_fd=folder)


class Folders:
    """The folders below a root, each opened relative to its parent.

    The parents of the last opened folder stay open, so that reading a tree opens each folder once.
    Only one thread may use an instance. Methods take POSIX paths relative to the root. They raise
    OSError on failure, and for a link in the path.
    """

    def __init__(self, root: Path | str) -> None:
        self._root = os.fspath(root)
        self._names: list[str] = []
        self._open: list[int] = []
        """The descriptors of the root and of the folders in `_names`.

        At most `_MAX_OPEN` folders are open.
        """
        self._deep = -1
        """The descriptor of the last opened folder if it is deeper than `_MAX_OPEN`, else -1."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all folders. Later calls open them again."""
        self._keep(0)

    def read(self, path: str) -> BinaryIO:
        """Open the regular file at `path` for reading.

        A pipe is refused and does not block the call.
        """
        folder, _, name = path.rpartition("/")
        opened = open_file(self.at(folder), name) if BY_FOLDER else os.open(self._full(path), _FILE)
        try:
            _refuse_others(opened, path)
            return os.fdopen(opened, "rb")
        except BaseException:
            os.close(opened)
            raise

    def target(self, path: str) -> str:
        """Return the target of the link at `path`, exactly as it is stored."""
        folder, _, name = path.rpartition("/")
        if not BY_FOLDER:
            return os.readlink(self._full(path))  # noqa: PTH115  (the literal text)
        return os.readlink(name, dir_fd=self.at(folder))

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Return the entries of a folder. Read them before you open another folder."""
        with os.scandir(self.at(folder) if BY_FOLDER else self._full(folder)) as listing:
            yield from listing

    def at(self, folder: str) -> int:
        """Return the descriptor of a folder. A later call or `close` closes it.

        `folder` is a path relative to the root, or "" for the root.
        """
        names = folder.split("/") if folder else []
        if any(name in _NOT_BELOW for name in names):
            raise OSError(errno.EINVAL, "Not a path below the root", folder)
        same = 0
        for before, name in zip(self._names, names, strict=False):
            if before != name:
                break
            same += 1
        self._keep(same + 1)
        if not self._open:
            self._open.append(open_root(self._root))
        for name in names[same:_MAX_OPEN]:
            self._open.append(open_folder(self._open[-1], name))
            self._names.append(name)
        if len(names) <= _MAX_OPEN:
            return self._open[-1]
        at = self._open[-1]
        for name in names[_MAX_OPEN:]:
            self._deep, outer = open_folder(at, name), self._deep
            at = self._deep
            if outer >= 0:
                os.close(outer)
        return at

    def _keep(self, count: int) -> None:
        """Close all but the first `count` folders."""
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1
        while len(self._open) > count:
            os.close(self._open.pop())
        del self._names[max(count - 1, 0) :]

    def _full(self, path: str) -> str:
        return os.path.join(self._root, path)  # noqa: PTH118  (as given, and fast)


def read_regular(path: str, limit: int, *, follow: bool = True) -> bytes:
    """Return at most `limit` bytes of the regular file at `path`.

    Raises OSError on failure, and if the file is not regular.

    A pipe or a device is refused and does not block the call. If `follow` is false, a link is
    refused too.
    """
    if "\0" in path:  # `os.open` would raise ValueError, not OSError
        raise OSError(errno.EINVAL, "Not a path", path)
    opened = os.open(path, _FILE & ~getattr(os, "O_NOFOLLOW", 0) if follow else _FILE)
    with os.fdopen(opened, "rb") as file:
        _refuse_others(opened, path)
        return file.read(limit) or b""  # `read` may return None for a file of /proc


def read_inside(root: Path | str, path: str) -> BinaryIO:
    """Open one regular file below `root` for reading, as `Folders.read` does."""
    with Folders(root) as folders:
        return folders.read(path)


def _refuse_others(file: int, path: str) -> None:
    """Raise OSError unless the open file is regular. Other files may never end."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
