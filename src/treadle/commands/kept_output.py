"""Keeps the whole output of a command in a private file, up to a limit."""

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.owner_only import FILE_MODE, private_folder

_OLD_SECONDS = 2 * 24 * 3600
"""The age at which the folder of a process that was killed is removed."""


class OutputFolder:
    """A private folder for the outputs of this process. It is removed when it is closed.

    All methods block.
    """

    def __init__(self, above: Path) -> None:
        """`above` is the folder in which the folder is created when it is first needed."""
        self._above = above
        self._folder: Path | None = None

    def create(self, name: str) -> "OutputFile":
        """Create an empty output. Raises OSError."""
        if self._folder is None:
            private_folder(self._above)
            _remove_old(self._above)
            self._folder = Path(tempfile.mkdtemp(prefix="run-", dir=self._above))
        return OutputFile(self._folder / f"{name}.out")

    def close(self) -> None:
        """Remove the folder with all outputs."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _remove_old(above: Path) -> None:
    limit = time.time() - _OLD_SECONDS
    for folder in above.glob("run-*"):
        try:
            if folder.lstat().st_mtime < limit:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another process has just removed it
            continue


@dataclass(frozen=True, slots=True)
class OutputPart:
    """A part of an output. `start` and `end` are byte offsets, and `size` is the size of all."""

    data: bytes
    start: int
    end: int
    size: int


class OutputFile:
    """The output of one command, in a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        """Create the file. Raises OSError if it exists."""
        self.path = path
        self._file = os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE), "wb", 0
        )
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes, limit: int) -> bool:
        """Append `data`, but keep the file within `limit` bytes. Returns whether all fits."""
        kept = data[: max(0, limit - self.size)]
        if kept:
            self._file.write(kept)
            self.size += len(kept)
        return len(kept) == len(data)

    def read(self, start: int, length: int) -> OutputPart:
        """Read at most `length` bytes from `start`. Raises OSError."""
        start = min(max(0, start), self.size)
        with self.path.open("rb") as file:
            file.seek(start)
            data = file.read(min(length, self.size - start))
        return OutputPart(data, start, start + len(data), self.size)
