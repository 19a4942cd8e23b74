"""One file and the temporary one beside it: they change places, and nobody's bytes are lost.

What was displaced is looked at before it goes, when no program can write to it any more. If it is
not what was expected, another program saved in the meantime, and the two change back.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from treadle.edits.model import EditError, content_hash
from treadle.edits.system import spare_name
from treadle.edits.tree import Content, Tree
from treadle.events.types import ErrorKind

_PATIENCE = 50
_PAUSE_SECONDS = 0.01
"""How often, and how long each time, a program that writes a displaced file is waited for."""


class Place:
    """The file `name` of an open folder, at `path` from the root, and its `temporary` file."""

    def __init__(self, tree: Tree, folder: int, path: str, temporary: str) -> None:
        self._tree = tree
        self._system = tree.system
        self._folder = folder
        self._path = path
        self._name = path.rpartition("/")[2]
        self._temporary = temporary

    def create(self) -> None:
        """Give the temporary file the name. Raises FileExistsError."""
        self._system.move(self._folder, self._temporary, self._name)

    def replace(self, before: str, after: str) -> bool:
        """Put the temporary file, with content `after`, in the place of one with `before`.

        The old one gets the temporary name. False when it held something else: then the file is
        what another program saved last.
        """
        system, folder = self._system, self._folder
        system.exchange(folder, self._temporary, self._name)
        if self._temporary_holds(before):
            return True
        system.exchange(folder, self._temporary, self._name)
        if not self._temporary_holds(after):  # somebody saved once more: that stays
            system.exchange(folder, self._temporary, self._name)
        return False

    def take_away(self, before: str) -> bool:
        """Give the file, if it holds `before`, the temporary name; False when it does not."""
        self._system.move(self._folder, self._name, self._temporary)
        if self._temporary_holds(before):
            return True
        self._give_back()
        return False

    def put_back(self, before: str | None, after: str | None) -> None:
        """Make the file what it was before, as far as it is still what it was to become.

        Looks at what is there, so that it may be called however far the writing had come. What
        other programs wrote stays. The temporary file may remain.
        """
        self.gather()
        kept, present = self.temporary(), self.present()
        if before is None:
            self._uncreate(kept, present, after)
        elif after is None:
            if kept is not None and present is None:
                self._give_back()
        elif kept is not None and _was_exchanged(kept, present, before, after):
            self.replace(after, _hash(kept))
        self._system.sync(self._folder)

    def _uncreate(self, kept: Content | None, present: Content | None, after: str | None) -> None:
        if present is None or after is None or _hash(present) != after:
            return
        if kept is not None:
            if kept.status.st_ino != present.status.st_ino:
                return  # somebody else created it
            self._system.remove_file(self._folder, self._temporary)
        self.take_away(after)

    def gather(self) -> None:
        """End an exchange by links that was broken off."""
        system, folder, spare = self._system, self._folder, spare_name(self._temporary)
        if self._entry(spare) is None:
            return
        if self.temporary() is None:
            system.rename(folder, spare, self._temporary)
        else:
            system.remove_file(folder, spare)

    def remove_temporary(self) -> None:
        """Remove the temporary file."""
        for name in (self._temporary, spare_name(self._temporary)):
            with suppress(FileNotFoundError):
                self._system.remove_file(self._folder, name)

    def present(self) -> Content | None:
        """What the file holds; None where there is none."""
        return self._entry(self._name)

    def temporary(self) -> Content | None:
        """What the temporary file holds; None where there is none."""
        return self._entry(self._temporary)

    def check_replaceable(self, before: str) -> None:
        """Raises EditError when the file does not hold `before` any more or must not be written."""
        present = self.present()
        if present is None:
            raise conflict(self._path, "it no longer exists")
        if _hash(present) != before:
            raise conflict(self._path, "it was changed at the same time")
        status = present.status
        if not status.st_mode & 0o222 or not self._system.may_write(self._folder, self._name):
            raise EditError(
                ErrorKind.PERMISSION,
                f"{self._path} is read-only.",
                path=self._path,
                hint="Make it writable, then apply the edit again.",
            )
        check_single(self._path, status)

    def _entry(self, name: str) -> Content | None:
        try:
            return self._tree.read_in(self._folder, name, self._path)
        except FileNotFoundError:
            return None

    def _give_back(self) -> None:
        """Give what was taken away its name; what has come there meanwhile is newer and stays."""
        with suppress(FileExistsError):
            self._system.move(self._folder, self._temporary, self._name)

    def _temporary_holds(self, expected: str) -> bool:
        """Whether a displaced file holds what it should, once nobody can write to it any more."""
        system = self._system
        try:
            file = system.open_file(self._folder, self._temporary)
        except OSError as error:
            if error.errno == errno.ELOOP:  # somebody had put a link in its place
                return False
            raise
        try:
            for _ in range(_PATIENCE):
                if not system.is_open_for_writing(file):
                    data = self._tree.read_open(file, system.status(file).st_size)
                    return content_hash(data) == expected
                system.pause(_PAUSE_SECONDS)
            return False
        finally:
            self._tree.close(file)


@contextmanager
def place(tree: Tree, path: str, temporary: str) -> Iterator[Place]:
    """The file at `path`, its folder open. Raises FileNotFoundError when that is not there."""
    with tree.folder_of(path) as (folder, _):
        yield Place(tree, folder, path, temporary)


def check_single(path: str, status: os.stat_result) -> None:
    """Raises EditError for a file with further names, from which replacing it would part it."""
    if status.st_nlink > 1:
        raise EditError(
            ErrorKind.PERMISSION,
            f"{path} has {status.st_nlink} names (hard links), and replacing the file would "
            "separate it from the others.",
            path=path,
            hint="Replace the link with a copy of the file, then edit it again.",
        )


def conflict(path: str, reason: str) -> EditError:
    """That a file is not what it should be."""
    return EditError(
        ErrorKind.CONFLICT,
        f"{path} is not written: {reason}.",
        path=path,
        hint="Stage the edit again for the current file.",
    )


def _was_exchanged(kept: Content, present: Content | None, before: str, after: str) -> bool:
    """Whether `kept` was displaced by `present`; if not, it is a beginning of what was to come."""
    if present is None or _hash(present) != after:
        return False
    return _hash(kept) == before or not present.data.startswith(kept.data)


def _hash(content: Content) -> str:
    return content_hash(content.data)
