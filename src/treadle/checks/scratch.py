"""Creates a copy of the working tree for a check. The check may change the copy."""

import asyncio
import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from treadle.errors import PathRefusedError, TreadleError
from treadle.git import GitError, run_git
from treadle.inside import MAX_DEPTH, Folders
from treadle.paths import resolve_inside
from treadle.processes.groups import complete

SHARED = (".venv", "venv", "node_modules")
"""Folders of installed packages. They are too large to copy, so the copy links to them."""

_LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox",
    ".nox", "target", *SHARED,
})  # fmt: skip
"""The names of folders that tools create.

If git cannot list the files of the tree, these folders are left out of the copy.
"""

_NEVER_IN_A_NAME = frozenset({"..", ".git"})

_PREFIX = "treadle-check-"

_IN_USE = "in-use"
"""The name of a lock file next to the copied tree.

The process that created the copy locks this file until the copy is removed. The lock also ends if
the process is killed.
"""

MAX_COPIED_BYTES = 4_000_000_000
"""The maximum size of all files of a copy in bytes.

The limit protects the disk from sparse files, which can be small on disk but large when copied.
"""


@asynccontextmanager
async def scratch_copy(root: Path, files: Mapping[str, bytes | None]) -> AsyncIterator[Path]:
    """Yields a copy of the tree at `root`, in which `files` are changed, and then removes the copy.

    The keys of `files` are POSIX paths relative to the root, and the values are the contents of the
    files. The value None removes a file. Files are copied and not linked. Ignored files and the
    folder `.git` are left out. Folders of installed packages (`SHARED`) are links to the folders in
    `root`. A link that leads out of `root` keeps its target. Older copies whose processes were
    killed are removed too. Raises PathRefusedError for a path in `files` that leads out of the
    root, and TreadleError when the copy cannot be created.
    """
    try:
        copy = _Copy(root)
    except OSError as error:
        raise _no_copy(root, error, "Set TMPDIR to a folder that you can write.") from error
    copying = asyncio.ensure_future(asyncio.to_thread(copy.make, files))
    try:
        await asyncio.shield(copying)
        yield copy.tree
    finally:
        copy.stopped.set()
        await complete(_removed(copying, copy))


async def _removed(copying: "asyncio.Future[None]", copy: "_Copy") -> None:
    await asyncio.wait({copying})
    if not copying.cancelled():
        copying.exception()  # asyncio would log an exception that nobody retrieved
    await asyncio.to_thread(_remove, copy.folder)
    os.close(copy.in_use)


def _remove_left_behind(folder: Path) -> None:
    """Remove the copies in `folder` that no process locks, since their processes were killed."""
    for copy in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # the copy is owned by another user, in use, or just removed
            if copy.lstat().st_uid != os.getuid():
                continue
            in_use = _locked(copy, os.O_RDWR)
            try:
                for entry in copy.iterdir():
                    # The lock file is removed last. If removing fails, a later call finds the copy
                    # by its lock file.
                    if entry.name != _IN_USE:
                        _remove(entry)
                _remove(copy)
            finally:
                os.close(in_use)


