"""Patterns of ignore files as regular expressions (gitignore(5), checked against git itself)."""

import re

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
    """The pattern as a regular expression; None where git would match nothing."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            text, position = _translate_stars(pattern, position)
            out.append(text)
        elif character == "?":
            out.append("[^/]")
            position += 1
        elif character == "[":
            bracket = _translate_class(pattern, position)
            if bracket is None:
                return None
            text, position = bracket
            out.append(text)
        else:
            if character == "\\":
                position += 1
                if position == len(pattern):
                    return None
            out.append(re.escape(pattern[position]))
            position += 1
    return "".join(out)


def _translate_stars(pattern: str, start: int) -> tuple[str, int]:
    """The run of stars at `start`, and where it ends; `**` is special only as a whole part."""
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_start = end - start == 2 and (start == 0 or pattern[start - 1] == "/")
    if whole_start and end == len(pattern):
        return ".*", end
    if whole_start and pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _translate_class(pattern: str, start: int) -> tuple[str, int] | None:
    """The bracket expression at `start`, and where it ends; None if it is not closed."""
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
        members.append(re.escape(low))  # as in git, also where the range is empty
        if low and high and low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    if negated:
        return f"[^/{''.join(members)}]", position + 1
    return f"(?!/)[{''.join(members)}]" if members else "(?!)", position + 1


def _class_character(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] == "\\":
        position += 1
    return pattern[position : position + 1], position + 1
