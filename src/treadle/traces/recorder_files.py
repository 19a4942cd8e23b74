"""The recorders of a store in a SQLite file: one locked file for each recorder.

The name of the file is the id of the recorder. The system releases the lock when the process ends,
even after `kill -9`. A file without a lock therefore belongs to a recorder that ended early.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from treadle.errors import PathRefusedError
from treadle.file_lock import lock_file, unlock_file
from treadle.traces.recorders import Recorders


class RecorderFiles(Recorders):
    """Recorders of this machine, each with a locked file in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: tuple[Path, int] | None = None

    def begin(self, recorder: str) -> bool:
        path = self._folder / recorder
        try:
            file = lock_file(path)
        except (OSError, PathRefusedError, ImportError):
            return False
        if file is not None:
            self._own = path, file
        return file is not None

    def beat(self) -> None:
        """Do nothing: the system keeps the lock."""

    def end(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            unlock_file(*own)

    def others(self) -> Sequence[str]:
        return sorted(path.name for path in self._folder.iterdir())

    @contextmanager
    def claim(self, recorder: str) -> Iterator[int | None]:
        path = self._folder / recorder
        file = lock_file(path)
        if file is None:
            yield None
            return
        try:
            yield os.fstat(file).st_mtime_ns // 1_000
        except BaseException:
            os.close(file)  # the next program tries again
            raise
        unlock_file(path, file)
