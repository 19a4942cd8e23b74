"""Identifies the repository at a path, so that consent for it does not apply to another.

The identity of a git repository is a random id in its git folder. Clones do not have this id. The
identity of any other folder is its device and inode. Consent also depends on the folder's creation
time, since a folder that replaces a removed one often has the same inode.
"""

import ctypes
import os
import re
import secrets
import stat
import struct
from pathlib import Path

from treadle.paths import is_same

ID_NAME = "treadle-id"
_ID = re.compile(r"[0-9a-f]{32}")
_MOST = 4_096
_WORK_TREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_AT_FDCWD, _STATX_BTIME, _STATX_BYTES = -100, 0x800, 256
_BIRTH = struct.Struct("=I76xqI")
"""The layout of the system's struct statx, with only the fields that are read.

These are the mask of valid fields, and the seconds and nanoseconds of the creation time.
"""


def identity(root: Path, *, create: bool = False) -> str | None:
    """Return the identity of the repository at `root`, or None if it has no id.

    `create` gives the repository an id if it has none. The result is also None for a missing
    folder. Raises OSError if the id cannot be created.
    """
    folder = _git_folder(root)
    if folder is None:
        return _folder_id(root)
    path = folder / ID_NAME
    found = _text(path)
    if found is not None and _ID.fullmatch(found):
        return f"git:{found}"
    if not create:
        return None
    token = secrets.token_hex(16)
    temporary = path.with_name(f"{ID_NAME}.{token[:8]}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, token.encode())
    finally:
        os.close(file)
    temporary.replace(path)
    return f"git:{token}"


def consent_identity(root: Path, *, create: bool = False) -> str | None:
    """Return the identity to which consent is bound.

    A file `.git` may name the git folder of any repository. Therefore that git folder must also
    name `root` as its work tree. If the system does not report creation times, the device and inode
    alone identify a folder.
    """
    found = _folder_id(root) if _borrows(root) else identity(root, create=create)
    if found is None or not found.startswith("folder:"):
        return found
    born = _birth_ns(root)
    return found if born is None else f"{found}:{born}"


def _folder_id(root: Path) -> str | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return f"folder:{status.st_dev}:{status.st_ino}"


def _borrows(root: Path) -> bool:
    """Whether a file `.git` names a git folder that does not name `root` as its work tree."""
    named = _text(root / ".git")
    if named is None or not named.startswith("gitdir:"):
        return False
    folder = root / named.removeprefix("gitdir:").strip()
    back = _text(folder / "gitdir")  # the path of the file `.git` to which this git folder belongs
    if back is not None:
        return not is_same(folder / back, root / ".git")
    tree = _WORK_TREE.search(_text(folder / "config") or "")  # a submodule names its work tree here
    return tree is None or not is_same(folder / tree[1], root)


def _birth_ns(path: Path) -> int | None:
    """Return the creation time of a folder in nanoseconds, or None if the system reports none."""
    try:
        status = path.stat()
        if (born := getattr(status, "st_birthtime", None)) is not None:
            return int(born * 1e9)
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    found = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, found) != 0:
        return None
    mask, seconds, nanoseconds = _BIRTH.unpack_from(found.raw)
    return int(seconds * 1_000_000_000 + nanoseconds) if mask & _STATX_BTIME else None


def _git_folder(root: Path) -> Path | None:
    """Return the git folder that all work trees of the repository share, or None if it has none."""
    git = root / ".git"
    try:
        mode = git.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return git
    named = _text(git) if stat.S_ISREG(mode) else None
    if named is None or not named.startswith("gitdir:"):
        return None
    folder = root / named.removeprefix("gitdir:").strip()
    shared = _text(folder / "commondir")
    folder = folder / shared if shared else folder
    try:
        return folder if folder.is_dir() else None
    except OSError:  # a path that is too long, for example
        return None


def _text(path: Path) -> str | None:
    """Return the text of a small regular file, or None. Does not follow links or wait for pipes."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.open(path, flags)
    except (OSError, ValueError):  # ValueError: the path contains a NUL
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        return os.read(file, _MOST).decode("utf-8", "surrogateescape").strip()
    finally:
        os.close(file)
