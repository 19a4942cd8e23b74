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
"""The maximum size of a file that is read, in bytes.

The limit is needed because a repository may contain a huge sparse file.
"""
NEAREST = 5
"""The maximum number of similar paths that an error suggests for an unknown path."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A resolved root and the index of its files.

    The methods block, so call them in threads. A path argument `name` is relative to the root or
    absolute. A method with such an argument raises PathRefusedError for a path outside the root.
    Such a method also raises PathRefusedError for a private file, a file that usually contains
    secrets. The argument `private` lists the private files that the call may read, because a person
    consented.
    """

    root: Path
    index: "CodeIndex"

    def relative(self, path: Path) -> str:
        """Convert `path` to a path relative to the root, for messages.

        The path has slashes as separators. The root itself becomes ".". Bytes of a name that are
        not UTF-8 become question marks.
        """
        return shown_path(path.relative_to(self.root).as_posix())

    def existing(self, name: str, private: Collection[Path] = ()) -> Path:
        """Return the path of a file or folder. Raises ToolError of kind `not_found`."""
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
        """Return the path of a regular file.

        Raises ToolError if the path does not exist or is not a regular file.
        """
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
        """Open a file whose path `file` returned.

        Raises ToolError if the file is unreadable or too large. If the file has been replaced by a
        link, the link is not followed.
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
        """Return the path of a folder. Raises ToolError if it does not exist or is a file."""
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
        """Return the encoding of a text file.

        The result is None for UTF-8, for an uncertain encoding and for an unreadable file.
        """
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
        """Return the indexed paths that are most similar to `name`, best first."""
        self.index.refresh()
        return [shown_path(path) for path in self.index.nearest_paths(name, NEAREST)]


def shown_path(text: str) -> str:
    """Replace lone surrogates in `text` with question marks, since messages cannot contain them."""
    return text.encode("utf-8", "replace").decode("utf-8")
