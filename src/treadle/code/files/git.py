"""The files of git: its folders, its excludes, and its index of tracked files."""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from treadle.inside import read_regular

_MAX_POINTER_BYTES = 4_096
"""Most bytes of a file that names a folder."""


class GitFolders(NamedTuple):
    """`own` has the index and HEAD of one work tree; all work trees share `common`.

    They differ only for a linked work tree. Neither folder needs to exist.
    """

    own: Path
    common: Path

    @classmethod
    def of(cls, git_root: Path) -> Self:
        """The folders of the work tree at `git_root`: `.git`, or the folder that the file names."""
        own = git_root / ".git"
        if own.is_dir():
            return cls(own, own)
        own = git_root / _read_pointer(own).removeprefix("gitdir:").strip()
        return cls(own, own / _read_pointer(own / "commondir"))


def _read_pointer(path: Path) -> str:
    try:
        data = read_regular(os.fspath(path), _MAX_POINTER_BYTES)
    except OSError:
        return ""
    return os.fsdecode(data).strip()


_MAX_CONFIG_BYTES = 1_000_000
"""Most bytes of a file that is read, since a repository controls the content of some."""

_SECTION = re.compile(r"\[\s*([^\]\s\"]*)\s*(\"[^\]]*\")?\s*\](.*)")

_SETTING = re.compile(r"excludesfile\s*=\s*(.*)", re.IGNORECASE)


def exclude_files(git_root: Path) -> list[str]:
    """The exclude files of the work tree at `git_root`, strongest first; some may not exist.

    They are `info/exclude` of the repository (for a linked work tree, of its main repository), then
    `core.excludesFile`, or else `git/ignore` in the configuration folder. The configuration is read
    from files, without `include`, since starting git takes longer than a search.
    """
    common = os.fspath(GitFolders.of(git_root).common)
    configured = ""
    for path in (*_config_files(), f"{common}/config"):
        for value in _excludes_settings(path):
            configured = value
    expanded = os.path.expanduser(configured) if configured else f"{_config_home()}/git/ignore"  # noqa: PTH111
    return [f"{common}/info/exclude", str(git_root / expanded)]


def _config_home() -> str:
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111


def _config_files() -> list[str]:
    """The configuration files of the system and of the user, weakest first (git-config(1))."""
    files: list[str] = []
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "0").lower() in {"", "0", "false", "no", "off"}:
        files.append(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        return [*files, own]
    return [*files, f"{_config_home()}/git/config", os.path.expanduser("~/.gitconfig")]  # noqa: PTH111


def _excludes_settings(path: str) -> Iterator[str]:
    """The values of `core.excludesFile` in a configuration file, in order."""
    section = ""
    for raw in _read_config(path).splitlines():
        line = raw.strip()
        if header := _SECTION.match(line):
            section = "" if header[2] else header[1].lower()
            line = header[3].strip()
        if section == "core" and (setting := _SETTING.match(line)):
            yield _value(setting[1])


def _value(text: str) -> str:
    """A value without its quotes, escapes and comment."""
    plain: list[str] = []
    quoted = False
    characters = iter(text)
    for character in characters:
        if character == "\\":
            plain.append(next(characters, ""))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            plain.append(character)
    return "".join(plain).strip()


def _read_config(path: str) -> str:
    try:
        return read_regular(path, _MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):  # ValueError: a NUL in a path that a file names
        return ""


_MAX_INDEX_BYTES = 200_000_000

_MAX_PATH_BYTES = 200_000_000
"""Most bytes of all paths and their folders: an index can name far more than its own size."""

_HEAD = struct.Struct(">4sII")

_FIXED = 62
"""Bytes of an entry before its path, with a SHA-1 hash."""

_EXTENDED = 0x4000

_SUBMODULE = 0o160000


class Tracked(NamedTuple):
    """Paths below a folder (POSIX, relative to it): files, their folders, and submodules."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()


def tracked_below(root: Path, git_root: Path) -> Tracked:
    """Files that the work tree at `git_root` tracks below `root`; empty for an unreadable index.

    Split indexes and indexes with hashes of 32 bytes are not read.
    """
    prefix = root.relative_to(git_root).as_posix().removeprefix(".")
    lead = f"{prefix}/" if prefix else ""
    files: set[str] = set()
    submodules: set[str] = set()
    room = _MAX_PATH_BYTES
    for path, mode in _entries(_index_bytes(git_root)):
        if path.startswith(lead):
            (submodules if mode == _SUBMODULE else files).add(path[len(lead) :])
    folders: set[str] = set()
    for path in (*files, *submodules):
        above = path.rpartition("/")[0]
        while above and above not in folders:
            room -= len(above)
            if room < 0:
                return Tracked()
            folders.add(above)
            above = above.rpartition("/")[0]
    return Tracked(frozenset(files), frozenset(folders), frozenset(submodules))


def _index_bytes(git_root: Path) -> bytes:
    try:
        return read_regular(os.fspath(GitFolders.of(git_root).own / "index"), _MAX_INDEX_BYTES)
    except OSError:
        return b""


def _entries(data: bytes) -> "list[tuple[str, int]]":
    """The path and mode of each entry; empty unless the bytes are an index of version 2 to 4."""
    found: list[tuple[str, int]] = []
    try:
        signature, version, count = _HEAD.unpack_from(data)
        if signature != b"DIRC" or not 2 <= version <= 4:
            return []
        position = _HEAD.size
        path = b""
        room = _MAX_PATH_BYTES
        for _ in range(count):
            (mode,) = struct.unpack_from(">I", data, position + 24)
            (flags,) = struct.unpack_from(">H", data, position + 60)
            start = position + _FIXED + (2 if flags & _EXTENDED else 0)
            if version == 4:  # only the difference to the path before
                removed, start = _number(data, start)
                end = data.index(b"\0", start)
                path = path[: len(path) - removed] + data[start:end]
                position = end + 1
            else:
                end = data.index(b"\0", start)
                path = data[start:end]
                position += (end - position + 8) & ~7
            room -= len(path)
            if room < 0:
                return []
            found.append((os.fsdecode(path), mode & 0o170000))
    except (struct.error, ValueError, IndexError):
        return []
    return found


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number in git's variable-length format, and the position after it."""
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1
