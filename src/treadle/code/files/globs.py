"""Translates patterns of ignore files to regular expressions (gitignore(5)).

Tests compare the results with git itself.
"""

import re
from enum import Enum

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def translate(pattern: str) -> str | None:
    """Return a regular expression for `re.fullmatch`, or None if the pattern matches no path.

    The time of a match grows with the product of the lengths of the pattern and the path. A text
    between two stars is matched at its first position, without backtracking.
    """
    parts: list[str] = [""]
    stars: list[_Star] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            star, position = _star(pattern, position)
            if not (star is _Star.NAME and stars[-1:] == [star] and not parts[-1]):
                stars.append(star)
                parts.append("")
        elif character == "?":
            parts[-1] += "[^/]"
            position += 1
        elif character == "[":
            bracket = _translate_class(pattern, position)
            if bracket is None:
                return None
            text, position = bracket
            parts[-1] += text
        else:
            if character == "\\":
                position += 1
                if position == len(pattern):
                    return None
            parts[-1] += re.escape(pattern[position])
            position += 1
    return _joined(parts, stars)


class _Star(Enum):
    """The meaning of one or more consecutive stars in a pattern."""

    NAME = "[^/]*"
    """Any characters within one path component."""
    FOLDERS = "(?:[^/]*/)*"
    """Any number of folders."""
    REST = ".*"
    """The whole rest of the path."""


def _joined(parts: list[str], stars: list[_Star]) -> str:
    """Join the fixed texts and the stars between them into a regular expression.

    A text between two stars of one path component is an atomic group, which matches only at the
    first possible position. No match is lost, since the first position leaves the most characters
    for the rest of the pattern. The path components between two `**` are an atomic group for the
    same reason.
    """
    runs = [""]
    for number, (star, text) in enumerate(zip([None, *stars], parts, strict=True)):
        if star in {_Star.FOLDERS, _Star.REST}:
            runs.append("" if star is _Star.FOLDERS else _Star.REST.value)
            runs[-1] += text
        elif star is None:
            runs[-1] += text
        else:
            last = number == len(stars)
            runs[-1] += f"[^/]*{text}" if last else f"(?>[^/]*?{text})"
    folders = f"{_Star.FOLDERS.value}?"
    found = runs[0]
    for number, run in enumerate(runs[1:], start=1):
        if run.startswith(_Star.REST.value):
            found += run
        else:
            found += f"{folders}{run}" if number == len(runs) - 1 else f"(?>{folders}{run})"
    return found


def _star(pattern: str, start: int) -> tuple[_Star, int]:
    """Read the consecutive stars at `start`, and return their meaning and their end.

    `**` is special only as a whole path component.
    """
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_start = end - start == 2 and (start == 0 or pattern[start - 1] == "/")
    if whole_start and end == len(pattern):
        return _Star.REST, end
    if whole_start and pattern[end] == "/":
        return _Star.FOLDERS, end + 1
    return _Star.NAME, end


def _translate_class(pattern: str, start: int) -> tuple[str, int] | None:
    """Translate the bracket expression at `start`, and return the result with the end position.

    The result is None if the bracket is not closed or names an unknown character class.
    """
    position = start + 1
    negated = pattern[position : position + 1] in {"!", "^"}
    position += negated
    members: list[str] = []
    first = True
    while True:
        character = pattern[position : position + 1]
        if not character:
            return None
        if character == "]" and not first:
            break
        first = False
        if pattern.startswith("[:", position):
            end = pattern.find(":]", position + 2)
            if end < 0 or (known := _POSIX_CLASSES.get(pattern[position + 2 : end])) is None:
                return None
            members.append(known)
            position = end + 2
            continue
        low, position = _class_character(pattern, position)
        high = low
        following = pattern[position + 1 : position + 2]
        if pattern[position : position + 1] == "-" and following not in {"]", ""}:
            high, position = _class_character(pattern, position + 1)
        members.append(re.escape(low))  # git matches the first character even of an empty range
        if low and high and low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    if negated:
        return f"[^/{''.join(members)}]", position + 1
    return f"(?!/)[{''.join(members)}]" if members else "(?!)", position + 1


def _class_character(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] == "\\":
        position += 1
    return pattern[position : position + 1], position + 1
