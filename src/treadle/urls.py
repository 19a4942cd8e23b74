"""Hides the user names and passwords in URLs, so that errors and logs can show the rest."""

import re

_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*(?=@)")


def without_credentials(text: str) -> str:
    """Return `text` with `***` in place of the user name and password of every URL in it."""
    return _CREDENTIALS.sub("***", text)
