"""Finds the root of a repository, paths inside it, and Treadle's own folders."""

import os
import stat
from collections.abc import Collection
from pathlib import Path, PurePath

from treadle.errors import PathRefusedError, StoreError
from treadle.owner_only import private_folder

HOME_VARIABLE = "TREADLE_HOME"
"""The environment variable that names one folder for all data of Treadle.

This folder replaces the default folders of the platform.
"""


def find_root(start: Path) -> Path:
    """Return the root of the git working tree around `start`, or else `start` itself.

    The returned path is resolved.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start


def resolve_inside(root: Path, name: str) -> Path:
    """Resolve `name`, which is absolute or relative to `root`. The path need not exist.

    Every link in the path is followed, including links in `root` itself. Raises PathRefusedError
    when the result is outside of the resolved root, or when `name` is not a valid path.
    """
    real_root = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(real_root, name))  # noqa: PTH118 (Path drops "a/..")
    except ValueError as error:  # the path has a NUL, or characters that no file system can store
        raise PathRefusedError(
            f"{name!r} is not a valid path: {error}.", hint="Give a path relative to the root."
        ) from error
    path = Path(real)
    if not path.is_relative_to(real_root):
        raise PathRefusedError(
            f"{name!r} resolves to {real}, outside the root {real_root}.",
            hint="Only files inside the root can be used; links are resolved before the check.",
        )
    return path


def resolve_readable(root: Path, name: str, consented: Collection[Path] = ()) -> Path:
    """Resolve a path as `resolve_inside` does, and refuse files that tools must not read.

    The function examines the given name, the path after following links, and the first bytes of the
    file. Resolved paths in `consented` may be read under any name.
    """
    path = resolve_inside(root, name)
    inside = path.relative_to(os.path.realpath(root)).as_posix()
    from treadle.private_files import why_private  # imported late: it compiles patterns

    is_folder = is_directory(path)
    spellings = (inside, PurePath(name).name)
    by_name = (why_private(each, is_folder=is_folder) for each in spellings)
    reason = next(filter(None, by_name), None) or why_private_file(path)
    if reason is not None and path not in consented:
        raise PathRefusedError(
            f"{name!r} is not read: {reason}.",
            hint="Ask the person for the information, or read an example file next to it.",
        )
    return path


def is_directory(path: Path) -> bool:
    """Whether `path` is a folder.

    Unlike `Path.is_dir`, this raises no error if the name is too long.
    """
    return os.path.isdir(path)  # noqa: PTH112


def why_private_file(path: Path) -> str | None:
    """Return why tools must not read the content of a file, or None if they may read it."""
    from treadle.private_files import HEAD_BYTES, why_private_content

    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            return why_private_content(file.read(HEAD_BYTES))
    except OSError:  # the file is missing or unreadable, and the caller's own read raises the error
        return None


def holds_home(root: Path) -> bool:
    """Whether `root` is the home folder or contains it. Such a folder should not be indexed."""
    return Path.home().resolve().is_relative_to(root)


def user_cache_dir() -> Path:
    """Return the folder for data that can be rebuilt, such as code indexes. Does not create it."""
    return _own_folder("cache")


def user_data_dir() -> Path:
    """Return the folder for permanent data: conversations and traces. Does not create it."""
    return _own_folder("data")


def user_config_dir() -> Path:
    """Return the folder of the user's configuration file. Does not create it."""
    return _own_folder("config")


def data_path(name: str) -> Path:
    """Return the path of a file in the data folder.

    Creates that folder for its owner alone. Raises StoreError on failure.
    """
    return usable_folder(user_data_dir(), "data") / name


def cache_folder() -> Path:
    """Return the cache folder. Creates it for its owner alone. Raises StoreError on failure."""
    return usable_folder(user_cache_dir(), "cache")


def usable_folder(folder: Path, kind: str) -> Path:
    """Create a folder for its owner alone, and return it.

    Raises StoreError on failure. `kind` is the kind of the folder in the message, such as "data".
    """
    try:
        return private_folder(folder)
    except OSError as error:
        raise StoreError(
            f"The {kind} folder {folder} cannot be used: {error.strerror}.",
            hint=f"Set {HOME_VARIABLE} to a writable folder.",
        ) from error


def _own_folder(kind: str) -> Path:
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Path(home).expanduser().absolute() / kind
    import platformdirs

    find = getattr(platformdirs, f"user_{kind}_path")
    return Path(find("treadle", appauthor=False))


def is_same(path: Path, other: Path) -> bool:
    """Whether both paths exist and lead to the same file or folder."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # no file system allows the name
        return False
