"""Locks a file for as long as the process runs. Other processes can check whether it is locked."""

import os
from pathlib import Path

from treadle.owner_only import private_folder


def lock_file(path: Path) -> int | None:
    """Create and lock the file at `path`. Returns its descriptor, or None if it is locked already.

    The system releases the lock when the process ends, even after `kill -9`. Raises OSError or
    PathRefusedError if the file cannot be created, and ImportError on Windows, which has no such
    locks.
    """
    import fcntl  # Windows has no fcntl, and most commands lock no file

    private_folder(path.parent)
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        if _is_file_at(file, path):
            return file
        os.close(file)  # the previous owner of the lock has deleted this file


def unlock_file(path: Path, file: int) -> None:
    """Delete a locked file and release its lock.

    The file is deleted first, so that no other process locks a deleted file.
    """
    path.unlink(missing_ok=True)
    os.close(file)


def _is_file_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
