"""Reads and changes the files below a root. No link is followed.

Each folder of a path is opened relative to its parent folder, and a link in the path is refused.
`System` makes the calls to the operating system, so that tests can let each call fail.
"""

import errno
import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_IMODE, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING

from treadle.edits.model import EditError
from treadle.errors import PathRefusedError
from treadle.events.types import ErrorKind
from treadle.inside import BY_FOLDER, open_file, open_folder, open_root
from treadle.paths import is_same, resolve_inside

if TYPE_CHECKING:
    from ctypes import _NamedFuncPointer


_NO_REPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = frozenset({
    errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM,
})  # fmt: skip
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | _CLOSE_ON_EXEC


class System:
    """The calls to the operating system. A method that raises OSError has had no effect."""

    def open_root(self, path: str) -> int:
        return open_root(path)

    def open_folder(self, folder: int, name: str) -> int:
        return open_folder(folder, name)

    def open_file(self, folder: int, name: str) -> int:
        """Open a file for reading, without waiting if it is a pipe."""
        return open_file(folder, name)

    def create_file(self, folder: int, name: str, mode: int) -> int:
        """Create a file and open it for writing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
        return os.open(name, flags, mode, dir_fd=folder)

    def close(self, file: int) -> None:
        os.close(file)

    def read(self, file: int, size: int) -> bytes:
        return os.read(file, size)

    def write(self, file: int, data: memoryview) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def status(self, file: int) -> os.stat_result:
        return os.fstat(file)

    def status_of(self, folder: int, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def may_write(self, folder: int, name: str) -> bool:
        effective = os.access in os.supports_effective_ids
        return os.access(name, os.W_OK, dir_fd=folder, effective_ids=effective)

    def set_mode(self, file: int, mode: int) -> None:
        os.fchmod(file, mode)

    def set_owner(self, file: int, user: int, group: int) -> None:
        os.fchown(file, user, group)

    def attributes(self, file: int) -> dict[str, bytes]:
        """The extended attributes of a file, including access control lists.

        The result is empty if the system does not support them.
        """
        if not hasattr(os, "listxattr"):
            return {}
        try:
            return {name: os.getxattr(file, name) for name in os.listxattr(file)}
        except OSError as error:
            if error.errno in {errno.ENOTSUP, errno.ENODATA}:
                return {}
            raise

    def set_attribute(self, file: int, name: str, value: bytes) -> None:
        os.setxattr(file, name, value)

    def make_folder(self, folder: int, name: str) -> None:
        os.mkdir(name, dir_fd=folder)

    def remove_folder(self, folder: int, name: str) -> None:
        os.rmdir(name, dir_fd=folder)

    def remove_file(self, folder: int, name: str) -> None:
        os.unlink(name, dir_fd=folder)

    def exchange(self, folder: int, first: str, second: str) -> None:
        """Exchange the names of two entries, atomically if the system supports it.

        An entry with the name `second` exists at every moment.
        """
        if not _rename_with(folder, first, second, _EXCHANGE):
            self.exchange_by_links(folder, first, second)

    def exchange_by_links(self, folder: int, first: str, second: str) -> None:
        """Exchange the names of two entries, on systems that cannot do this atomically.

        An entry with the name `second` exists at every moment. If another program writes a file to
        `second` between the first two calls, that file is lost.
        """
        spare = spare_name(first)
        self.link(folder, second, spare)
        try:
            self.rename(folder, first, second)
        except OSError:
            self.remove_file(folder, spare)
            raise
        self.rename(folder, spare, first)

    def move(self, folder: int, name: str, target: str) -> None:
        """Rename an entry to `target`. Raises FileExistsError if `target` exists."""
        if not _rename_with(folder, name, target, _NO_REPLACE):
            self.link(folder, name, target)
            self.remove_file(folder, name)

    def link(self, folder: int, name: str, target: str) -> None:
        os.link(name, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def rename(self, folder: int, name: str, target: str) -> None:
        os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)

    def is_open_for_writing(self, file: int) -> bool:
        """Whether a program may still write to the file.

        Returns False if the system cannot detect this. The system grants a read lease only if no
        process has the file open for writing (fcntl(2)). This method releases the lease
        immediately.
        """
        import fcntl

        lease = getattr(fcntl, "F_SETLEASE", None)
        if lease is None:
            return False
        try:
            # the default signal of a lease would end the process
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(file, lease, fcntl.F_RDLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        fcntl.fcntl(file, lease, fcntl.F_UNLCK)
        return False

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


def spare_name(temporary: str) -> str:
    """The name of the third link that an exchange by links needs temporarily."""
    return f"{temporary}-old"


def _rename_with(folder: int, name: str, target: str, flag: int) -> bool:
    """Call renameat2(2). Returns False if the system or the file system does not support it."""
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(folder, os.fsencode(name), folder, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), name, None, target)


@cache
def _renameat2() -> "_NamedFuncPointer | None":
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = [
            ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
        ]  # fmt: skip
    return function


MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of an edited file in bytes.

An edit needs several copies of the file in memory.
"""

