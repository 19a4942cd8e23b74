"""Which repository is at a path: consent that was given to one does not hold for another.

A git repository has a random id in its git folder, which no clone has. Another folder is known by
its device and inode.
"""

import os
import re
import secrets
import stat
from pathlib import Path

ID_NAME = "treadle-id"
_ID = re.compile(r"[0-9a-f]{32}")
_MOST = 4_096


def identity(root: Path, *, make: bool = False) -> str | None:
    """What identifies the repository at `root`; with `make` it gets an id if it has none.

    None for a repository without one, and where nothing is. Raises OSError where none can be made.
    """
    folder = _git_folder(root)
    if folder is None:
        try:
            status = root.stat()
        except OSError:
            return None
        return f"folder:{status.st_dev}:{status.st_ino}"
    path = folder / ID_NAME
    found = _text(path)
    if found is not None and _ID.fullmatch(found):
        return f"git:{found}"
    if not make:
        return None
    made = secrets.token_hex(16)
    temporary = path.with_name(f"{ID_NAME}.{made[:8]}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, made.encode())
    finally:
        os.close(file)
    temporary.replace(path)
    return f"git:{made}"


def _git_folder(root: Path) -> Path | None:
    """The folder that all work trees of the repository share; None where it is not one of git."""
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
    """The text of a small regular file; no link is followed and no pipe waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.open(path, flags)
    except (OSError, ValueError):  # ValueError: a NUL in a path that a file names
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        return os.read(file, _MOST).decode("utf-8", "surrogateescape").strip()
    finally:
        os.close(file)
