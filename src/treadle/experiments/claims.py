"""Who runs a batch: one process at a time, and none any more once it is gone, however it ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.errors import UsageError
from treadle.owner_only import private_folder


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold the claim that the file at `path` stands for. Raises UsageError where another does."""
    file = _take(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # still held, so that nobody holds a file that is gone
        os.close(file)


def is_claimed(path: Path) -> bool:
    """Whether somebody holds it."""
    if not path.exists():
        return False
    try:
        with claimed(path):
            return False
    except UsageError:
        return True


def _take(path: Path) -> int:
    import fcntl  # not everywhere, and reading experiments does not need it

    private_folder(path.parent)
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                return file
        except BlockingIOError:
            os.close(file)
            raise UsageError(
                "This batch is running.", hint="Wait until it ends, or cancel it first."
            ) from None
        os.close(file)  # whoever held it took the file away meanwhile


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
