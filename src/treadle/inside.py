"""Opens files below a root folder by folder, so that no link on the way is followed.

A path that was checked can lead elsewhere a moment later, if a link replaces one of its folders.
Here each folder is opened relative to its parent, so the opened file is below the root in any case.
On systems without such calls, paths are opened as they are.
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
"""The deepest nesting of folders in a tree. A path costs its depth each time it is opened."""
_MAX_OPEN = 32
"""Folders above a folder that stay open: a path may be thousands deep."""


def open_root(root: str) -> int:
    """The root itself, by a path whose links are followed."""
    return os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSE)


def open_folder(folder: int, name: str) -> int:
    """The folder of that name in an open one."""
    return os.open(name, _FOLDER, dir_fd=folder)


def open_file(folder: int, name: str) -> int:
    """The file of that name in an open folder, for reading; does not wait for a pipe."""
    return os.open(name, _FILE, dir_fd=folder)


class Folders:
    """The folders below a root, each opened relative to its parent.

    The parents of the last one stay open, so that a walk opens each folder once. For one thread.
    Methods take POSIX paths relative to the root and raise OSError, also for a link on the way.
    """

    def __init__(self, root: Path | str) -> None:
        self._root = os.fspath(root)
        self._names: list[str] = []
        self._open: list[int] = []
        """The root and the folders of `_names`, if the path is short enough."""
        self._deep = -1
        """The last opened folder, if it is deeper than that."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all folders; they are opened again when needed."""
        self._keep(0)

    def read(self, path: str) -> BinaryIO:
        """The regular file at `path`, open for reading; it does not wait for a pipe."""
        folder, _, name = path.rpartition("/")
        opened = open_file(self.at(folder), name) if BY_FOLDER else os.open(self._full(path), _FILE)
        try:
            _refuse_others(opened, path)
            return os.fdopen(opened, "rb")
        except BaseException:
            os.close(opened)
            raise

    def target(self, path: str) -> str:
        """The literal target of the link at `path`."""
        folder, _, name = path.rpartition("/")
        if not BY_FOLDER:
            return os.readlink(self._full(path))  # noqa: PTH115  (the literal text)
        return os.readlink(name, dir_fd=self.at(folder))

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """The entries of a folder. Use them before opening another folder."""
        with os.scandir(self.at(folder) if BY_FOLDER else self._full(folder)) as listing:
            yield from listing

    def at(self, folder: str) -> int:
        """The open folder of that path, "" for the root; a later call or `close` closes it."""
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
    """At most `limit` bytes of the regular file at `path`. Raises OSError, also for other kinds.

    Neither a pipe nor a device makes the caller wait. With `follow` false a link is refused.
    """
    if "\0" in path:  # git may store such a name; `os.open` raises ValueError
        raise OSError(errno.EINVAL, "Not a path", path)
    opened = os.open(path, _FILE & ~getattr(os, "O_NOFOLLOW", 0) if follow else _FILE)
    with os.fdopen(opened, "rb") as file:
        _refuse_others(opened, path)
        return file.read(limit) or b""  # None if a file of /proc has nothing just now


def read_inside(root: Path | str, path: str) -> BinaryIO:
    """Open one regular file below `root` for reading; `Folders.read` for a single file."""
    with Folders(root) as folders:
        return folders.read(path)


def _refuse_others(file: int, path: str) -> None:
    """Raise OSError unless the open file is a regular one: others might never end."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