ATTEMPTS = 2
"""The maximum number of attempts to remove a leftover file."""

_NOT_REMOVED = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT})
_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a regular file, and its status at the time of reading."""

    data: bytes
    status: os.stat_result


class Tree:
    """The files below `root`, which is a resolved path.

    Paths are POSIX paths relative to `root`, without "..". Methods raise EditError for a path that
    is not a regular file or that leads through a link. They raise OSError for other failures.
    """

    def __init__(self, root: Path, system: System) -> None:
        if not BY_FOLDER:
            raise EditError(
                ErrorKind.UNAVAILABLE,
                (
                    "This system cannot open files without following links, so Treadle edits "
                    "no files on it."
                ),
                hint="Use Treadle on Linux or macOS to apply edits.",
            )
        self.root = root
        self.system = system

    def relative(self, name: str) -> str:
        """The normalized path of the file `name`, which is relative to the root or absolute.

        The file need not exist. No link below the root is followed. Raises PathRefusedError for a
        path that leads out of the root, for the root itself, and for a name that ends with a slash.
        """
        if name.endswith("/") or "\0" in name:
            raise PathRefusedError(
                f"{name!r} is not a valid file path.", hint="Give the path of a file."
            )
        path = Path(os.path.normpath(os.path.join(self.root, name)))  # noqa: PTH118  (drops "a/..")
        for folder in path.parents:
            if folder == self.root or is_same(folder, self.root):
                return path.relative_to(folder).as_posix()
        real = resolve_inside(self.root, name)
        raise PathRefusedError(
            f"{name!r} resolves to {real}, which is not a file below the root.",
            hint="Give a path relative to the root.",
        )

    @contextmanager
    def folder_of(self, path: str) -> Iterator[tuple[int, str]]:
        """Opens the folder of `path`. Yields the open folder and the name of the file.

        Raises FileNotFoundError if the folder does not exist.
        """
        *folders, name = path.split("/")
        system = self.system
        folder = system.open_root(str(self.root))
        try:
            for depth, part in enumerate(folders):
                inner = self._open_folder(folder, folders[: depth + 1], part)
                folder, outer = inner, folder
                self.close(outer)
            yield folder, name
        finally:
            self.close(folder)

    def _open_folder(self, folder: int, parts: list[str], name: str) -> int:
        try:
            return self.system.open_folder(folder, name)
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
                raise
            path = "/".join(parts)
            if S_ISLNK(self.system.status_of(folder, name).st_mode):
                raise self._link(path) from error
            raise EditError(
                ErrorKind.VALIDATION,
                f"{path} is a file, not a folder.",
                path=path,
                hint="Choose another path.",
            ) from error

    def read(self, path: str) -> Content | None:
        """The content of the regular file at `path`, or None if there is no file."""
        try:
            with self.folder_of(path) as (folder, name):
                return self.read_in(folder, name, path)
        except FileNotFoundError:
            return None

    def data(self, path: str) -> bytes | None:
        """The bytes of the regular file at `path`, or None if there is no file."""
        content = self.read(path)
        return None if content is None else content.data

    def read_in(self, folder: int, name: str, path: str) -> Content:
        """The content of an entry of an open folder.

        Raises FileNotFoundError if there is no entry.
        """
        system = self.system
        self._check(path, system.status_of(folder, name))  # opening a device may have effects
        file = system.open_file(folder, name)
        try:
            status = system.status(file)
            self._check(path, status)
            return Content(self.read_open(file, status.st_size), status)
        finally:
            self.close(file)

    def close(self, file: int) -> None:
        """Close a file that was only read, ignoring errors."""
        with suppress(OSError):
            self.system.close(file)

    def read_open(self, file: int, size: int) -> bytes:
        """All bytes of an open file. `size` is the size of the file when it was opened."""
        parts = []
        while part := self.system.read(file, size + 1):
            parts.append(part)
            size = max(65_536, size - len(part))
        return b"".join(parts)

    def _check(self, path: str, status: os.stat_result) -> None:
        if S_ISLNK(status.st_mode):
            raise self._link(path)
        if not S_ISREG(status.st_mode):
            raise EditError(
                ErrorKind.PERMISSION,
                f"{path} is not a regular file, and is neither read nor written.",
                path=path,
                hint="Only regular files can be edited.",
            )
        if status.st_size > MAX_BYTES:
            raise EditError(
                ErrorKind.LIMIT,
                f"{path} has {status.st_size:,} bytes; at most {MAX_BYTES:,} can be edited.",
                path=path,
                hint="Split it, or change it with another program.",
            )

    def _link(self, path: str) -> EditError:
        real = Path(os.path.realpath(self.root / path))
        _log.warning("refused to follow the link %s to %s", self.root / path, real)
        inside = real.is_relative_to(self.root)
        return EditError(
            ErrorKind.PERMISSION,
            f"{path} is a link to {real}; edits do not follow links.",
            path=path,
            hint=f"Use the path {real.relative_to(self.root).as_posix()}."
            if inside
            else "It points outside the root, where nothing is written.",
        )

    def mode(self, path: str) -> int:
        """The permissions of the file at `path`."""
        with self.folder_of(path) as (folder, name):
            return S_IMODE(self.system.status_of(folder, name).st_mode)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """The folders above `path` that do not exist, outermost first.

        This method opens the deepest existing folder, which proves that the path is below the root.
        """
        folders = path.split("/")[:-1]
        for depth in range(len(folders), 0, -1):
            try:
                with self.folder_of("/".join([*folders[:depth], ""])):
                    return tuple(
                        "/".join(folders[:each]) for each in range(depth + 1, len(folders) + 1)
                    )
            except FileNotFoundError:
                continue
        return tuple("/".join(folders[:each]) for each in range(1, len(folders) + 1))

    def make_folders(self, paths: tuple[str, ...]) -> None:
        """Create the folders that do not exist, outermost first."""
        for path in paths:
            with self.folder_of(path) as (folder, name):
                with suppress(FileExistsError):
                    self.system.make_folder(folder, name)
                self.system.sync(folder)

    def remove_folders(self, paths: tuple[str, ...]) -> None:
        """Remove the folders that are empty, innermost first. Failures are ignored."""
        for path in reversed(paths):
            for _ in range(ATTEMPTS):
                try:
                    with self.folder_of(path) as (folder, name):
                        self.system.remove_folder(folder, name)
                except (OSError, EditError) as error:
                    if not isinstance(error, OSError) or error.errno not in _NOT_REMOVED:
                        continue
                break


def as_edit_error(path: str, error: OSError) -> EditError:
    """Convert an OSError to an EditError that states why a file cannot be written."""
    if error.errno in _PERMISSION:
        hint = "Change the permissions of the file or its folder, then apply the edit again."
        kind = ErrorKind.PERMISSION
    elif error.errno in {errno.ENOSPC, errno.EDQUOT}:
        hint = "Free some space, then apply the edit again."
        kind = ErrorKind.UNAVAILABLE
    elif error.errno in {errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ}:
        hint = "Choose another name."
        kind = ErrorKind.VALIDATION
    else:
        hint = "Check the disk, then apply the edit again."
        kind = ErrorKind.UNAVAILABLE
    reason = error.strerror or type(error).__name__
    return EditError(kind, f"{path} cannot be written: {reason}.", path=path, hint=hint)
