"""Where git keeps ignore rules outside of a tree: `info/exclude` and the person's global file."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from treadle.code.git_folders import GitFolders
from treadle.inside import read_regular

_LARGEST = 1_000_000
"""Bytes that are read of a file: a repository decides what is in some of them."""

_SECTION = re.compile(r"\[\s*([^\]\s\"]*)\s*(\"[^\]]*\")?\s*\](.*)")
_SETTING = re.compile(r"excludesfile\s*=\s*(.*)", re.IGNORECASE)


def exclude_files(git_root: Path) -> list[str]:
    """The files that hold for the working tree at `git_root`, strongest first; some may not exist.

    `info/exclude` of the repository (of a linked worktree, the one that it belongs to), then
    `core.excludesFile`, else `git/ignore` in the configuration folder. Configuration is read
    from files, without `include`, since asking git takes longer than a search.
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
    """Those of the system and of the person, weakest first, as git-config(1) has them."""
    files: list[str] = []
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "0").lower() in {"", "0", "false", "no", "off"}:
        files.append(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        return [*files, own]
    return [*files, f"{_config_home()}/git/config", os.path.expanduser("~/.gitconfig")]  # noqa: PTH111


def _excludes_settings(path: str) -> Iterator[str]:
    """The values of `core.excludesFile` in a configuration file, in their order."""
    section = ""
    for raw in _read(path).splitlines():
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


def _read(path: str) -> str:
    try:
        return read_regular(path, _LARGEST).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):  # ValueError: a NUL in a path that a file names
        return ""
