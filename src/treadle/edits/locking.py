"""Locks on files, across processes and threads, that the system gives back when a process dies."""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path

from treadle.edits.model import EditError
from treadle.events.types import ErrorKind
from treadle.owner_only import private_folder

WAIT_SECONDS = 10.0
_PAUSE_SECONDS = 0.005


class BusyError(EditError):
    """Somebody else holds a lock."""


@contextmanager
def locked(folder: Path, paths: Collection[Path], *, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Nobody else who locks one of `paths`, which are resolved, is inside at the same time.

    The locks are on files in `folder`, which is made: one of 256 for a path, by its hash, so that
    their number stays bounded; two paths may share one. They are taken in one order, so that
    nobody waits in a circle. Not re-entrant. Raises BusyError after `wait`
    seconds, and OSError when `folder` cannot be written.
    """
    private_folder(folder)
    names = sorted({_name(path) for path in paths})
    until = time.monotonic() + wait
    with ExitStack() as held:
        for name in names:
            file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.callback(os.close, file)
            while not _taken(file):
                if time.monotonic() >= until:
                    raise BusyError(
                        ErrorKind.UNAVAILABLE,
                        "Another process is writing one of these files.",
                        hint="Try again when it is done.",
                    )
                time.sleep(_PAUSE_SECONDS)
        yield


def _name(path: Path) -> str:
    return blake2b(os.fsencode(path), digest_size=1).hexdigest()


def _taken(file: int) -> bool:
    """Whether the lock could be taken; closing the file, or the end of the process, gives it up."""
    import fcntl  # not everywhere, and reading proposals does not need it

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
