"""Normalizes file names: spellings that a file system may treat as the same name become equal."""

import re

_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Characters that some file systems ignore when they compare names."""
_END = re.compile(r"(?<=[^/. ])[. ]+(?=/|$)")
"""Dots and spaces at the end of a name, which some file systems ignore."""


def comparable(path: str) -> str:
    """Return a path or name in lower case, without differences that a file system may ignore.

    `.TREADLE`, `.treadle.` and `.trea‌dle` name the same folder on some systems.
    """
    if not path.isascii():
        import unicodedata  # rarely needed

        path = _IGNORED.sub("", unicodedata.normalize("NFKC", path).casefold())
    return _END.sub("", path.lower())
