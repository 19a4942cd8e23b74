"""Short one-line forms of recorded text, ids and times."""

import re

from treadle.visible import in_line

DETAIL_CHARACTERS = 120
"""The maximum length of a recorded text in a line of a list or tree, in characters."""


def one_line(text: str, length: int = DETAIL_CHARACTERS) -> str:
    """Return the beginning of `text` as one printable line of at most `length` characters."""
    line = in_line(" ".join(text[: 4 * length].split()))
    whole = len(line) <= length and len(text) <= 4 * length
    return line if whole else f"{line[: length - 1].rstrip()}…"


_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.IGNORECASE)


def short_id(identity: str) -> str:
    """Shorten an id for display. Every command accepts the short form.

    A UUID or an id of 32 hexadecimal digits is shortened to its first 18 digits. These digits are
    unique in practice, because the first 12 digits of a UUIDv7 are its time, and later digits are
    random. Other ids are not shortened.
    """
    return identity.replace("-", "")[:18] if _LONG_ID.fullmatch(identity) else in_line(identity)
