"""Names as they are written in code: without arguments, references, blanks and separators."""

import re
from functools import lru_cache

MAX_NAME = 120
"""Characters of a name that is looked for; a longer one is an expression."""
MAX_WRITTEN = 4 * MAX_NAME
"""Bytes of an expression that is looked through for a name."""

_PATH = re.compile(r"[\w$@]+(?:\.[\w$]+)*")
_MADE = re.compile(r"\(?([\w$]+)\((?:[^()]|\([^()]*\))*\)\)?\.([\w$]+)")
_LAST_NAME = re.compile(r"(?:::|->|[.\\])([\w$]+)$")
_SEPARATOR = re.compile(r"\s*(?:::<|::|\?\.|!\.|->|\?->|\\|\.)\s*")
_INNERMOST = re.compile(r"(?:::)?[<\[][^<>\[\]]*[>\]]")
_OPENING = re.compile(r"[<\[]")
_NOT_A_TYPE = re.compile(
    r"&|\*|'\w+\b(?!')|\b(?:mut|dyn|impl|const|ref|in|out|final|readonly)\s|[\"']"
)
_NOTHING = re.compile(r"\s*\|\s*(?:None|null|undefined)\b|\b(?:None|null|undefined)\s*\|\s*|[?!]$")
_TRANSPARENT = re.compile(r"(?:Optional\[|(?:Box|Rc|Arc)<)(.*)[\]>]", re.DOTALL)
"""Types whose methods are called as those of what they hold."""


@lru_cache(20_000)
def type_name(written: str) -> str:
    """The type whose members a value has that is declared as `written`; empty if that is unclear.

    References, pointers, quotes and "or nothing" are stripped, and the arguments of generics.
    """
    written = written.strip()[:MAX_WRITTEN]
    text = _NOTHING.sub("", _NOT_A_TYPE.sub("", written.lstrip(":").strip())).strip()
    inside = _TRANSPARENT.fullmatch(text)
    if inside:
        return type_name(inside.group(1))
    text = re.split(r"[<\[({]", text, maxsplit=1)[0].strip()
    text = _SEPARATOR.sub(".", text).strip(".")
    return text if _PATH.fullmatch(text) and len(text) <= MAX_NAME else ""


@lru_cache(20_000)
def names(raw: bytes, is_call: bool) -> tuple[str, str]:
    """A reference as it is shown and as it is resolved; the latter empty for chained calls."""
    written = raw.decode("utf-8", "replace")
    if written.isidentifier() and len(written) <= MAX_NAME:
        return written, written
    written = "".join(written.strip().strip("\"'&*?").split())
    text = _without_arguments(written)
    path = _SEPARATOR.sub(".", text).strip(".").replace("super().", "super.")
    if len(path) <= MAX_NAME and _PATH.fullmatch(path):
        return text, path
    new = _MADE.fullmatch(path) if is_call and len(path) <= MAX_NAME else None
    if new is not None:
        return f"{new.group(1)}().{new.group(2)}", f"{new.group(1)}().{new.group(2)}"
    return last_name(written) if is_call else ("", "")


def last_name(written: str) -> tuple[str, str]:
    """What is called at the end of a chain, of a value whose type nothing says."""
    if written.endswith(">"):
        written = _last_arguments_removed(written)
    last = _LAST_NAME.search(written[-MAX_NAME:])
    return (f"….{last.group(1)}", "") if last else ("", "")


def _last_arguments_removed(text: str) -> str:
    """`text` without the type arguments at its end."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ">" and text[place - 1 : place] != "-") - (text[place] == "<")
        if depth == 0:
            return text[:place].removesuffix("::")
    return ""


def _without_arguments(text: str) -> str:
    """`text` without type arguments and indices; what follows an open bracket is left out."""
    if "<" not in text and "[" not in text:
        return text
    removed = 1
    while removed:
        text, removed = _INNERMOST.subn("", text)
    opening = _OPENING.search(text)
    return (text[: opening.start()] if opening else text).removesuffix("::")
