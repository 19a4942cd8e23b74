"""Reads git's own files: the `.git` folders, exclude files, and the index of tracked files."""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from treadle.inside import read_regular

_MAX_POINTER_BYTES = 4_096
"""The maximum size in bytes of a file that names a folder, such as a `.git` file."""


class GitFolders(NamedTuple):
    """The git folders of a work tree.

    `own` has the index and HEAD of this work tree. All work trees of a repository share `common`.
    The two folders differ only for a linked work tree. Neither folder needs to exist.
    """

    own: Path
    common: Path

    @classmethod
    def of(cls, git_root: Path) -> Self:
        """Return the folders of the work tree at `git_root`.

        `own` is the folder `.git`, or the folder that the file `.git` names.
        """
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
"""The maximum size in bytes of a git configuration file that is read.

An untrusted repository can control the content of some of these files.
"""

_SECTION = re.compile(r"\[\s*([^\]\s\"]*)\s*(\"[^\]]*\")?\s*\](.*)")

_SETTING = re.compile(r"excludesfile\s*=\s*(.*)", re.IGNORECASE)


def exclude_files(git_root: Path) -> list[str]:
    """Return the exclude files of the work tree at `git_root`, highest precedence first.

    The first is `info/exclude` of the repository, which linked work trees share. The second is the
    file that the setting `core.excludesFile` names, or by default `git/ignore` in the user's
    configuration folder. Either file may be missing. The setting is read from git's configuration
    files, since starting git takes longer than a search. Files that the configuration includes are
    not read.
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
    """Return the paths of git's system and user configuration, lowest precedence first."""
    files: list[str] = []
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "0").lower() in {"", "0", "false", "no", "off"}:
        files.append(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        return [*files, own]
    return [*files, f"{_config_home()}/git/config", os.path.expanduser("~/.gitconfig")]  # noqa: PTH111


def _excludes_settings(path: str) -> Iterator[str]:
    """Yield the values of `core.excludesFile` in a configuration file, in order."""
    section = ""
    for raw in _read_config(path).splitlines():
        line = raw.strip()
        if header := _SECTION.match(line):
            section = "" if header[2] else header[1].lower()
            line = header[3].strip()
        if section == "core" and (setting := _SETTING.match(line)):
            yield _value(setting[1])


def _value(text: str) -> str:
    """Return a value without its quotes, escapes and comment."""
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
    except (OSError, ValueError):  # ValueError: the path from a `.git` file contains a NUL
        return ""


_MAX_INDEX_BYTES = 200_000_000

_MAX_PATH_BYTES = 200_000_000
"""The maximum total size in bytes of all paths and folders.

A small index of version 4 can expand to far more. It stores each path as the difference to the path
before it.
"""

_HEAD = struct.Struct(">4sII")

_FIXED = 62
"""The size in bytes of the part of an index entry before its path, if hashes are SHA-1."""

_EXTENDED = 0x4000

_SUBMODULE = 0o160000


class Tracked(NamedTuple):
    """The tracked files below a folder, their folders, and submodules.

    Paths are POSIX paths relative to the folder.
    """

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()


def tracked_below(root: Path, git_root: Path) -> Tracked:
    """Return the files below `root` that the work tree at `git_root` tracks.

    The result is empty if the index cannot be read. Split indexes and indexes with SHA-256 hashes
    are not read.
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
    """Return the path of each entry of a git index, with the file type bits of its mode.

    The result is empty unless the bytes are an index of version 2 to 4.
    """
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
            if version == 4:  # version 4 stores only the difference to the previous path
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
    """Read a number in git's variable-length format.

    Return the number and the position after it.
    """
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1
