"""Reads the names of called functions and of types from expressions in code."""

import re
from functools import lru_cache

MAX_NAME = 120
"""The maximum number of characters of a name. Longer texts are expressions."""
MAX_EXPRESSION_BYTES = 4 * MAX_NAME
"""The maximum number of bytes of an expression that are searched for a name."""

_PATH = re.compile(r"[\w$@]+(?:\.[\w$]+)*")
_NEW_OBJECT = re.compile(r"\(?([\w$]+)\((?:[^()]|\([^()]*\))*\)\)?\.([\w$]+)")
_LAST_NAME = re.compile(r"(?:::|->|[.\\])([\w$]+)$")
_SEPARATOR = re.compile(r"\s*(?:::<|::|\?\.|!\.|->|\?->|\\|\.)\s*")
_INNERMOST = re.compile(r"(?:::)?[<\[][^<>\[\]]*[>\]]")
_OPENING = re.compile(r"[<\[]")
_NOT_A_TYPE = re.compile(
    r"&|\*|'\w+\b(?!')|\b(?:mut|dyn|impl|const|ref|in|out|final|readonly)\s|[\"']"
)
_NOTHING = re.compile(r"\s*\|\s*(?:None|null|undefined)\b|\b(?:None|null|undefined)\s*\|\s*|[?!]$")
_TRANSPARENT = re.compile(r"(?:Optional\[|(?:Box|Rc|Arc)<)(.*)[\]>]", re.DOTALL)
"""Generic types whose methods are those of the type inside, such as `Optional[T]`."""


@lru_cache(20_000)
def type_name(written: str) -> str:
    """Return the name of the type that is declared as `written`, or "" if the type is unclear.

    References, pointers, quotes, alternatives such as `None`, and arguments of generics are
    removed.
    """
    written = written.strip()[:MAX_EXPRESSION_BYTES]
    text = _NOTHING.sub("", _NOT_A_TYPE.sub("", written.lstrip(":").strip())).strip()
    inside = _TRANSPARENT.fullmatch(text)
    if inside:
        return type_name(inside.group(1))
    text = re.split(r"[<\[({]", text, maxsplit=1)[0].strip()
    text = _SEPARATOR.sub(".", text).strip(".")
    return text if _PATH.fullmatch(text) and len(text) <= MAX_NAME else ""


@lru_cache(20_000)
def names(raw: bytes, is_call: bool) -> tuple[str, str]:
    """Return the text of a reference for display, and the path to resolve (see `Reference`).

    The path is empty for chained calls.
    """
    written = raw.decode("utf-8", "replace")
    if written.isidentifier() and len(written) <= MAX_NAME:
        return written, written
    written = "".join(written.strip().strip("\"'&*?").split())
    text = _without_arguments(written)
    path = _SEPARATOR.sub(".", text).strip(".").replace("super().", "super.")
    if len(path) <= MAX_NAME and _PATH.fullmatch(path):
        return text, path
    new = _NEW_OBJECT.fullmatch(path) if is_call and len(path) <= MAX_NAME else None
    if new is not None:
        return f"{new.group(1)}().{new.group(2)}", f"{new.group(1)}().{new.group(2)}"
    return last_name(written) if is_call else ("", "")


def last_name(written: str) -> tuple[str, str]:
    """Return the text of the last call in a chain, and an empty path.

    The path is empty since the type of the called value is unknown.
    """
    if written.endswith(">"):
        written = _last_arguments_removed(written)
    last = _LAST_NAME.search(written[-MAX_NAME:])
    return (f"….{last.group(1)}", "") if last else ("", "")


def _last_arguments_removed(text: str) -> str:
    """Return `text` without the type arguments at its end."""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] == ">" and text[position - 1 : position] != "-") - (
            text[position] == "<"
        )
        if depth == 0:
            return text[:position].removesuffix("::")
    return ""


def _without_arguments(text: str) -> str:
    """Return `text` without type arguments and indices, up to an unclosed bracket."""
    if "<" not in text and "[" not in text:
        return text
    removed = 1
    while removed:
        text, removed = _INNERMOST.subn("", text)
    opening = _OPENING.search(text)
    return (text[: opening.start()] if opening else text).removesuffix("::")
