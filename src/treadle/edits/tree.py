"""The files below a root, reached folder by folder so that no link is ever followed."""

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISLNK, S_ISREG

from treadle.edits.model import EditError
from treadle.edits.system import System
from treadle.events.types import ErrorKind
from treadle.inside import BY_FOLDER

MAX_BYTES = 64 * 1024 * 1024
"""Larger files are not edited: several copies of one are in memory at a time."""

ATTEMPTS = 2
"""How often something that is only in the way is removed before it is left."""

_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT})
_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a regular file, and what it was when they were read."""

    data: bytes
    status: os.stat_result


class Tree:
    """The files below `root`, a resolved folder. Paths are relative to it, POSIX, without "..".

    Methods raise EditError for what is no regular file or is behind a link, OSError for the rest.
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

    @contextmanager
    def folder_of(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder of `path`, and its name in it. Raises FileNotFoundError."""
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
        """The content of the regular file at `path`, None where nothing is."""
        try:
            with self.folder_of(path) as (folder, name):
                return self.read_in(folder, name, path)
        except FileNotFoundError:
            return None

    def read_in(self, folder: int, name: str, path: str) -> Content:
        """The content of an entry of an open folder. Raises FileNotFoundError."""
        system = self.system
        self._check(path, system.status_of(folder, name))  # opening some devices does something
        file = system.open_file(folder, name)
        try:
            status = system.status(file)
            self._check(path, status)
            return Content(self.read_open(file, status.st_size), status)
        finally:
            self.close(file)

    def close(self, file: int) -> None:
        """Close what was only read, of which no error matters."""
        with suppress(OSError):
            self.system.close(file)

    def read_open(self, file: int, size: int) -> bytes:
        """All bytes of an open file that is about `size` long."""
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
        """The folders above `path` that are not there, outermost first.

        The deepest one that is there has been opened, so that all of it is below the root.
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
        """Make folders, outermost first; those that are there meanwhile stay."""
        for path in paths:
            with self.folder_of(path) as (folder, name):
                with suppress(FileExistsError):
                    self.system.make_folder(folder, name)
                self.system.sync(folder)

    def remove_folders(self, paths: tuple[str, ...]) -> None:
        """Remove those of the folders, innermost first, that are empty."""
        for path in reversed(paths):
            for _ in range(ATTEMPTS):
                try:
                    with self.folder_of(path) as (folder, name):
                        self.system.remove_folder(folder, name)
                except (OSError, EditError) as error:
                    if not isinstance(error, OSError) or error.errno not in _STAYS:
                        continue
                break


def as_edit_error(path: str, error: OSError) -> EditError:
    """Why a file cannot be written, for a person."""
    if error.errno in _PERMISSION:
        hint = "Change its permissions or those of its folder, then apply the edit again."
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
