"""Finds the line of a setting in a TOML text, which the standard parser does not report."""

import re

_HEADER = re.compile(r"\s*\[\[?(?P<name>[^\[\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(?P<name>(?:[\w.\s-]|\"[^\"]*\"|'[^']*')+?)\s*=")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line (from 1) where `path` is set, or where the inline table or header around it is.

    Good for messages, not for editing: text inside a multi-line string may look like a key.
    None when the text does not name it at all.
    """
    table: tuple[str, ...] = ()
    best: tuple[int, int] | None = None  # names that match, line
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            here = table = _names(header["name"])
        elif key := _KEY.match(line):
            here = (*table, *_names(key["name"]))
        else:
            continue
        if here == path[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best else None


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(next(filter(None, match), "") for match in _PART.findall(dotted))
