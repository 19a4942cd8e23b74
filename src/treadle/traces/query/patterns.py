r"""Patterns of the query language.

`*` matches any text, and `?` matches one character. After `\`, a wildcard is an ordinary character.
"""

import re


def literal(text: str) -> str:
    """Return a pattern that matches only `text`."""
    return re.sub(r"([*?\\])", r"\\\1", text)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern as a regular expression that matches whole values and ignores case."""
    return re.compile("".join(map(_regex, tokens(pattern))), re.IGNORECASE | re.DOTALL)


def glob(pattern: str) -> str:
    """Return the pattern in lower case, in the syntax of SQLite's GLOB."""
    return "".join(map(_glob, tokens(pattern))).lower()


def tokens(pattern: str) -> list[tuple[bool, str]]:
    """Return the characters of a pattern in order, and whether each is a wildcard."""
    found: list[tuple[bool, str]] = []
    escaped = False
    for character in pattern:
        if escaped or character not in "*?\\":
            found.append((False, character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            found.append((True, character))
    if escaped:
        found.append((False, "\\"))
    return found


def _regex(token: tuple[bool, str]) -> str:
    special, character = token
    if not special:
        return re.escape(character)
    return ".*" if character == "*" else "."


def _glob(token: tuple[bool, str]) -> str:
    special, character = token
    return character if special or character not in "*?[" else f"[{character}]"