def _locked(copy: Path, flags: int) -> int:
    """Lock a copy until the returned descriptor is closed.

    Raises OSError if another process has the lock.
    """
    import fcntl

    file = os.open(copy / _IN_USE, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _remove(folder: Path) -> None:
    """Remove `folder`, even if a check changed the permissions of its files and folders."""
    try:
        shutil.rmtree(folder)
    except OSError:
        for parent, names, _ in os.walk(folder):
            for path in (Path(parent, name) for name in names):
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


class _Copy:
    """Creates a copy. All methods block."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX)))
        self.in_use = _locked(self.folder, os.O_RDWR | os.O_CREAT)
        self.tree = self.folder / "tree" / (self._root.name or "root")
        self.stopped = threading.Event()
        self._folders: dict[Path, bool] = {}
        self._opened = Folders(self._root)
        self._room = MAX_COPIED_BYTES

    def make(self, files: Mapping[str, bytes | None]) -> None:
        """Create the copy. This method returns early if `stopped` is set."""
        try:
            _remove_left_behind(self.folder.parent)
            self.tree.mkdir(parents=True)
            self._folders[Path()] = True
            with self._opened:
                for name in _tree_paths(self._root):
                    if self.stopped.is_set():
                        return
                    self._copy_entry(Path(name))
            self._share()
            for name, data in sorted(files.items(), key=lambda item: item[1] is not None):
                self._write_file(name, data)  # removals first, since a folder may replace a file
        except OSError as error:
            raise _no_copy(self._root, error) from error

    def _copy_entry(self, name: Path) -> None:
        """Copy a file or link of the tree, or all files of a nested repository. Skip other entries.

        Paths that lead out of the tree are skipped too. The list of files may contain them, since
        git does not check the paths in its index. Paths with too many parts are also skipped.
        """
        leads_out = name.is_absolute() or not _NEVER_IN_A_NAME.isdisjoint(name.parts)
        if leads_out or len(name.parts) > MAX_DEPTH + 1:
            return
        if not self._folder(name.parent):
            return
        source, target = self._root / name, self.tree / name
        try:
            status = source.lstat()
        except FileNotFoundError:  # the file was deleted, but git's index still has it
            return
        if stat.S_ISLNK(status.st_mode):
            self._link(source, target)
        elif stat.S_ISREG(status.st_mode):
            self._copy_file(name, target)
        elif stat.S_ISDIR(status.st_mode):  # a nested repository
            for below in _walked(source):
                self._copy_entry(name / below)

    def _folder(self, name: Path) -> bool:
        """Create a folder of the copy, with its parents.

        Returns False if the folder or one of its parents is a link in the original tree. In this
        case nothing is created, since a write through a link could change files outside of the
        copy.
        """
        if name not in self._folders:
            real = self._folder(name.parent) and not (self._root / name).is_symlink()
            self._folders[name] = real
            if real:
                (self.tree / name).mkdir(exist_ok=True)
        return self._folders[name]

    def _copy_file(self, name: Path, target: Path) -> None:
        """Copy the bytes, the mode and the times of a file to a new file.

        If the file system supports it, both files share the bytes on disk. The original is opened
        without following links, since a link may have replaced it after it was examined.
        """
        with self._opened.read(name.as_posix()) as original, target.open("xb") as copy:
            status = os.fstat(original.fileno())
            self._room -= status.st_size
            if self._room < 0:
                raise self._too_large(name, status.st_size)
            _copy_bytes(original, copy, status.st_size)
        target.chmod(stat.S_IMODE(status.st_mode))
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _too_large(self, name: Path, size: int) -> TreadleError:
        return TreadleError(
            f"{self._root} is not copied: its files exceed {MAX_COPIED_BYTES / 1e9:g} GB "
            f"({name} alone has {size:,} bytes).",
            hint="List large files in .gitignore, or run the check without a proposal.",
        )

    def _link(self, source: Path, target: Path) -> None:
        """Copy a link. A link into the original tree becomes a link into the copy."""
        leads = Path(os.path.normpath(source.parent / source.readlink()))
        if leads.is_relative_to(self._root):
            inside = self.tree / leads.relative_to(self._root)
            target.symlink_to(os.path.relpath(inside, target.parent))
        else:
            target.symlink_to(leads)

    def _share(self) -> None:
        for folder in [name for name, real in self._folders.items() if real]:
            for shared in SHARED:
                source, target = self._root / folder / shared, self.tree / folder / shared
                if source.is_dir() and not os.path.lexists(target):
                    target.symlink_to(source)

    def _write_file(self, name: str, data: bytes | None) -> None:
        """Write or remove a file in the copy. This method never changes a file outside the copy."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise PathRefusedError(
                f"{name!r} is not a path inside the root.", hint="Give a path relative to the root."
            )
        target = resolve_inside(self.tree, str(path.parent)) / path.name
        mode = None
        if target.is_symlink() or target.is_file():
            mode = None if target.is_symlink() else stat.S_IMODE(target.stat().st_mode)
            target.unlink()
        if data is None:
            self._prune(target.parent)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if mode is not None:
            target.chmod(mode)

    def _prune(self, folder: Path) -> None:
        """Remove `folder` and its parents if they are empty. Git does not track empty folders."""
        while folder != self.tree:
            try:
                folder.rmdir()
            except OSError:  # not empty, or it never existed
                return
            folder = folder.parent


def _copy_bytes(original: BinaryIO, copy: BinaryIO, size: int) -> None:
    """Copy the first `size` bytes of a file. `size` is its size when the copy begins.

    Bytes that another program appends during the copying are left out. If the file system supports
    it, both files share the bytes on disk.
    """
    left = size
    try:
        while left and (
            done := os.copy_file_range(original.fileno(), copy.fileno(), min(left, 1 << 30))
        ):
            left -= done
    except (OSError, AttributeError):  # not supported by the system or by the file systems
        original.seek(0)
        copy.seek(0)
        copy.truncate()
        left = size
        while left and (block := original.read(min(left, 1 << 20))):
            copy.write(block)
            left -= len(block)


def _no_copy(root: Path, error: OSError, hint: str = "") -> TreadleError:
    entry = "" if error.filename is None else f" ({os.fsdecode(error.filename)})"
    return TreadleError(
        f"{root} could not be copied: {error.strerror}{entry}.", hint=hint or _hint(error)
    )


def _hint(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "Free some space in the folder for temporary files, or set TMPDIR to another one."
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "Check the permissions of the file and of the folder for temporary files (TMPDIR)."
    if error.errno == errno.ELOOP:
        return "A link is in the place of a file or folder. Remove the link and try again."
    return "Try again, or run the check without a proposal; then Treadle copies no files."


def _tree_paths(root: Path) -> Iterator[str]:
    """Yield the paths of all files and links of the tree that git does not ignore.

    If git cannot list the files, folders that tools create are left out instead.
    """
    if not (root / ".git").exists():
        yield from _walked(root)
        return
    try:
        listing = run_git(
            root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"
        )
    except GitError:  # git is missing, or `root` is not a repository
        yield from _walked(root)
        return
    yield from map(os.fsdecode, filter(None, listing.split(b"\0")))


def _walked(root: Path) -> Iterator[str]:
    """Yield the paths of files and links below `root`, without folders that tools create."""
    waiting = [""]
    while waiting:  # `os.walk` may exceed the recursion limit
        folder = waiting.pop()
        try:
            entries = list(os.scandir(root / folder))
        except OSError:  # the folder was deleted or is not readable
            continue
        for entry in entries:
            if entry.name in _LEFT_OUT:
                continue
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(name)
            else:
                yield name
