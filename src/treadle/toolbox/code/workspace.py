"""The repository of the code tools: its root, its index, and the lookup of paths."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from treadle.charsets import Charset, charset_of, configured_charset
from treadle.code.files.walk import read_file
from treadle.events.types import ErrorKind
from treadle.inside import read_inside
from treadle.paths import resolve_readable
from treadle.tools.contract import ToolError

if TYPE_CHECKING:  # the index imports libraries that are slow to load
    from treadle.code import CodeIndex

MAX_BYTES = 512 << 20
"""Larger files are not read, since a repository may contain a huge sparse file."""
NEAREST = 5
"""Paths that an error suggests for an unknown name."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A resolved root and the index of its files. All methods block: call them in threads.

    All methods raise PathRefusedError for a path outside of the root. They also raise it for a
    private file, unless `private` has its path: the call has consent to read these files.
    """

    root: Path
    index: "CodeIndex"

    def relative(self, path: Path) -> str:
        """`path` relative to the root for messages: with slashes, and "." for the root.

        Bytes of a name that are not UTF-8 are shown as question marks.
        """
        return shown_path(path.relative_to(self.root).as_posix())

    def existing(self, name: str, private: Collection[Path] = ()) -> Path:
        """The file or folder with a name. Raises ToolError of kind `not_found`."""
        path = resolve_readable(self.root, name, private)
        if not os.path.lexists(path):
            nearest = self.nearest(name)
            raise ToolError(
                ErrorKind.NOT_FOUND,
                f"There is no file or folder {name!r}.",
                field="path",
                received=name,
                hint=f"The nearest: {', '.join(nearest)}."
                if nearest
                else "List the folder with list_dir to see its files.",
            )
        return path

    def file(self, name: str, private: Collection[Path] = ()) -> Path:
        """The regular file with a name; ToolError if it is missing or not a file."""
        path = self.existing(name, private)
        if path.is_dir():
            raise ToolError(
                ErrorKind.VALIDATION,
                f"{name!r} is a folder.",
                field="path",
                expected="a file",
                received="a folder",
                hint="List its files with list_dir.",
            )
        if not path.is_file():  # a pipe or a device, which may never end
            raise ToolError(ErrorKind.UNAVAILABLE, f"{name!r} is not a regular file.", field="path")
        return path

    def opened(self, path: Path) -> BinaryIO:
        """The file at a path that `file` returned, open for reading; ToolError if it is unreadable.

        A path that has become a link since then is not followed.
        """
        relative = path.relative_to(self.root).as_posix()
        try:
            opened = read_inside(self.root, relative)
        except OSError as error:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"{shown_path(relative)!r} cannot be read: {error.strerror}.",
                field="path",
                hint="Check with list_dir that the file still exists, then call again.",
            ) from error
        size = os.fstat(opened.fileno()).st_size
        if size > MAX_BYTES:
            opened.close()
            raise ToolError(
                ErrorKind.LIMIT,
                f"{shown_path(relative)!r} has {size:,} bytes; the limit is {MAX_BYTES:,}.",
                field="path",
                hint="Use grep, which has a time limit instead of a size limit.",
            )
        return opened

    def folder(self, name: str, private: Collection[Path] = ()) -> Path:
        """The folder with a name; ToolError if it is missing or not a folder."""
        path = self.existing(name, private)
        if not path.is_dir():
            raise ToolError(
                ErrorKind.VALIDATION,
                f"{name!r} is a file.",
                field="path",
                expected="a folder",
                received="a file",
                hint="Read it with read_file.",
            )
        return path

    def charset(self, path: Path) -> Charset | None:
        """The encoding of a text file that is not UTF-8, if it is certain."""
        inside = path.relative_to(self.root).as_posix()
        data = self._content(inside)
        if data is None or (data.isascii() and b"\x1b$" not in data):
            return None
        found = charset_of(inside, data, lambda: configured_charset(inside, self._content))
        return None if found.stored is None or found.rivals else found

    def _content(self, name: str) -> bytes | None:
        try:
            return read_file(self.root, name)[0]
        except OSError:
            return None

    def nearest(self, name: str) -> list[str]:
        """The indexed paths that are most similar to `name`, best first."""
        self.index.refresh()
        return [shown_path(path) for path in self.index.nearest_paths(name, NEAREST)]


def shown_path(text: str) -> str:
    """`text` with question marks for lone surrogates, which messages cannot contain."""
    return text.encode("utf-8", "replace").decode("utf-8")
