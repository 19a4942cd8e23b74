"""Names of files in unified diffs: quotes, time stamps and the prefixes of git."""

import re

from treadle.edits.patch_hunks import mismatch

NOWHERE = "/dev/null"

_ESCAPE = re.compile(rb'\\([0-7]{1,3}|[abtnvfr"\\])')
_ESCAPED = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_PREFIX = re.compile(r"[abciow]/")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def name_of(text: str, number: int) -> str:
    """The name behind `--- `, `+++ ` or `rename to `, its quotes and time stamp removed."""
    text = text.rstrip()
    if text.startswith('"'):
        quoted = _QUOTED.match(text)
        if quoted is None:
            raise mismatch(number, "has a file name without its closing quote")
        return _unquoted(quoted[0])
    name = text.split("\t")[0].rstrip()
    if not name:
        raise mismatch(number, "has no file name")
    return name


def _unquoted(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _ESCAPED[code] if code in _ESCAPED else bytes([int(code, 8) & 0xFF])

    name = _ESCAPE.sub(plain, text[1:-1].encode("utf-8", "surrogateescape"))
    return name.decode("utf-8", "surrogateescape")


def git_names(line: str, number: int) -> tuple[str, str] | None:
    """Both names of `diff --git a/OLD b/NEW`, without prefix."""
    rest = line.removeprefix("diff --git ").rstrip()
    quoted = _QUOTED.match(rest)
    if quoted:
        old, new = _unquoted(quoted[0]), name_of(rest[quoted.end() :].strip(), number)
    elif rest.endswith('"'):
        old, _, new = rest.partition(' "')
        new = _unquoted(f'"{new}')
    else:
        half = len(rest) // 2  # both are as long when they are the same file
        old, new = rest[:half], rest[half + 1 :]
        if old.partition("/")[2] != new.partition("/")[2]:
            old, _, new = rest.partition(" b/")
            new = f"b/{new}"
    return without_prefix(old), without_prefix(new)


def without_prefix(name: str) -> str:
    """A name of git without `a/` or its like."""
    return name[2:] if _PREFIX.match(name) else name


def same_file(old: str, new: str, *, git: bool) -> tuple[str | None, str | None] | None:
    """The one file that both names mean; None for NOWHERE, and for all when they differ."""
    if NOWHERE in {old, new}:
        paths = [None if name == NOWHERE else without_prefix(name) for name in (old, new)]
        return paths[0], paths[1]
    if old == new and not git:
        return old, new
    bare = without_prefix(old), without_prefix(new)
    for one, other in (bare, (old, bare[1]), (bare[0], new)):
        if one == other:
            return one, other
    return None
