"""Comments that stand for code which a model did not write again, such as `# ... rest of file`."""

import re

_COMMENT = re.compile(rb"^[ \t]*(?:\{/\*|/[/*]|<!--|--|[#;%*])(?P<text>[^\n]*)", re.MULTILINE)
_WORD = re.compile(r"[a-z]+")
_DOTS = ("...", "…")
_KEPT = frozenset(
    {"changes", "existing", "omitted", "original", "other", "previous", "remaining", "rest", "same"}
    | {"unchanged"}
)
_CODE = frozenset(
    {"body", "class", "code", "content", "file", "function", "functions", "implementation"}
    | {"implementations", "imports", "lines", "logic", "method", "methods"}
)
_FILLERS = frozenset(
    {"above", "all", "are", "as", "before", "below", "here", "is", "of", "remain", "remains"}
    | {"stay", "stays", "the"}
)
_MOST_WORDS = 12
_SHOWN = 60


def placeholder_note(path: str, removed: bytes, new: bytes) -> str | None:
    """A sentence if `new` has such a comment in place of lines that are `removed`."""
    if removed.count(b"\n") < 2:
        return None
    for found in _COMMENT.finditer(new):
        comment = found[0].strip()
        if _is_placeholder(found["text"].decode("utf-8", "replace")) and comment not in removed:
            shown = comment.decode("utf-8", "replace")[:_SHOWN]
            return (
                f"{path}: `{shown}` is written literally; it does not stand for the code that "
                "the edit removes. To keep that code, write it in full."
            )
    return None


def _is_placeholder(text: str) -> bool:
    """Whether a comment says that code stays: by dots, or by nothing but such words."""
    has_dots = any(dots in text for dots in _DOTS)
    words = set(_WORD.findall(text.lower()))
    if not words:
        return has_dots
    if len(words) > _MOST_WORDS or not words & _KEPT:
        return False
    if has_dots:
        return text.lstrip(" \t#/*-(").startswith(_DOTS) or bool(words & _CODE)
    return bool(words & _CODE) and words <= _KEPT | _CODE | _FILLERS
