"""Reads the `charset` that .editorconfig files set for a path."""

import posixpath
from collections.abc import Callable, Iterator

NAME = ".editorconfig"

MAX_BYTES = 64 * 1024
_MAX_PATTERN = 500
_MAX_BRACES = 20

_UNSET = "unset"


def configured_charset(path: str, read: Callable[[str], bytes | None]) -> str | None:
    """Return the `charset` that .editorconfig files set for `path`, or None if it is not set.

    `path` is a POSIX path relative to the root. `read` returns the content of the file at a
    relative path. The file nearest to `path` wins. Within a file, the last section wins.
    """
    folders = path.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        below = "/".join([*folders[depth:], posixpath.basename(path)])
        data = read("/".join([*folders[:depth], NAME]))
        if data is not None and len(data) <= MAX_BYTES:
            top, value = _charset(data, below)
            if value is not None or top:
                return None if value == _UNSET else value
    return None


def _charset(data: bytes, path: str) -> tuple[bool, str | None]:
    """Return whether the file sets `root = true`, and the charset that it sets for `path`."""
    value: str | None = None
    top = False
    applies: bool | None = None  # None: before the first section
    for key, text in _lines(data):
        if key is None:
            applies = _matches(text, path)
        elif applies is None:
            top = top or (key == "root" and text == "true")
        elif applies and key == "charset":
            value = text
    return top, value


def _lines(data: bytes) -> Iterator[tuple[str | None, str]]:
    """Yield the key and value of each property in lower case.

    For each section, yield None and the pattern of the section.
    """
    for line in data.decode("utf-8-sig", "replace").splitlines():
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            yield None, text[1:-1]
        elif text and text[0] not in "#;" and "=" in text:
            key, _, value = text.partition("=")
            yield key.strip().lower(), value.strip().lower()


def _matches(pattern: str, path: str) -> bool:
    """Whether the pattern of a section matches `path`. An invalid pattern matches nothing."""
    import re2  # type: ignore[import-untyped]  # linear in the path, whatever the pattern

    if len(pattern) > _MAX_PATTERN or pattern.count("{") > _MAX_BRACES:
        return False
    anchored = "/" in pattern
    try:
        expression = _expression(pattern.removeprefix("/"))
        return bool(re2.fullmatch(expression if anchored else f"(?:.*/)?{expression}", path))
    except re2.error:
        return False


def _expression(pattern: str) -> str:
    """Return the pattern as a regular expression."""
    out: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if pattern.startswith("**", at - 1):
            out.append(".*")
            at += 1
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := pattern.find("]", at)) > at:
            inside = pattern[at:end]
            negated = inside.startswith("!")
            out.append(f"[{'^' if negated else ''}{_in_class(inside[negated:])}]")
            at = end + 1
        elif char == "{" and "}" in pattern[at:]:
            out.append("(?:")
            depth += 1
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(
                _escaped(pattern[at]) if char == "\\" and at < len(pattern) else _escaped(char)
            )
            at += char == "\\" and at < len(pattern)
    return "".join(out) + ")" * depth


def _in_class(text: str) -> str:
    return text.replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")


def _escaped(char: str) -> str:
    return char if char.isalnum() or not char.isascii() else f"\\{char}"
