"""Creates folders and files that only their owner may read, for all data of Treadle.

The functions set file modes explicitly, so the umask does not matter. They remove the rights of
others from existing files. They refuse a folder or file that belongs to another user. That user
could read it, replace it or choose its content.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from treadle.errors import PathRefusedError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = 0o077
_ROOT = 0
SIDECARS = ("-wal", "-shm", "-journal")
"""Files that SQLite creates next to a database."""


def private_folder(path: Path) -> Path:
    """Create a folder and its missing parents. Only their owner may use them. Returns `path`.

    Rights of others on an existing folder are removed. Raises PathRefusedError if the folder
    belongs to another user, and OSError if it cannot be created.
    """
    for missing in reversed(list(_missing(path))):
        _make(missing)
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(20, "Not a directory", str(path))
    refuse_foreign(path, status)
    if status.st_mode & _OTHERS:
        path.chmod(FOLDER_MODE)
    return path


def private_file(path: Path) -> Path:
    """Ensure that a file in a private folder exists, and remove the rights of others from it.

    Returns `path`. A missing file is created empty.

    If the file is a SQLite database, the rights of others are also removed from the files that
    SQLite creates next to it. An existing file is not opened, because closing it would release the
    locks that SQLite holds on the file in this process. Raises PathRefusedError if the file or its
    folder belongs to another user, and OSError if the file cannot be created.
    """
    private_folder(path.parent)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        close_to_others(path)
    else:
        path.chmod(FILE_MODE)
    for ending in SIDECARS:
        with suppress(FileNotFoundError):
            close_to_others(path.with_name(path.name + ending))
    return path


def close_to_others(path: Path) -> None:
    """Remove the rights of others from an existing file in a private folder.

    Raises PathRefusedError if the file belongs to another user, or is a pipe or a device. Raises
    OSError if the path is a folder or does not exist, or if its mode cannot be changed.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise PathRefusedError(
            f"{path} is not a regular file.", hint="Move it away; Treadle creates it again."
        )
    refuse_foreign(path, status)
    if status.st_mode & _OTHERS:
        path.chmod(FILE_MODE)


def open_output(path: Path) -> BinaryIO:
    """Open and empty the output file that a user named, so that only its owner may use it.

    Creates a missing file. The mode of a device or a pipe does not change. Raises PathRefusedError
    if the file belongs to another user, who could read the output. Raises OSError if the file
    cannot be opened.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode):
            refuse_foreign(path, status)
            os.fchmod(file, FILE_MODE)
            os.ftruncate(file, 0)
        return os.fdopen(file, "wb")
    except BaseException:
        os.close(file)
        raise


def is_foreign(status: os.stat_result) -> bool:
    """Whether the file belongs to another user.

    A file of the user root does not count as foreign, since root can read any file anyway.
    """
    return hasattr(os, "geteuid") and status.st_uid not in {os.geteuid(), _ROOT}


def refuse_foreign(path: Path, status: os.stat_result) -> None:
    """Raise PathRefusedError when the file or folder at `path` belongs to another user."""
    if is_foreign(status):
        raise PathRefusedError(
            f"{path} belongs to another user (uid {status.st_uid}), who could read or change what "
            "Treadle keeps there.",
            hint=(
                "Change its owner to your user with `chown`, or set TREADLE_HOME to a folder "
                "of your own."
            ),
        )


def _missing(path: Path) -> Iterator[Path]:
    for folder in (path, *path.parents):
        if folder.is_dir():
            return
        yield folder


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return  # another process was faster
    folder.chmod(FOLDER_MODE)  # a umask of 0300 would remove the owner's own rights
